import { expect, test } from 'vitest';
import type { StatusReport } from '../../src/app/status-report.ts';
import { dailyCharts } from '../../src/server/page/page.ts';

const at = new Date('2026-11-26T10:47:03Z');
type Days = readonly (number | null)[];

/** The charts of reviews and of orders, of a report whose days are given as it has them: the newest first. */
function chartsOf(reviews: Days, orders: Days = []): [reviews: string, orders: string] {
  const daily = [
    { flow: 'orders', days: [...orders] },
    { flow: 'reviews', days: [...reviews] },
  ];
  const [, first = '', second = ''] = dailyCharts({ at, daily } as StatusReport).text.split('<figure>');
  return [first, second];
}

const summaryOf = (chart: string) => /<h3>(.*)<\/h3><p>(.*)<\/p>/.exec(chart)?.slice(1).join(': ');
const titlesOf = (chart: string) => [...chart.matchAll(/<title>(.*)<\/title>/g)].map(([, text]) => text);
const rowsOf = (chart: string) =>
  [...chart.matchAll(/<td>(.*?)<\/td><td>(.*?)<\/td>/g)].map(([, at, text]) => `24 hours up to ${at} UTC: ${text}`);
const bars = /class="bar" x="([\d.]+)" width=".8" y="([\d.]+)" height="([\d.]+)"/g;
const barsOf = (chart: string) => [...chart.matchAll(bars)].map((bar) => bar.slice(1).join(' '));

test('each chart says what the flow brought, and a day without a run is no 0', () => {
  const [reviews, orders] = chartsOf([0, null, 1200], [3, 4, 0]);
  expect(summaryOf(reviews)).toBe(
    'Reviews per day: 1,200 reviews written in 2 days, at most 1,200 in one. Grey: 1 day without a run of sync reviews.',
  );
  expect(titlesOf(reviews)).toEqual([
    '24 hours up to 2026-11-24 10:47 UTC: 1,200',
    '24 hours up to 2026-11-25 10:47 UTC: no run',
    '24 hours up to 2026-11-26 10:47 UTC: 0',
  ]);
  expect(reviews.match(/class="no-run" x="\d+"/g)).toEqual(['class="no-run" x="1"']);
  expect(barsOf(orders)).toEqual(['0.1 4 0', '1.1 0 4', '2.1 1 3']);
  // The table of a chart has the figures of its bars.
  expect(rowsOf(reviews)).toEqual(titlesOf(reviews));
});
