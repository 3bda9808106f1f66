import { type DeadLetter, putDeadLetter, resolveDeadLetters } from '../warehouse/dead-letters.ts';
import { usableId } from '../warehouse/reviews/check-page.ts';
import { type RefreshDeps, refreshReview } from './refresh-review.ts';

/**
 * Asks by id for a review that is a dead letter: it lands, or its dead letter says why it cannot. A review that is gone
 * from the service closes it. A review without a usable id lands when a list shows it corrected.
 */
export async function retryRefused(deps: RefreshDeps, deadLetter: DeadLetter): Promise<void> {
  const { db } = deps.warehouse;
  const id = usableId({ id: deadLetter.key });
  if (id === undefined) return;
  const outcome = await refreshReview(deps, id);
  if (outcome.kind === 'failed') await putDeadLetter(db, { ...deadLetter, reason: outcome.reason });
  else if (outcome.kind === 'gone' || outcome.landed.refused === 0)
    await resolveDeadLetters(db, 'review', [deadLetter.key]);
}
