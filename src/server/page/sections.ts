import { durationText } from '../../duration.ts';
import type { StatusReport } from '../../status-report.ts';
import { partText } from '../../warehouse/run-parts.ts';
import { type Html, html } from './html.ts';
import { count, utc, type View } from './view.ts';

/** A table that may be wider than a phone: scrolled by itself, by keyboard too. */
function table(caption: string, head: readonly string[], rows: readonly (readonly (Html | string)[])[]): Html {
  if (rows.length === 0) return html`<p>None.</p>`;
  return html`<div class="scroll" role="region" tabindex="0" aria-label="Table: ${caption}"><table>
    <caption class="sr">${caption}</caption>
    <thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

export function attention({ attention: found }: View): Html {
  if (found.length === 0) return html`<p class="well">All is well.</p>`;
  return html`<ul class="attention">${found.map(
    ({ what, mend }) =>
      html`<li><strong>${what}</strong><br>What to do: ${mend.startsWith('npx') ? html`<code>${mend}</code>` : mend}</li>`,
  )}</ul>`;
}

export function flows({ report }: View): Html {
  const next = (flow: string) => report.scheduled.find((one) => one.job === `sync-${flow}`)?.next;
  return table(
    'Flows',
    ['Flow', 'Read up to (UTC)', 'Behind', 'Next run (UTC)'],
    report.flows.map(({ flow, watermark, lagSeconds }) => {
      const at = next(flow);
      const behind = lagSeconds === null ? '' : durationText(lagSeconds);
      return [flow, watermark ? utc(new Date(watermark)) : 'nothing yet', behind, at ? utc(at) : 'not scheduled'];
    }),
  );
}

export function runs({ report }: View): Html {
  return table(
    'The last runs',
    ['Run', 'Started (UTC)', 'Took', 'Outcome', 'By', 'Brought'],
    report.runs.map((run) => [
      run.job,
      utc(run.startedAt),
      run.finishedAt ? durationText((run.finishedAt.getTime() - run.startedAt.getTime()) / 1000) : '',
      html`<span class="outcome ${run.outcome ?? 'going'}">${run.outcome ?? 'going on'}</span>`,
      by(run),
      html`<span class="text">${run.error ?? brought(run.counts)}</span>`,
    ]),
  );
}

/** Which processes do or did the run; where several share it, what each did: unfolded while it goes. */
function by({ parts, finishedAt }: StatusReport['runs'][number]): Html | string {
  if (parts.length < 2) return parts[0]?.worker ?? '';
  return html`<details${finishedAt ? '' : ' open'}><summary>${parts.length} processes</summary><ul>${parts.map(
    (part) => html`<li>${part.worker}: ${partText(part)}</li>`,
  )}</ul></details>`;
}

const brought = (counts: Record<string, number>) =>
  Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([kind, n]) => `${count(n)} ${kind.replaceAll('_', ' ')}`)
    .join(', ');

/** By reason, with what can be done. No record is shown: it may hold a customer’s data. */
export function deadLetters({ report }: View): Html {
  return table(
    'Dead letters by reason',
    ['Kind', 'Records', 'Since (UTC)', 'Reason', 'Do'],
    report.deadLetters.map((group) => [
      group.kind,
      count(group.count),
      utc(group.firstFailedAt),
      html`<span class="text">${group.reason}</span>`,
      html`<form method="post" action="/dead-letters">
        <input type="hidden" name="kind" value="${group.kind}"><input type="hidden" name="reason" value="${group.reason}">
        <button name="do" value="retry">Retry<span class="sr"> the ${count(group.count)} of kind ${group.kind}</span></button>
        <button name="do" value="discard" class="grave">Discard<span class="sr"> the ${count(group.count)} of kind ${group.kind}</span></button></form>`,
    ]),
  );
}

export function queues({ report }: View): Html {
  const states: [string, (n: Record<string, number>) => number][] = [
    ['Active', (n) => n.active ?? 0],
    ['Waiting', (n) => (n.waiting ?? 0) + (n.prioritized ?? 0)],
    ['Held by steps', (n) => n['waiting-children'] ?? 0],
    ['Delayed', (n) => n.delayed ?? 0],
    ['Failed', (n) => n.failed ?? 0],
  ];
  return html`${table(
    'Jobs by queue',
    ['Queue', ...states.map(([name]) => name)],
    Object.entries(report.queue.jobs).map(([name, n]) => [name, ...states.map(([, of]) => count(of(n)))]),
  )}<p><a href="/queues">Look into the queues</a> (Bull Board, which needs scripts; kept on ${report.queue.kind}).</p>`;
}

export function months({ report }: View): Html {
  const ofYear = Map.groupBy(report.coverage, ({ month }) => month.slice(0, 4));
  return table(
    'Coverage by year',
    ['Year', 'Days read', 'Reviews'],
    [...ofYear].reverse().map(([year, all]) => {
      const sum = (of: (month: StatusReport['coverage'][number]) => number) => all.reduce((n, one) => n + of(one), 0);
      return [year, `${sum((one) => one.readDays)} of ${sum((one) => one.days)}`, count(sum((one) => one.reviews))];
    }),
  );
}
