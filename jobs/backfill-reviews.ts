import * as v from 'valibot';
import { reviewDeps } from '../src/app/deps.ts';
import { gapsProblem } from '../src/reviews/export-window.ts';
import { backfillReviewsKey, planBackfillReviews } from '../src/reviews/plan-backfill-reviews.ts';
import { closeGapsReadSince } from '../src/warehouse/reviews/open-gaps.ts';
import { unfinishedSince } from '../src/warehouse/runs/runs.ts';
import { runOfReviews } from './conclusions.ts';
import { defineRun } from './define-run.ts';
import { days, flag, parsePayload } from './payload.ts';

const shape = v.object({
  ...days,
  /** Leave out all that the coverage ledger holds, not only what this backfill has read. */
  gaps: flag,
});

export type BackfillReviews = v.InferOutput<typeof shape>;

/** On demand: every review created in a range of days. */
export const backfillReviews = defineRun({
  name: 'backfill-reviews',
  ...runOfReviews,
  priority: 10,
  parse: (payload) => parsePayload(shape, payload),
  async plan(app, { gaps, ...range }, run, signal) {
    const key = backfillReviewsKey({ ...range, gaps });
    const since = gaps ? undefined : ((await unfinishedSince(app.warehouse.db, key, app.now())) ?? run.startedAt);
    return {
      steps: await planBackfillReviews(reviewDeps(app, signal), range, { since }),
      state: { since: since?.toISOString() },
    };
  },
  /** A backfill of some days says nothing of others: only what it has read, or the runs that it continues. */
  deadLettersSince: ({ since }, { gaps, from, to }) =>
    !gaps && (from ?? to) !== undefined && since !== undefined ? new Date(since) : undefined,
  async complete({ warehouse: { db } }, { payload: { gaps } }) {
    await closeGapsReadSince(db);
    return { counts: {}, problem: gaps ? await gapsProblem(db) : undefined };
  },
});
