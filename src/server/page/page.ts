import type { Issue } from '../../alerts/post-issues.ts';
import { issuesOf } from '../../app/alert-rules.ts';
import type { RunInProgress, StatusReport } from '../../app/status-report.ts';
import { progressText, type StatusTable, statusNotes, statusTables, utc } from '../../app/status-view.ts';
import { counted } from '../../base/counts.ts';
import { calendar } from './calendar.ts';
import { dailyCharts } from './daily-charts.ts';
import { type Html, html } from './html.ts';
import { layout, section, statusTable } from './layout.ts';

/** The status page: a format of the report. */
export function statusPage(report: StatusReport, brand?: string): string {
  const issues = issuesOf(report);
  const title = issues.length === 0 ? 'all is well' : counted(issues.length, 'issue');
  const tables = statusTables(report);
  const main = html`${issueList(issues)}
<p class="soft">As of ${utc(report.at)}. All times are in UTC; days and months of the coverage are those of REVIEW_API_TIME_ZONE. <a href="${brand === undefined ? '/' : `/?brand=${brand}`}">Refresh</a>${brand === undefined ? '' : html` of the brand ${brand}. <a href="/">All brands</a>`}</p>
${section('flows', 'Flows', html`${statusTable(tables.flows)}${statusNotes(report).map((note) => html`<p>${note}</p>`)}`)}
${section('progress', 'In progress', runsInProgress(report.inProgress, report.at))}
${section('daily', 'Reviews and orders per day', dailyCharts(report))}
${section('dead-letters', 'Dead letters', statusTable(tables.deadLetters))}
${section('coverage', 'Coverage', html`${calendar(report)}${statusTable(tables.coverage)}${tables.openGaps.rows.length > 0 && statusTable(tables.openGaps)}`)}
${section('runs', 'Last runs', runsTable(tables.runs))}
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

/** The runs in progress: how far they are, how fast, and for how long still. */
export function runsInProgress(runs: readonly RunInProgress[], now: Date): Html {
  if (runs.length === 0) return html`<p>No run is in progress.</p>`;
  const bar = ({ run, steps }: RunInProgress) =>
    steps?.planned !== undefined &&
    html`<progress max="${Math.max(1, steps.planned)}" value="${steps.ended}" aria-label="Steps of ${run.job}"></progress>`;
  return html`<ul class="progress">${runs.map(
    (one) => html`<li><strong>${one.run.job}</strong> ${bar(one)}<br>${progressText(one, now)}</li>`,
  )}</ul>`;
}

/** Columns that a phone shows without scrolling: how the run ended. The outcome is coloured; the result may break into lines. */
const firstColumns = ['Run', 'Outcome', 'Result'];

function runsTable({ title, head, rows }: StatusTable): Html {
  const columns = [...firstColumns, ...head.filter((name) => !firstColumns.includes(name))];
  const cell = (name: string, text = ''): Html | string => {
    if (name === 'Outcome') return html`<span class="outcome ${text}">${text}</span>`;
    return name === 'Result' ? html`<span class="text">${text}</span>` : text;
  };
  const styled = rows.map((row) => columns.map((name) => cell(name, row[head.indexOf(name)])));
  return statusTable({ title, head: columns, rows: styled });
}

/** Shown if the status cannot be read: the reason and the next step. With scripts it turns into the status by itself. */
export function unavailablePage(reason: string): string {
  const body = html`<p>${reason}</p>
<p>Run <code>review-sync doctor</code>: it says what is broken and what to do. Nothing is lost meanwhile: the service sends
webhooks again, and the next run continues where the last one stopped.</p>`;
  const main = section('unavailable', 'The status cannot be read', body);
  return layout('not available', main);
}

export type BrandSummary = { brand: string; issues: number } | { brand: string; error: string };

/** All brands, each with a link to its status. */
export function brandsPage(all: readonly BrandSummary[]): string {
  const rows = all.map((one) => [
    html`<a href="/?brand=${one.brand}">${one.brand}</a>`,
    'error' in one ? one.error : one.issues === 0 ? 'all is well' : counted(one.issues, 'issue'),
  ]);
  return layout(
    'brands',
    section('brands', 'Brands', statusTable({ title: 'Brands', head: ['Brand', 'State'], rows })),
  );
}
