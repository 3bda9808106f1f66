import { concludeSyncReviews, planSyncReviews } from '../src/reviews/sync-reviews.ts';
import { defineRun } from './define-run.ts';
import { readWindow } from './read-window.ts';

/** Scheduled: the reviews that were written or changed since the last run. */
export const syncReviews = defineRun({
  name: 'sync-reviews',
  schedule: 'reviews',
  step: readWindow,
  priority: 1,
  letters: ['review'],
  parse: () => ({}),
  async plan(app) {
    const deps = { reviews: app.api.reviews, db: app.warehouse.db, now: app.now };
    const { windows, until } = await planSyncReviews(deps, { overlapMinutes: app.config.reviewOverlapMinutes });
    return { steps: windows, state: { until } };
  },
  complete: (app, { until }) => concludeSyncReviews(app.warehouse.db, until),
});
