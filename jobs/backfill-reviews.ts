import type { DayRange } from '../src/day-range.ts';
import { planBackfillReviews } from '../src/reviews/backfill-reviews.ts';
import { findRun } from '../src/warehouse/runs.ts';
import { defineRun } from './define-run.ts';
import { object, optionalText } from './payload.ts';
import { readWindow } from './read-window.ts';

export type BackfillReviews = DayRange & {
  /** Leave out all that the coverage ledger holds, not only what this backfill has read. */
  gaps: boolean;
};

/** On demand: every review created in a range of days. */
export const backfillReviews = defineRun({
  name: 'backfill-reviews',
  step: readWindow,
  priority: 10,
  letters: ['review'],
  parse(payload): BackfillReviews {
    const given = object(payload);
    return { ...optionalText(given, 'from'), ...optionalText(given, 'to'), gaps: given.gaps === true };
  },
  async plan(app, { gaps, ...range }, run) {
    const deps = { reviews: app.api.reviews, db: app.warehouse.db, now: app.now };
    // Begun again after it ended incomplete, the run has kept its first start.
    const begun = (await findRun(app.warehouse.db, run.id))?.startedAt ?? run.startedAt;
    const resume = { timeZone: app.config.api.timeZone, since: gaps ? new Date(0) : begun };
    return { steps: await planBackfillReviews(deps, range, resume), state: {} };
  },
  complete: async () => ({}),
});

/** One id for one range: called again while it is going or after it was interrupted, it is the same run. */
export function backfillReviewsId({ from, to, gaps }: BackfillReviews): string {
  return ['backfill-reviews', from ?? 'first', to ?? 'last', ...(gaps ? ['gaps'] : [])].join('_');
}
