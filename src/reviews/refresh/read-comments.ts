import { type CommentsDue, commentsDue, commentsFailed, commentsRead } from '../../warehouse/reviews/comments-due.ts';
import { landPage } from '../../warehouse/reviews/land-reviews.ts';
import { pageOfOne } from '../read/check-page.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { isDueAgain } from './backoff.ts';
import { askReview, untilDown } from './refresh-review.ts';

/** Reviews whose comments one run reads. The others wait for the next run. */
const readAtMost = 500;

/**
 * Reads by their id the reviews whose number of comments has moved, since a list shows only the number. Called after
 * everything else of a run. A response without `comments` counts as a failure: a service that never shows them costs a
 * run five requests.
 *
 * @returns how many were read.
 */
export async function readComments(deps: ReviewDeps): Promise<number> {
  let read = 0;
  const due = (await commentsDue(deps.warehouse.db, readAtMost)).filter(
    ({ attempts, triedAt }) => triedAt === null || isDueAgain(attempts, triedAt, deps.now()),
  );
  await untilDown(due, async (one) => {
    const outcome = await readCommentsOf(deps, one);
    if (outcome === 'landed') read += 1;
    return outcome;
  });
  return read;
}

async function readCommentsOf(deps: ReviewDeps, due: CommentsDue): Promise<'landed' | 'gone' | 'failed'> {
  const { warehouse, plausible } = deps;
  const asked = await askReview(deps, due.id);
  if (asked.kind === 'failed' || (asked.kind === 'shown' && !Array.isArray(asked.item.comments))) {
    await commentsFailed(warehouse.db, due, deps.now());
    return 'failed';
  }
  // A review that the warehouse cannot hold is a dead letter from here on, and is read again as one.
  if (asked.kind === 'shown') await landPage(warehouse, pageOfOne(asked, plausible, { countsComments: false }));
  await commentsRead(warehouse.db, due);
  return asked.kind === 'shown' ? 'landed' : 'gone';
}
