import type { Issue } from '../../alerts/post-issues.ts';
import { issuesOf } from '../../app/alert-rules.ts';
import type { RunInProgress, StatusReport } from '../../app/status-report.ts';
import { progressText, type StatusTable, statusNotes, statusTables, utc } from '../../app/status-view.ts';
import { counted, formatCount } from '../../base/counts.ts';
import type { DayCoverage } from '../../warehouse/reviews/coverage.ts';
import { type Html, html, layout, section, statusTable } from './html.ts';

export function statusPage(report: StatusReport, brand?: string): string {
  const issues = issuesOf(report);
  const title = issues.length === 0 ? 'all is well' : counted(issues.length, 'issue');
  const tables = statusTables(report);
  const main = html`${issueList(issues)}
<p class="soft">As of ${utc(report.at)}. All times are in UTC; days and months of the coverage are those of REVIEW_API_TIME_ZONE. <a href="${brand === undefined ? '/' : `/?brand=${brand}`}">Refresh</a>${brand === undefined ? '' : html` of the brand ${brand}. <a href="/">All brands</a>`}</p>
${section('flows', 'Flows', html`${statusTable(tables.flows)}${statusNotes(report).map((note) => html`<p>${note}</p>`)}`)}
${section('progress', 'In progress', runsInProgress(report.inProgress, report.at))}
${section('daily', 'Reviews and orders per day', dailyCharts(report))}
${section('dead-letters', 'Dead letters', phoneTable(tables.deadLetters, ['Kind', 'Records', 'Reason']))}
${section('coverage', 'Coverage', html`${calendar(report)}${statusTable(tables.coverage)}${tables.openGaps.rows.length > 0 && phoneTable(tables.openGaps, ['Reviews', 'Why'])}`)}
${section('runs', 'Last runs', phoneTable(tables.runs, ['Run', 'Outcome', 'Result']))}
${section('queue', tables.queue.title, html`${statusTable(tables.queue)}<p><a href="/queues">Show the queues</a> (Bull Board, which needs scripts).</p>`)}
${section('schedules', 'Next runs', statusTable(tables.schedules))}`;
  return layout(title, main);
}

function issueList(found: readonly Issue[]): Html {
  if (found.length === 0) return html`<p class="well">All is well.</p>`;
  return html`<ul class="issues">${found.map(
    ({ what, hint }) => html`<li><strong>${what}</strong><br>What to do: ${hint}</li>`,
  )}</ul>`;
}

function runsInProgress(runs: readonly RunInProgress[], now: Date): Html {
  if (runs.length === 0) return html`<p>No run is in progress.</p>`;
  const bar = ({ run, steps }: RunInProgress) =>
    steps?.planned !== undefined &&
    html`<progress max="${Math.max(1, steps.planned)}" value="${steps.ended}" aria-label="Steps of ${run.job}"></progress>`;
  return html`<ul class="progress">${runs.map(
    (one) => html`<li><strong>${one.run.job}</strong> ${bar(one)}<br>${progressText(one, now)}</li>`,
  )}</ul>`;
}

/**
 * A table with long texts. An outcome is coloured.
 *
 * @param first the columns that a phone shows without scrolling. The last of them has the texts, which break into lines.
 */
function phoneTable({ title, head, rows }: StatusTable, first: readonly string[]): Html {
  const columns = [...first, ...head.filter((name) => !first.includes(name))];
  const cell = (name: string, text = ''): Html | string => {
    if (name === 'Outcome') return html`<span class="outcome ${text}">${text}</span>`;
    return name === first.at(-1) ? html`<span class="text">${text}</span>` : text;
  };
  const styled = rows.map((row) => columns.map((name) => cell(name, row[head.indexOf(name)])));
  return statusTable({ title, head: columns, rows: styled });
}

/** Shown if the status cannot be read: the reason and the next step. With scripts it becomes the status by itself. */
export function unavailablePage(reason: string): string {
  const body = html`<p>${reason}</p>
<p>Run <code>review-sync doctor</code>: it says what is broken and what to do. Nothing is lost meanwhile: the service sends
webhooks again, and the next run continues where the last one stopped.</p>`;
  return layout('not available', section('unavailable', 'The status cannot be read', body));
}

export type BrandSummary = { brand: string; issues: number } | { brand: string; error: string };

export function brandsPage(all: readonly BrandSummary[]): string {
  const rows = all.map((one) => [
    html`<a href="/?brand=${one.brand}">${one.brand}</a>`,
    'error' in one ? one.error : one.issues === 0 ? 'all is well' : counted(one.issues, 'issue'),
  ]);
  const table = statusTable({ title: 'Brands', head: ['Brand', 'State'], rows });
  return layout('brands', section('brands', 'Brands', table));
}

type Subject = { flow: 'orders' | 'reviews'; noun: string; sum: (n: number) => string };

const subjects: readonly Subject[] = [
  { flow: 'reviews', noun: 'Reviews', sum: (n) => `${counted(n, 'review')} written` },
  { flow: 'orders', noun: 'Orders', sum: (n) => `${counted(n, 'order')} pushed by sync orders` },
];

/** Two bar charts of `report.daily` (15 days, see `DailyCounts`): reviews written and orders pushed, by 24 hours. */
export function dailyCharts(report: StatusReport): Html {
  return html`<p class="soft">A day is 24 hours, up to ${utc(report.at).slice(11, 16)} UTC.</p>
<div class="charts">${subjects.map((subject) => dailyChart(report, subject))}</div>`;
}

/**
 * One bar a day, the newest on the right, and a table of the figures. A day without a run is grey, not 0. Only the bars
 * stretch with the window: texts do not.
 */
function dailyChart({ daily, at }: StatusReport, subject: Subject): Html {
  const counts = (daily.find(({ flow }) => flow === subject.flow)?.days ?? []).toReversed();
  const known = counts.filter((n) => n !== null);
  const most = Math.max(0, ...known);
  const title = `${subject.noun} per day`;
  const summary = summaryOf(subject, known, counts.length - known.length);
  const caption = html`<figcaption><h3>${title}</h3><p>${summary}</p></figcaption>`;
  // The summary is enough.
  if (most === 0) return html`<figure>${caption}</figure>`;
  const rows = counts.map((n, index): [until: string, text: string] => {
    const end = new Date(at.getTime() - (counts.length - 1 - index) * 86_400_000);
    return [utc(end).slice(0, 16), n === null ? 'no run' : formatCount(n)];
  });
  const bars = rows.map(([until, text], index) => {
    const n = counts[index] ?? null;
    // A single record among millions must stay visible.
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

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
const monthName = new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' });
/** Shades of a day with reviews, from few to many. */
const shades = 4;

/** A cell per day of the last twelve months. A dashed outline: no run has read the day completely yet. */
function calendar({ coverageDays: days }: StatusReport): Html {
  if (days.length === 0) return html`<p>No run has read the dates of the service’s first and last review yet.</p>`;
  const holes = days.filter((day) => day.isHole).length;
  const most = Math.max(...days.map((day) => day.reviews));
  const byMonth = Map.groupBy(days, (day) => day.day.slice(0, 7));
  return html`<p>The last twelve months: ${holes === 0 ? 'every day before the last run was read completely' : `${counted(holes, 'day was', 'days were')} not read completely`}.
    Dashed: not read completely, or not yet. Darker: more reviews, up to ${formatCount(most)}.</p>
    <div class="months">${[...byMonth].map(([month, ofMonth]) => monthTable(month, ofMonth, most))}</div>`;
}

function monthTable(month: string, days: readonly DayCoverage[], most: number): Html {
  const byDay = new Map(days.map((day) => [day.day, day]));
  const first = new Date(`${month}-01T00:00:00Z`);
  const length = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const offset = (first.getUTCDay() + 6) % 7;
  const cells = Array.from({ length: Math.ceil((offset + length) / 7) * 7 }, (_, index) => {
    const date = index - offset + 1;
    if (date < 1 || date > length) return html`<td></td>`;
    const day = byDay.get(`${month}-${String(date).padStart(2, '0')}`);
    return day ? dayCell(date, day, most) : html`<td class="outside">${date}</td>`;
  });
  const weeks = Array.from({ length: cells.length / 7 }, (_, week) => cells.slice(week * 7, week * 7 + 7));
  return html`<table class="month"><caption>${monthName.format(first)} ${month.slice(0, 4)}</caption>
    <thead><tr>${weekdays.map((name) => html`<th scope="col"><abbr title="${name}">${name.slice(0, 1)}</abbr></th>`)}</tr></thead>
    <tbody>${weeks.map((week) => html`<tr>${week}</tr>`)}</tbody></table>`;
}

function dayCell(date: number, { reviews, isRead, isHole }: DayCoverage, most: number): Html {
  const shade = reviews === 0 ? 0 : Math.max(1, Math.ceil((reviews / most) * shades));
  const text = `${counted(reviews, 'review')}${isRead ? '' : `, not read ${isHole ? 'completely' : 'to its end yet'}`}`;
  return html`<td class="day s${shade}${isRead ? '' : ' hole'}" title="${text}">${date}<span class="sr">: ${text}</span></td>`;
}
