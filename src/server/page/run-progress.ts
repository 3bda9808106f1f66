import { waitText } from '../../app/status-view.ts';
import { counted, formatCount } from '../../base/counts.ts';
import { durationText } from '../../base/time/duration.ts';
import type { Run } from '../../warehouse/runs/runs.ts';
import { type Html, html } from './html.ts';

export type RunInProgress = {
  run: Run;
  /** Undefined if the queue cannot say; `unknown` is why. */
  steps: { planned: number | undefined; ended: number } | undefined;
  unknown: string | undefined;
  /** Reviews in the spans that it has read and proven so far. */
  reviews: number;
};

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

/** `12 of 30 steps; 4,321 reviews, 85 per second; about 2 min left`. */
export function progressText({ run, steps, unknown, reviews }: RunInProgress, now: Date): string {
  const plansInBatches = run.job.endsWith('orders');
  const seconds = Math.max(0, (now.getTime() - run.startedAt.getTime()) / 1000);
  const { planned, ended = 0 } = steps ?? {};
  const parts = [`For ${durationText(seconds)}`];
  const wait = waitText(run, now);
  if (wait !== undefined) parts.push(wait);
  if (unknown !== undefined) parts.push(`how far it is, is not known: ${unknown}`);
  else if (planned === undefined) parts.push(run.attendedAt ? 'it is being planned' : 'it waits for a worker');
  else parts.push(`${formatCount(ended)} of ${formatCount(planned)} steps${plansInBatches ? ' planned so far' : ''}`);
  if (reviews > 0 && seconds > 0) {
    const rate = reviews / seconds;
    const perSecond = rate < 10 ? rate.toFixed(1) : formatCount(Math.round(rate));
    parts.push(`${counted(reviews, 'review')}, ${perSecond} per second`);
  }
  if (planned !== undefined) {
    if (plansInBatches) parts.push('time left not known: it plans in batches');
    else if (ended === 0) parts.push('time left not known: no step has ended yet');
    else parts.push(`about ${durationText((seconds / ended) * Math.max(0, planned - ended))} left`);
  }
  return `${parts.join('; ')}.`;
}
