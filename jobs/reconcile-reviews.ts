import { reviewDeps } from '../src/app/deps.ts';
import { concludeReconcile, planReconcile } from '../src/reviews/plan/reconcile.ts';
import { retryOpenRefused } from '../src/reviews/refresh/refresh-review.ts';
import { defineRun } from '../src/runs/define-run.ts';
import { runOfReviews } from './flows.ts';
import type { ReadWindow } from './read-window.ts';

const name = 'reconcile-reviews';

/** Scheduled: reads reviews again, depending on their age, to find late reviews and reviews that are gone. */
export const reconcileReviews = defineRun({
  name,
  schedule: 'reconcile',
  ...runOfReviews,
  trigger: 'rescan',
  priority: 20,
  completesAlways: true,
  async plan(app, _run, signal) {
    const windows = await planReconcile(reviewDeps(app, signal), { job: name, ...app.config.reconcile });
    return { steps: windows.map((window): ReadWindow => ({ ...window, findAbsent: true })), state: {} };
  },
  async complete(app, { run, signal }) {
    await retryOpenRefused(reviewDeps(app, signal), { areDueOnly: false, runStartedAt: run.startedAt });
    return concludeReconcile(reviewDeps(app, signal), app.config.reconcile);
  },
});
