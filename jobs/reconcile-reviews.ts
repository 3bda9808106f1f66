import { concludeReconcile, planReconcile } from '../src/reviews/reconcile.ts';
import { defineRun } from './define-run.ts';
import { type ReadWindow, readWindow } from './read-window.ts';

const name = 'reconcile-reviews';

/** Scheduled: reads again with age, for reviews that came late and reviews that are gone. */
export const reconcileReviews = defineRun({
  name,
  schedule: 'reconcile',
  step: readWindow,
  priority: 20,
  letters: ['review'],
  parse: () => ({}),
  async plan(app) {
    const { reconcile, reviewOverlapMinutes: overlapMinutes } = app.config;
    const deps = { reviews: app.api.reviews, db: app.warehouse.db, now: app.now };
    const { windows, lateBefore } = await planReconcile(deps, { job: name, overlapMinutes, ...reconcile });
    const more = { findAbsent: true, ...(lateBefore !== undefined && { lateBefore }) } as const;
    return { steps: windows.map((window): ReadWindow => ({ ...window, ...more })), state: {} };
  },
  complete(app, _state, run) {
    const { db } = app.warehouse;
    const deps = { reviews: app.api.reviews, timeZone: app.config.api.timeZone, signal: app.abort.signal };
    return concludeReconcile({ ...deps, db, now: app.now }, run.id);
  },
});
