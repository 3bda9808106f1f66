import { statusNotes, statusTables, utc } from '../../app/status-view.ts';
import { calendar } from './calendar.ts';
import { chart } from './chart.ts';
import { dailyCharts, deadLetterChart, lagCharts, unknownCharts } from './charts.ts';
import { type Html, html } from './html.ts';
import { layout, section } from './layout.ts';
import { runsInProgress } from './runs-in-progress.ts';
import { deadLettersTable, issues, queueSection, runsTable, statusTable } from './sections.ts';
import type { View } from './view.ts';

/** The status page. */
export function statusPage(view: View): string {
  const { report, history } = view;
  const title = view.issues.length === 0 ? 'all is well' : `${view.issues.length} issues`;
  const tables = statusTables(report);
  const ofHistory = (draw: (known: Exclude<typeof history, { unknown: string }>) => Html) =>
    'unknown' in history ? unknownCharts(history.unknown) : draw(history);
  const main = html`${view.notice !== undefined && html`<p class="notice" role="status">${view.notice}</p>`}
${issues(view)}
<p class="soft">As of ${utc(report.at)}. All times are in UTC, days are those of ${view.timeZone}. <a href="/">Refresh</a></p>
${section('flows', 'Flows', statusTable(tables.flows))}
${section('progress', 'In progress', runsInProgress(view.progress, report.at))}
${section('daily', 'Reviews and orders per day', ofHistory(dailyCharts))}
${section('lag', 'Lag over the last week', ofHistory(lagCharts))}
${section('dead-letters', 'Dead letters', html`${deadLettersTable(tables.deadLetters, report)}${ofHistory((known) => chart(deadLetterChart(known)))}`)}
${section('coverage', 'Coverage', html`${calendar(view)}${statusTable(tables.coverage)}${tables.openGaps.rows.length > 0 && statusTable(tables.openGaps)}`)}
${section('runs', 'Last runs', runsTable(tables.runs, report))}
${section('late', 'Late reviews', html`${statusTable(tables.late)}${statusNotes(report).map((note) => html`<p>${note}</p>`)}`)}
${section('queue', tables.queue.title, queueSection(tables.queue, report.queue.error))}
${section('schedules', 'Next runs', report.queue.error === undefined ? statusTable(tables.schedules) : html`<p>Not known: the queue cannot be read.</p>`)}`;
  return layout({ title, main, search: { of: 'order', key: '' }, isLive: true });
}
