import { usableId } from '../../base/json-text.ts';
import { type DeadLetter, failAgain, openDeadLetters, resolveDeadLetters } from '../../warehouse/dead-letters.ts';
import { newestBut } from '../../warehouse/reviews/absent-reviews.ts';
import { isDueAgain } from '../limits.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { askTwice, refreshReview } from './refresh-review.ts';

/** Reviews that one run asks for. The others wait for the next run. */
const retriedAtMost = 500;

/**
 * Asks by id for the reviews that are open dead letters, all or those that are due. Reviews that were not tried for
 * the longest time come first.
 *
 * @param options.runStartedAt a review that failed since then stays as the run's list has shown it: a copy that lags
 *   behind may have an older version by the id, or none.
 */
export async function retryOpenRefused(
  deps: ReviewDeps,
  { areDueOnly, runStartedAt }: { areDueOnly: boolean; runStartedAt: Date },
): Promise<void> {
  const open = await openDeadLetters(deps.warehouse.db, 'review');
  const due = open
    .filter(({ key, lastFailedAt }) => idOf(key) !== undefined && lastFailedAt < runStartedAt)
    .filter(({ attempts, lastFailedAt }) => !areDueOnly || isDueAgain(attempts, lastFailedAt, deps.now()))
    .sort((a, b) => a.lastFailedAt.getTime() - b.lastFailedAt.getTime());
  await retryRefused(deps, due.slice(0, retriedAtMost));
}

/**
 * Asks by id for the reviews that are dead letters: each lands, or its dead letter says why it cannot. The dead letter of
 * a review that is gone (`askTwice`) closes. A review without a usable id lands when a list shows it corrected.
 */
export async function retryRefused(deps: ReviewDeps, deadLetters: readonly DeadLetter[]): Promise<void> {
  const { db } = deps.warehouse;
  const known = deadLetters.flatMap((one) => {
    const reviewId = idOf(one.key);
    return reviewId === undefined ? [] : [{ ...one, reviewId }];
  });
  const others = known.length > 0 ? await newestBut(db, []) : [];
  const { gone } = await askTwice(deps, known, others, async ({ id, key, reviewId }) => {
    const outcome = await refreshReview(deps, reviewId);
    if (outcome.kind === 'failed') await failAgain(db, id, outcome.reason);
    else if (outcome.kind === 'landed' && outcome.landed.refused === 0) await resolveDeadLetters(db, 'review', [key]);
    return outcome.kind;
  });
  for (const { key } of gone) await resolveDeadLetters(db, 'review', [key]);
}

const idOf = (key: string) => usableId({ id: Number(key) });
