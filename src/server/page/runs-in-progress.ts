import { paceOf } from '../../app/run-progress.ts';
import { formatCount } from '../../app/status-view.ts';
import { durationText } from '../../base/time/duration.ts';
import { type Html, html } from './html.ts';
import type { RunInProgress } from './view.ts';

/** The address of a run's own page. */
export const runPath = (id: string) => `/runs/${encodeURIComponent(id)}`;

/** The runs in progress: how far they are, how fast, and for how long still. */
export function runsInProgress(runs: readonly RunInProgress[], now: Date): Html {
  if (runs.length === 0) return html`<p>No run is in progress.</p>`;
  return html`<ul class="progress">${runs.map((one) => html`<li>${progressOf(one, now)}</li>`)}</ul>`;
}

function progressOf(one: RunInProgress, now: Date): Html {
  const { run, steps } = one;
  const bar =
    steps?.planned !== undefined &&
    html`<progress max="${Math.max(1, steps.planned)}" value="${steps.ended}" aria-label="Steps of ${run.job}"></progress>`;
  return html`<a href="${runPath(run.id)}"><strong>${run.job}</strong></a> ${bar}<br>${progressText(one, now)}`;
}

/** `12 of 30 steps; 4,321 reviews, 85 per second; about 2 min left`. */
export function progressText(one: RunInProgress, now: Date): string {
  const { steps, unknown, read, plansInBatches } = one;
  const { seconds, reviewsPerSecond, secondsLeft } = paceOf(one, now, plansInBatches);
  const { planned, ended = 0 } = steps ?? {};
  const parts = [`For ${durationText(seconds)}`];
  if (unknown !== undefined) parts.push(`how far it is, is not known: ${unknown}`);
  else if (planned === undefined) parts.push('it is being planned, or waits for a worker');
  else parts.push(`${formatCount(ended)} of ${formatCount(planned)} steps${plansInBatches ? ' planned so far' : ''}`);
  if (reviewsPerSecond !== undefined) {
    parts.push(`${formatCount(read.reviews)} reviews, ${rateText(reviewsPerSecond)} per second`);
  }
  if (secondsLeft !== undefined) parts.push(`about ${durationText(secondsLeft)} left`);
  else if (planned !== undefined) {
    parts.push(`time left not known${plansInBatches ? ': it plans in batches' : ': no step has ended yet'}`);
  }
  return `${parts.join('; ')}.`;
}

const rateText = (perSecond: number) => (perSecond < 10 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond)));
