import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { calendar } from '../../src/server/page/calendar.ts';
import { type Chart, chart, ticksOf } from '../../src/server/page/chart.ts';
import {
  deadLetterChart,
  type History,
  lagChart,
  lagSpanCount,
  ordersChart,
  reviewsChart,
  worstLag,
} from '../../src/server/page/charts.ts';
import { progressText, runsInProgress } from '../../src/server/page/run-progress.ts';
import { lastDays, type View } from '../../src/server/views.ts';
import type { Run } from '../../src/warehouse/runs/runs.ts';

const chartOf = (bars: Chart['bars'], more: Partial<Chart> = {}) =>
  chart({
    title: 'T',
    summary: 'S.',
    series: ['A', 'B'],
    legend: 'sum',
    bars,
    marks: new Map(),
    format: String,
    tickFormat: String,
    ...more,
  }).text;

/** What a reader of the page sees, without its tags. */
const wordsOf = (page: string) => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

/** The coloured rectangles of a chart: which series, where it begins and how high it is. */
const rectangles = (svg: string) =>
  [...svg.matchAll(/<rect class="c(\d)" x="([\d.]+)%" y="([\d.]+)" width="[\d.]+%" height="([\d.]+)"/g)].map(
    ([, series, x, y, height]) => ({ series: Number(series), x: Number(x), y: Number(y), height: Number(height) }),
  );

test('ticks are at most five, begin at 0, are evenly apart and reach the largest value, whatever that is', () => {
  fc.assert(
    fc.property(fc.oneof(fc.nat(100), fc.nat(), fc.maxSafeNat()), (most) => {
      const all = ticksOf(most);
      expect(all.length).toBeLessThanOrEqual(5);
      expect(all.at(-1)).toBeGreaterThanOrEqual(most);
      const step = all[1] ?? 0;
      expect(step).toBeGreaterThanOrEqual(1);
      expect(all).toEqual(all.map((_, n) => n * step));
    }),
  );
});

describe('a chart', () => {
  test('draws each series above the one before, and says the same figures in a table', () => {
    const bars = [
      { label: 'Monday', values: [30, 10] },
      { label: 'Tuesday', values: [0, 20], note: 'a note' },
    ];
    const svg = chartOf(bars, { marks: new Map([[1, 'mark']]) });
    expect(rectangles(svg)).toEqual([
      { series: 0, x: 5, y: 38, height: 90 },
      { series: 1, x: 5, y: 8, height: 30 },
      { series: 1, x: 55, y: 68, height: 60 },
    ]);
    expect(svg).toContain('<title>Monday: A 30, B 10</title>');
    expect(svg).toContain('<title>Tuesday: A 0, B 20; a note</title>');
    expect(svg).toMatch(/<th scope="row">Tuesday<\/th><td>0<\/td><td>20<\/td><td>a note<\/td>/);
    expect(wordsOf(svg)).toMatch(/^ T S\. A 30 B 30 0 10 20 30 40 .* mark Figures of T T When A B Note Monday 30 10 /);
    expect(wordsOf(chartOf(bars, { legend: 'last' }))).toMatch(/^ T S\. A 0 B 20 /);
    // The text of a mark stays within the chart.
    const many = Array.from({ length: 20 }, (_, n) => ({ label: String(n), values: [1, 1] }));
    const marks = new Map([0, 10, 19].map((n) => [n, `mark ${n}`]));
    expect(chartOf(many, { marks }).match(/<text x="[\d.]+%" y="144" text-anchor="\w+">/g)).toEqual([
      '<text x="0%" y="144" text-anchor="start">',
      '<text x="52.5%" y="144" text-anchor="middle">',
      '<text x="100%" y="144" text-anchor="end">',
    ]);
  });

  test('without bars, with nothing known, or with zeros only is a sentence; an unknown bar among others is no 0', () => {
    // The summary says it all.
    for (const bars of [[], [{ label: 'x', values: [0, 0] }], [{ label: 'x', values: undefined }]]) {
      expect(chartOf(bars)).not.toContain('<svg');
      expect(chartOf(bars)).toContain('<p>S.</p>');
    }
    const unknown = chartOf([
      { label: 'x', values: undefined },
      { label: 'y', values: [1, 0], isPartial: true },
    ]);
    expect(unknown).toContain('<td>not known</td>');
    expect(unknown).toMatch(/class="unknown" x="0%"/);
    expect(unknown).toContain('class="partial"');
    expect(unknown).not.toMatch(/NaN|Infinity|undefined/);
  });

  test('shows a single record beside 10^9, and draws nothing below the axis or beyond the top', () => {
    const svg = chartOf([
      { label: 'x', values: [1_000_000_000, 1] },
      { label: 'y', values: [1, 0] },
    ]);
    for (const { y, height } of rectangles(svg)) {
      expect(height).toBeGreaterThanOrEqual(1.5);
      expect(y + height).toBeLessThanOrEqual(128.01);
      expect(y).toBeGreaterThanOrEqual(0);
    }
    expect(rectangles(svg)).toHaveLength(3);
  });

  test('escapes every text', () => {
    const evil = '"><script>alert(1)</script>';
    const svg = chartOf([{ label: evil, values: [1, 1], note: evil }], {
      title: evil,
      summary: evil,
      series: [evil, evil],
      marks: new Map([[0, evil]]),
      format: () => evil,
      tickFormat: () => evil,
    });
    expect(svg).not.toContain('<script');
  });
});

const from = new Date('2026-11-15T00:00:00Z');
const hour = 3_600_000;
const at = (hours: number) => new Date(from.getTime() + hours * hour);

describe('the largest lag of each four hours', () => {
  const span = (number: number, worstSeconds: number | null, started: number) => ({
    job: 'sync-orders',
    number,
    worstSeconds,
    lastStartedAt: at(started),
  });

  test('is not known before the first run, and grows while no run completes', () => {
    const lag = worstLag([span(1, null, 6), span(5, 15 * 3600, 21)], from, at(167));
    expect(lag).toHaveLength(lagSpanCount);
    expect(lag.slice(0, 6)).toEqual([undefined, 2 * 3600, 6 * 3600, 10 * 3600, 14 * 3600, 15 * 3600]);
    // The last span is not over: its lag is the one of now.
    expect(lag.at(-1)).toBe((167 - 21) * 3600);
  });

  test('goes back to a run before the week, and none of the runs that overlap takes it back', () => {
    expect(worstLag([span(-3, null, -12)], from, at(168))[0]).toBe(16 * 3600);
    expect(worstLag([span(0, 60, 3), span(1, 60, 2)], from, at(168))[1]).toBe(5 * 3600);
  });
});

const empty: History = {
  at: at(168),
  reviews: [],
  orders: [],
  deadLetters: [],
  coverage: [],
  lag: { from, spans: [] },
};
const day = '2026-11-20';

test('a history without a run, a review or a dead letter says so', () => {
  expect(lagChart('orders', empty).summary).toBe('Not known: no run of sync-orders has completed yet.');
  for (const one of [reviewsChart(empty), ordersChart(empty), deadLetterChart(empty), lagChart('reviews', empty)]) {
    expect(chart(one).text).not.toMatch(/NaN|Infinity|undefined/);
  }
});

test('the charts tell a day without a run from one without orders, and a day that was not read from one without reviews', () => {
  const some = { pushed: 5, failed: 1, deleted: 2, unchanged: 7 };
  const orders = ordersChart({
    ...empty,
    orders: [
      { day, runs: 0, pushed: 0, failed: 0, deleted: 0, unchanged: 0 },
      { day, runs: 2, ...some },
    ],
  });
  expect([orders.series, orders.legend, orders.tickFormat(12_000)]).toEqual([
    ['Pushed', 'Deleted', 'Failed'],
    'sum',
    '12K',
  ]);
  expect(orders.summary).toBe(
    '2 days: 5 pushed, 2 deleted, 1 failed; 7 read again without a change (not drawn). No run: 1 day (grey).',
  );
  expect(orders.bars.map(({ values, note }) => [values, note])).toEqual([
    [undefined, 'no run ended'],
    [[5, 2, 1], '7 unchanged'],
  ]);
  const days = { reviews: [{ day, stored: 6, refused: 2 }], coverage: [{ day, isRead: false, reviews: 6 }] };
  const reviews = reviewsChart({ ...empty, ...days });
  expect([reviews.series, reviews.legend]).toEqual([['Stored', 'Not stored'], 'sum']);
  expect(reviews.bars).toEqual([{ label: day, values: [6, 2], isPartial: true, note: 'not read completely' }]);
  expect(reviews.summary).toContain(
    '1 day: 6 in the warehouse, 2 could not be stored. Not read completely: 1 day (dashed).',
  );
});

test('dead letters are stacked by what they are about', () => {
  const { bars, summary, series, legend } = deadLetterChart({
    ...empty,
    reviews: [day, '2026-11-21'].map((one) => ({ day: one, stored: 0, refused: 0 })),
    deadLetters: (['order', 'order_line', 'review', 'webhook'] as const).map((kind, n) => ({ day, kind, open: n + 1 })),
  });
  expect(bars[0]?.values).toEqual([3, 3, 4]);
  expect([series, legend]).toEqual([['Orders and lines', 'Reviews', 'Others'], 'last']);
  expect(summary).toBe('0 now, at most 10 in 2 days.');
});

test('the lag is shown in durations, its bars by the time at which they begin, its marks at midnight', () => {
  const spans = ['sync-orders', 'sync-reviews'].map((job, n) => ({
    job,
    number: 40 + n,
    worstSeconds: 60,
    lastStartedAt: at(162 + n),
  }));
  const lag = lagChart('orders', { ...empty, lag: { from, spans } });
  expect(lag.summary).toMatch(/^At most 6 h in the last week\./);
  expect(lag.bars.slice(-3).map(({ label, values }) => [label, values])).toEqual([
    ['2026-11-21 12:00 UTC', undefined],
    ['2026-11-21 16:00 UTC', [120]],
    ['2026-11-21 20:00 UTC', [360]],
  ]);
  expect([lag.format(120), lag.tickFormat(0), lag.tickFormat(90)]).toEqual(['2 h', '0', '1 h 30 min']);
  expect([...lag.marks].slice(0, 2)).toEqual([
    [0, 'Sun'],
    [6, 'Mon'],
  ]);
  const days = Array.from({ length: 9 }, (_, n) => ({ day: `2026-11-0${n + 1}`, stored: 0, refused: 0 }));
  expect([...reviewsChart({ ...empty, reviews: days }).marks]).toEqual([
    [1, 'Nov 2'],
    [8, 'Nov 9'],
  ]);
});

test('the calendar shades a day by its reviews, outlines one that was not read, and leads to each year', () => {
  const days = [0, 1, 50, 51, 100].map((reviews, n) => ({ day: `2026-11-0${n + 2}`, isRead: n !== 1, reviews }));
  const view: Partial<View> = { years: [2026, 2025], year: 2026, timeZone: 'Asia/Seoul', days };
  const { text } = calendar(view as View);
  expect([...text.matchAll(/<td class="day ([^"]+)" title="([^"]+)">(\d+)/g)].map((match) => match.slice(1))).toEqual([
    ['s0', '0 reviews', '2'],
    ['s1 hole', '1 review, not read completely', '3'],
    ['s2', '50 reviews', '4'],
    ['s3', '51 reviews', '5'],
    ['s4', '100 reviews', '6'],
  ]);
  expect(text).toContain('<td class="outside">1</td>');
  expect(wordsOf(text)).toContain('1 day of 2026 was not read completely. Days are those of Asia/Seoul.');
  expect(wordsOf(text)).toContain('up to 100. Dashed: not read completely. 2026 2025 November 2026 M T W T F S S');
  expect(text).toMatch(/"\/\?year=2026#coverage" aria-current="page">.*"\/\?year=2025#coverage" >/);
  const read = calendar({ ...view, days: days.slice(2), years: [2026] } as View).text;
  expect(read).toContain('Every day of 2026 was read completely.');
  expect(read).not.toContain('<nav');
});

test('weeks of the calendar begin on Monday', () => {
  const days = ['2026-06-01', '2026-11-01'].map((day) => ({ day, isRead: true, reviews: 0 }));
  const view: Partial<View> = { years: [2026], year: 2026, timeZone: 'UTC', days };
  const { text } = calendar(view as View);
  const firstWeeks = [...text.matchAll(/<tbody><tr>(.*?)<\/tr>/g)].map(
    ([, cells = '']) => cells.split('<td></td>').length,
  );
  // The first of June is a Monday, that of November a Sunday.
  expect(firstWeeks).toEqual([1, 7]);
});

const run: Run = {
  id: 'r',
  job: 'backfill-reviews',
  key: null,
  trigger: 'command',
  startedAt: at(0),
  finishedAt: null,
  outcome: null,
  reason: null,
  counts: {},
  error: null,
};

describe('a run in progress', () => {
  const progress = (planned: number | undefined, ended: number, reviews: number) => ({
    run,
    steps: { planned, ended },
    unknown: undefined,
    read: { windows: ended, reviews, requests: 0 },
  });

  test('is described with what is known of it', () => {
    const text = (one: ReturnType<typeof progress>, job = 'backfill-reviews') =>
      progressText({ ...one, run: { ...run, job } }, at(1));
    expect(text(progress(30, 10, 7200))).toBe(
      'For 1 h; 10 of 30 steps; 7,200 reviews, 2.0 per second; about 2 h left.',
    );
    expect(text(progress(30, 0, 0))).toContain('0 of 30 steps; time left not known: no step has ended yet');
    // The clock of the warehouse may be behind.
    expect(progressText(progress(30, 10, 5), at(-1))).toBe('For 0 s; 10 of 30 steps; about 0 s left.');
    expect(text(progress(30, 10, 0), 'sync-orders')).toContain(
      '10 of 30 steps planned so far; time left not known: it plans in',
    );
    expect(text(progress(undefined, 0, 0))).toBe('For 1 h; it is being planned, or waits for a worker.');
    const unknown = { ...progress(1, 0, 0), steps: undefined, unknown: 'the queue did not respond in time' };
    expect(progressText(unknown, at(1))).toBe(
      'For 1 h; how far it is, is not known: the queue did not respond in time.',
    );
  });

  test('is listed with a bar', () => {
    expect(runsInProgress([], at(1)).text).toBe('<p>No run is in progress.</p>');
    const { text } = runsInProgress([progress(30, 10, 20)], at(1));
    expect(text).toContain('<progress max="30" value="10" aria-label="Steps of backfill-reviews">');
    expect(wordsOf(text)).toContain(
      'backfill-reviews For 1 h; 10 of 30 steps; 20 reviews, 0.0 per second; about 2 h left.',
    );
    expect(runsInProgress([progress(undefined, 0, 0)], at(1)).text).not.toContain('<progress');
  });
});

test('the days of the charts end with today in the zone of the service', () => {
  const now = new Date('2026-03-01T16:00:00Z');
  expect(lastDays(now, 'Asia/Seoul', 3)).toEqual({ first: '2026-02-28', last: '2026-03-02' });
  expect(lastDays(now, 'America/Los_Angeles', 2)).toEqual({ first: '2026-02-28', last: '2026-03-01' });
});
