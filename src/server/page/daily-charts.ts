import type { StatusReport } from '../../app/status-report.ts';
import { utc } from '../../app/status-view.ts';
import { counted, formatCount } from '../../base/counts.ts';
import { type Html, html } from './html.ts';
import { statusTable } from './layout.ts';

type Subject = { flow: 'orders' | 'reviews'; noun: string; sum: (n: number) => string };

const subjects: readonly Subject[] = [
  { flow: 'reviews', noun: 'Reviews', sum: (n) => `${counted(n, 'review')} written` },
  { flow: 'orders', noun: 'Orders', sum: (n) => `${counted(n, 'order')} pushed by sync orders` },
];

/** Two bar charts of `report.daily`: the reviews that were written and the orders that were pushed in each 24 hours. */
export function dailyCharts(report: StatusReport): Html {
  return html`<p class="soft">A day is 24 hours, up to ${utc(report.at).slice(11, 16)} UTC.</p>
<div class="charts">${subjects.map((subject) => dailyChart(report, subject))}</div>`;
}

/**
 * One bar a day as inline SVG, the newest day on the right, and a table of the same figures. A day without a run is not
 * a 0: it is grey. Bars stretch with the window and texts do not, so that the chart needs no script.
 */
function dailyChart({ daily, at }: StatusReport, subject: Subject): Html {
  const counts = (daily.find(({ flow }) => flow === subject.flow)?.days ?? []).toReversed();
  const known = counts.filter((n) => n !== null);
  const most = Math.max(0, ...known);
  const title = `${subject.noun} per day`;
  const summary = summaryOf(subject, known, counts.length - known.length);
  const caption = html`<figcaption><h3>${title}</h3><p>${summary}</p></figcaption>`;
  // The summary says it all.
  if (most === 0) return html`<figure>${caption}</figure>`;
  const rows = counts.map((n, index): [until: string, text: string] => {
    const end = new Date(at.getTime() - (counts.length - 1 - index) * 86_400_000);
    return [utc(end).slice(0, 16), n === null ? 'no run' : formatCount(n)];
  });
  const bars = rows.map(([until, text], index) => {
    const n = counts[index] ?? null;
    // A single record beside millions is seen.
    const height = n ? Math.max(n, most / 80) : 0;
    return html`<g><title>24 hours up to ${until} UTC: ${text}</title>
      <rect class="${n === null ? 'no-run' : 'room'}" x="${index}" width="1" height="${most}"/>
      <rect class="bar" x="${index + 0.1}" width=".8" y="${most - height}" height="${height}"/></g>`;
  });
  return html`<figure>${caption}
    <svg height="160" role="img" aria-label="${title}. ${summary}"><text y="13">${formatCount(most)}</text>
      <line x2="100%" y1="18" y2="18"/><line x2="100%" y1="138" y2="138"/>
      <svg y="18" height="120" viewBox="0 0 ${counts.length} ${most}" preserveAspectRatio="none">${bars}</svg>
      <text y="154">${counted(counts.length, 'day')} ago</text><text x="100%" y="154" text-anchor="end">now</text></svg>
    <details><summary>Figures<span class="sr"> of ${title}</span></summary>
    ${statusTable({ title, head: ['24 hours up to (UTC)', subject.noun], rows })}</details></figure>`;
}

/** `1,041 reviews written in 13 days, at most 90 in one. Grey: 2 days without a run of sync reviews.` */
function summaryOf({ flow, sum }: Subject, known: readonly number[], unknown: number): string {
  const withoutRun = `${counted(unknown, 'day')} without a run of sync ${flow}.`;
  if (known.length === 0) return `Not known: ${withoutRun}`;
  const total = sum(known.reduce((all, n) => all + n, 0));
  const text = `${total} in ${counted(known.length, 'day')}, at most ${formatCount(Math.max(...known))} in one.`;
  return unknown === 0 ? text : `${text} Grey: ${withoutRun}`;
}
