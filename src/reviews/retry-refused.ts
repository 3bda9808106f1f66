import { type DeadLetter, putDeadLetter, refusedReviews, resolveDeadLetters } from '../warehouse/dead-letters.ts';
import { usableId } from '../warehouse/reviews/check-page.ts';
import { type RefreshDeps, refreshReview } from './refresh-review.ts';

/** Reviews that one run asks for. The others wait for the next run. */
const retriedAtMost = 500;

/** After so many failures in a row the service itself is at fault. */
const failuresInARow = 5;

/** Asks by id for the reviews that are open dead letters, all or those that are due (`refusedReviews`). */
export async function retryRefused(deps: RefreshDeps, which: { areDueOnly: boolean }): Promise<void> {
  const found = await refusedReviews(deps.warehouse.db, { ...which, limit: retriedAtMost });
  let failures = 0;
  for (const one of found) {
    failures = (await retryRefusedReview(deps, one)) === 'failed' ? failures + 1 : 0;
    if (failures === failuresInARow) return;
  }
}

/**
 * Asks by id for a review that is a dead letter: it lands, or its dead letter says why it cannot. A review that is gone
 * from the service closes it. A review without a usable id lands when a list shows it corrected.
 */
export async function retryRefusedReview(deps: RefreshDeps, deadLetter: DeadLetter): Promise<'failed' | 'tried'> {
  const { db } = deps.warehouse;
  const id = usableId({ id: Number(deadLetter.key) });
  if (id === undefined) return 'tried';
  const outcome = await refreshReview(deps, id);
  if (outcome.kind === 'failed') {
    await putDeadLetter(db, { ...deadLetter, reason: outcome.reason });
    return 'failed';
  }
  if (outcome.kind === 'gone' || outcome.landed.refused === 0) await resolveDeadLetters(db, 'review', [deadLetter.key]);
  return 'tried';
}
