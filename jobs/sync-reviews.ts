import { reviewDeps } from '../src/app/deps.ts';
import { concludeSyncReviews, planSyncReviews } from '../src/reviews/plan/plan-sync-reviews.ts';
import { gapsProblem } from '../src/reviews/read/read-window.ts';
import { readComments } from '../src/reviews/refresh/read-comments.ts';
import { retryOpenRefused } from '../src/reviews/refresh/refresh-review.ts';
import { defineRun } from '../src/runs/define-run.ts';
import { runOfReviews } from './flows.ts';

/** Scheduled: the reviews that were written or changed since the last run. */
export const syncReviews = defineRun({
  name: 'sync-reviews',
  schedule: 'reviews',
  ...runOfReviews,
  trigger: 'sync',
  priority: 1,
  completesAlways: true,
  async plan(app, run, signal) {
    const options = { overlapMinutes: app.config.reviewOverlapMinutes, allGaps: run.startedBy === 'command' };
    const state = await planSyncReviews(reviewDeps(app, signal), options);
    return { steps: state.windows, state };
  },
  async complete(app, { state, run, failures, signal }) {
    const { db } = app.warehouse;
    const retried = { areDueOnly: run.startedBy === 'schedule', runStartedAt: run.startedAt };
    await retryOpenRefused(reviewDeps(app, signal), retried);
    const open = await concludeSyncReviews(db, run.id, state, failures[0] ?? 'it was not read to its end');
    const comments = await readComments(reviewDeps(app, signal));
    return {
      counts: comments > 0 ? { comments } : {},
      problem: failures.length === 0 ? gapsProblem(open) : undefined,
    };
  },
});
