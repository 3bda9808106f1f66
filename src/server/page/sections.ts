import type { StatusReport } from '../../app/status-report.ts';
import { formatCount, type StatusTable } from '../../app/status-view.ts';
import { joinAlike } from '../../warehouse/dead-letters.ts';
import { type Html, html } from './html.ts';
import { runPath } from './runs-in-progress.ts';
import type { View } from './view.ts';

type Rows = readonly (readonly (Html | string)[])[];

/** A table that scrolls by itself where it is wider than the window, by keyboard too. */
export function statusTable({ title, head, rows }: Omit<StatusTable, 'rows'> & { rows: Rows }): Html {
  if (rows.length === 0) return html`<p>None.</p>`;
  return html`<div class="scroll" role="region" tabindex="0" aria-label="Table: ${title}"><table>
    <caption class="sr">${title}</caption>
    <thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

/** Names and values, side by side where there is room. */
export const facts = (all: readonly (readonly [string, Html | string])[]): Html =>
  html`<dl class="facts">${all.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

export function issues({ issues: found }: View): Html {
  if (found.length === 0) return html`<p class="well">All is well.</p>`;
  return html`<ul class="issues">${found.map(
    ({ what, hint }) =>
      html`<li><strong>${what}</strong><br>What to do: ${hint.startsWith('npx') ? html`<code>${hint}</code>` : hint}</li>`,
  )}</ul>`;
}

/** The job leads to the page of its run. The outcome is coloured; the result may break into lines. */
export function runsTable({ title, head, rows }: StatusTable, report: StatusReport): Html {
  const styled = rows.map((row, index) => {
    const [outcome = '', result = ''] = row.slice(-2);
    const run = report.runs[index];
    const name = run?.outcome ?? 'running';
    return [
      run ? html`<a href="${runPath(run.id)}">${run.job}</a>` : '',
      ...row.slice(1, -2),
      html`<span class="outcome ${name}">${outcome}</span>`,
      html`<span class="text">${result}</span>`,
    ];
  });
  return statusTable({ title, head, rows: styled });
}

/** Groups of dead letters, with buttons. No record is shown: it may hold a customer’s data. */
export function deadLettersTable({ title, head, rows }: StatusTable, report: StatusReport): Html {
  const groups = joinAlike(report.deadLetters);
  const withButtons = rows.map((row, index) => {
    const { kind = '', reason = '', count: n = 0 } = groups[index] ?? {};
    const which = html`<span class="sr"> the ${formatCount(n)} of kind ${kind}</span>`;
    return [
      html`<span class="text">${reason}</span>`,
      ...row.slice(0, -1),
      html`<form method="post" action="/dead-letters">
        <input type="hidden" name="kind" value="${kind}"><input type="hidden" name="reason" value="${reason}">
        <button name="do" value="retry">Retry${which}</button>
        <button name="do" value="discard" class="grave">Discard${which}</button></form>`,
    ];
  });
  // The reason first: on a phone the table scrolls.
  return statusTable({ title, head: [...head.slice(-1), ...head.slice(0, -1), 'Do'], rows: withButtons });
}

/** @param error why the queue cannot be read. */
export const queueSection = (jobs: StatusTable, error: string | undefined): Html =>
  html`${error === undefined ? statusTable(jobs) : html`<p>Not known, the queue cannot be read: ${error}.</p>`}<p><a href="/queues">Show the queues</a> (Bull Board, which needs scripts).</p>`;
