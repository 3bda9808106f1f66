import { calendar } from './calendar.ts';
import { Html, html } from './html.ts';
import { lagChart } from './lag-chart.ts';
import { attention, deadLetters, flows, months, queues, runs } from './sections.ts';
import { style } from './style.ts';
import { utc, type View } from './view.ts';

/**
 * Where scripts run, the page brings itself up to date. Not while somebody is on one of its controls: what is under the
 * finger or the reader must not change.
 */
export const script = `
setInterval(async () => {
  const main = document.querySelector('main');
  if (document.hidden || main.contains(document.activeElement)) return;
  const answer = await fetch(location.href).catch(() => undefined);
  if (!answer || !answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  main.replaceWith(page.querySelector('main'));
}, 15000);
`;

/** The status page, whole: it works without scripts. */
export function statusPage(view: View): string {
  const state = view.attention.length === 0 ? 'all is well' : `${view.attention.length} things need attention`;
  const section = (id: string, title: string, body: Html) =>
    html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${body}</section>`;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>review-sync: ${state}</title><link rel="icon" href="data:,"><style>${new Html(style)}</style></head>
<body><a class="skip" href="#main">To the content</a><header><h1>review-sync</h1></header>
<main id="main">
${view.notice !== undefined && html`<p class="notice" role="status">${view.notice}</p>`}
${attention(view)}
<p class="soft">As of ${utc(view.report.at)} UTC. <a href="/">Refresh</a></p>
${section('flows', 'Flows', flows(view))}
${section('letters', 'Dead letters', deadLetters(view))}
${section('coverage', 'Coverage', html`${calendar(view)}${months(view)}`)}
${section('lag', 'Lag over the last day', lagChart(view))}
${section('runs', 'Last runs', runs(view))}
${section('queues', 'Queues', queues(view))}
</main><script>${new Html(script)}</script></body></html>`.text;
}
