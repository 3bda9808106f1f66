import { concludeSyncReviews, planSyncReviews } from '../src/reviews/sync-reviews.ts';
import { defineRun } from './define-run.ts';
import { type ReadWindow, readWindow } from './read-window.ts';

/** Scheduled: the reviews that were written or changed since the last run. */
export const syncReviews = defineRun({
  name: 'sync-reviews',
  schedule: 'reviews',
  step: readWindow,
  priority: 1,
  letters: ['review'],
  parse: () => ({}),
  async plan(app, _payload, _run, signal) {
    const { timeZone } = app.config.api;
    const deps = { reviews: app.api.reviews, db: app.warehouse.db, now: app.now, timeZone, signal };
    const overlapMinutes = app.config.reviewOverlapMinutes;
    const { windows, lateBefore, ...until } = await planSyncReviews(deps, { overlapMinutes });
    const steps = windows.map((window): ReadWindow => ({ ...window, ...(lateBefore !== undefined && { lateBefore }) }));
    return { steps, state: until };
  },
  async complete(app, until) {
    await concludeSyncReviews(app.warehouse.db, until);
    return {};
  },
});
