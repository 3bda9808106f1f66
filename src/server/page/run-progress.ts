import type { RunInProgress } from '../../app/status-report.ts';
import { progressText } from '../../app/status-view.ts';
import { type Html, html } from './html.ts';

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
