import { reviewDeps } from '../src/app/deps.ts';
import { planBackfillReviews } from '../src/reviews/plan/plan-backfill-reviews.ts';
import { gapsProblem } from '../src/reviews/read/read-window.ts';
import { defineRun } from '../src/runs/define-run.ts';
import { closeGapsReadSince, openGaps } from '../src/warehouse/reviews/coverage.ts';
import { runOfReviews } from './flows.ts';

/** On demand: every review created in a range of days. */
export const backfillReviews = defineRun({
  name: 'backfill-reviews',
  ...runOfReviews,
  trigger: 'backfill',
  priority: 10,
  async plan(app, { rights, startedAt }, signal) {
    const { windows, since } = await planBackfillReviews(reviewDeps(app, signal), rights, startedAt);
    return { steps: windows, state: { since: since?.toISOString() } };
  },
  /** A backfill of some days reports only dead letters of its own reading, or of the runs that it continues. */
  deadLettersSince: ({ since }, { rights: { from, to } }) =>
    (from ?? to) !== undefined && since !== undefined ? new Date(since) : undefined,
  async complete({ warehouse: { db } }, { run: { rights } }) {
    await closeGapsReadSince(db);
    return { counts: {}, problem: rights.gaps ? gapsProblem(await openGaps(db)) : undefined };
  },
});
