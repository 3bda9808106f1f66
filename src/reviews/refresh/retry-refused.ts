import { usableId } from '../../base/json-text.ts';
import { type DeadLetter, failAgain, openDeadLetters, resolveDeadLetters } from '../../warehouse/dead-letters.ts';
import { newestBut } from '../../warehouse/reviews/absent-reviews.ts';
import { isDueAgain } from '../limits.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { type AskEnd, askReview, untilDown } from './ask-review.ts';
import { refreshReview } from './refresh-review.ts';

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
 * a review that is gone closes after two 404, if the service knows another review in between: a gateway may answer 404 to
 * everything for a few seconds. A review without a usable id lands when a list shows it corrected.
 */
export async function retryRefused(deps: ReviewDeps, deadLetters: readonly DeadLetter[]): Promise<void> {
  const gone: DeadLetter[] = [];
  await untilDown(deadLetters, async (one) => {
    const kind = await refreshRefused(deps, one);
    if (kind === 'gone') gone.push(one);
    return kind;
  });
  if (gone.length === 0) return;
  const others = await newestBut(deps.warehouse.db, []);
  const asked = await Promise.all(others.map((id) => askReview(deps, id)));
  if (asked.length > 0 && !asked.some(({ kind }) => kind === 'shown')) return;
  await untilDown(gone, async (one) => {
    const kind = await refreshRefused(deps, one);
    if (kind === 'gone') await resolveDeadLetters(deps.warehouse.db, 'review', [one.key]);
    return kind;
  });
}

const idOf = (key: string) => usableId({ id: Number(key) });

async function refreshRefused(deps: ReviewDeps, { id, key }: DeadLetter): Promise<AskEnd> {
  const { db } = deps.warehouse;
  const reviewId = idOf(key);
  if (reviewId === undefined) return 'none';
  const outcome = await refreshReview(deps, reviewId);
  if (outcome.kind === 'failed') await failAgain(db, id, outcome.reason);
  else if (outcome.kind === 'landed' && outcome.landed.refused === 0) await resolveDeadLetters(db, 'review', [key]);
  return outcome.kind;
}
