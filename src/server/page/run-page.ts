import { countsText, utc } from '../../app/status-view.ts';
import { counted, formatCount } from '../../base/counts.ts';
import { durationText } from '../../base/time/duration.ts';
import type { RunInProgress, RunView } from '../views.ts';
import { type Html, html } from './html.ts';
import { facts, layout, section, statusTable } from './layout.ts';

/** The address of a run's own page. */
export const runPath = (id: string) => `/runs/${encodeURIComponent(id)}`;

/** Shown where there is no run of the id. It does not say the id back. */
export const missingPage = layout({
  title: 'no such run',
  main: section('missing', 'No such run', html`<p>Runs are deleted with age. <a href="/">Status</a></p>`),
});

/** The page of one run. */
export function runPage(view: RunView): string {
  const { run, at, progress } = view;
  const seconds = ((run.finishedAt ?? at).getTime() - run.startedAt.getTime()) / 1000;
  const outcome = run.outcome ?? 'running';
  const main = html`<p><a href="/">All runs</a></p><h2>${run.job}</h2>
${run.error !== null && html`<p class="reason failed">${run.error}</p>`}
${facts([
  ['Outcome', html`<span class="outcome ${outcome}">${outcome}</span>`],
  ['Started by', run.trigger === 'schedule' ? 'its schedule' : 'a command'],
  ['Started', utc(run.startedAt)],
  ['Ended', run.finishedAt ? utc(run.finishedAt) : 'not yet'],
  ['Took', durationText(seconds)],
  ['About', run.key ?? 'everything'],
  ['Id', html`<code>${run.id}</code>`],
])}
${progress && section('progress', 'In progress', html`<p>${progressText(progress, at)}</p>`)}
${section('counts', 'Counts', html`<p>${countsText(run.counts) || 'None are recorded; they are when the run ends.'}</p>`)}
${section('windows', 'Windows and requests', windows(view, seconds))}
<p class="soft">As of ${utc(at)}. All times are in UTC.</p>`;
  const isLive = !run.finishedAt;
  return layout({ title: `${run.job}, ${utc(run.startedAt)}`, main, search: { of: 'order', key: '' }, isLive });
}

function windows({ run, windows: { sums, first } }: RunView, seconds: number): Html {
  if (sums.windows === 0) {
    return html`<p>${run.counts.spans ? 'Its windows are not kept any more: reconcile deletes them with age.' : 'It has read no window of reviews.'}</p>`;
  }
  const rows = first.map((one) => [
    one.axis,
    utc(one.startAt),
    utc(one.endAt),
    ...[one.pages, one.reviews, one.requests].map(formatCount),
    durationText(one.seconds),
  ]);
  const idle = Math.max(0, seconds - (sums.readingSeconds ?? 0));
  return html`<p>${counted(sums.windows, 'window was', 'windows were')} read completely: ${counted(sums.reviews, 'review')} on ${counted(sums.pages, 'page')}, in ${counted(sums.requests, 'request')}.
      For ${durationText(idle)} of ${durationText(seconds)} none was being read: the run was planned, waited in the queue, or read what could not be proven.
      ${sums.windows > rows.length && `The first ${rows.length} are shown.`}</p>
    ${statusTable({ title: 'Windows', head: ['Date', 'From', 'To', 'Pages', 'Reviews', 'Requests', 'Took'], rows })}`;
}

/** The runs in progress: how far they are, how fast, and for how long still. */
export function runsInProgress(runs: readonly RunInProgress[], now: Date): Html {
  if (runs.length === 0) return html`<p>No run is in progress.</p>`;
  const bar = ({ run, steps }: RunInProgress) =>
    steps?.planned !== undefined &&
    html`<progress max="${Math.max(1, steps.planned)}" value="${steps.ended}" aria-label="Steps of ${run.job}"></progress>`;
  return html`<ul class="progress">${runs.map(
    (one) =>
      html`<li><a href="${runPath(one.run.id)}"><strong>${one.run.job}</strong></a> ${bar(one)}<br>${progressText(one, now)}</li>`,
  )}</ul>`;
}

/** `12 of 30 steps; 4,321 reviews, 85 per second; about 2 min left`. */
export function progressText({ run, steps, unknown, read }: RunInProgress, now: Date): string {
  const plansInBatches = run.job.endsWith('orders');
  const seconds = Math.max(0, (now.getTime() - run.startedAt.getTime()) / 1000);
  const { planned, ended = 0 } = steps ?? {};
  const parts = [`For ${durationText(seconds)}`];
  if (unknown !== undefined) parts.push(`how far it is, is not known: ${unknown}`);
  else if (planned === undefined) parts.push('it is being planned, or waits for a worker');
  else parts.push(`${formatCount(ended)} of ${formatCount(planned)} steps${plansInBatches ? ' planned so far' : ''}`);
  if (read.reviews > 0 && seconds > 0) {
    const rate = read.reviews / seconds;
    const perSecond = rate < 10 ? rate.toFixed(1) : formatCount(Math.round(rate));
    parts.push(`${counted(read.reviews, 'review')}, ${perSecond} per second`);
  }
  if (planned !== undefined) {
    if (plansInBatches) parts.push('time left not known: it plans in batches');
    else if (ended === 0) parts.push('time left not known: no step has ended yet');
    else parts.push(`about ${durationText((seconds / ended) * Math.max(0, planned - ended))} left`);
  }
  return `${parts.join('; ')}.`;
}
