import { statusNotes, statusTables, utc } from '../../app/status-view.ts';
import { calendar } from './calendar.ts';
import { Html, html } from './html.ts';
import { lagChart } from './lag-chart.ts';
import { deadLetters, issues, queue, runs, table } from './sections.ts';
import { style } from './style.ts';
import type { View } from './view.ts';

/** Updates the page every 15 seconds, unless one of its controls has the focus: it must not change under the user. */
export const script = `
setInterval(async () => {
  const main = document.querySelector('main');
  if (document.hidden || main.contains(document.activeElement)) return;
  const response = await fetch(location.href).catch(() => undefined);
  if (!response || !response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  main.replaceWith(page.querySelector('main'));
}, 15000);
`;

/** The status page. It works without scripts. */
export function statusPage(view: View): string {
  const state = view.issues.length === 0 ? 'all is well' : `${view.issues.length} issues`;
  const tables = statusTables(view.report);
  const section = (id: string, title: string, body: Html) =>
    html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${body}</section>`;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>review-sync: ${state}</title><link rel="icon" href="data:,"><style>${new Html(style)}</style></head>
<body><a class="skip" href="#main">To the content</a><header><h1>review-sync</h1></header>
<main id="main">
${view.notice !== undefined && html`<p class="notice" role="status">${view.notice}</p>`}
${issues(view)}
<p class="soft">As of ${utc(view.report.at)}. All times are in UTC. <a href="/">Refresh</a></p>
${section('flows', 'Flows', table(tables.flows))}
${section('dead-letters', 'Dead letters', deadLetters(tables.deadLetters, view.report))}
${section('coverage', 'Coverage', html`${calendar(view)}${table(tables.coverage)}`)}
${section('lag', 'Lag over the last day', lagChart(view))}
${section('runs', 'Last runs', runs(tables.runs, view.report))}
${section('late', 'Late reviews', html`${table(tables.late)}${statusNotes(view.report).map((note) => html`<p>${note}</p>`)}`)}
${section('queue', tables.queue.title, queue(tables.queue))}
${section('schedules', 'Next runs', table(tables.schedules))}
</main><script>${new Html(script)}</script></body></html>`.text;
}
