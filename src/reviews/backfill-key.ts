import type { DayRange } from '../base/time/day-range.ts';

/**
 * Identifies the range of a review backfill in sync.runs and in the queue. A command joins a run of the same key that
 * has not ended, and continues one that was interrupted.
 *
 * @param gaps whether the backfill reads only what the coverage ledger lacks.
 */
export function backfillReviewsKey({ from, to, gaps }: DayRange & { gaps: boolean }): string {
  return ['backfill-reviews', from ?? 'first', to ?? 'last', ...(gaps ? ['gaps'] : [])].join('_');
}
