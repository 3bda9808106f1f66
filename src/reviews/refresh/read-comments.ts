import { parseInstant, secondOf } from '../../base/time/span.ts';
import type { RawReview } from '../../review-api/index.ts';
import { type CommentsDue, commentsDue, commentsFailed, commentsRead } from '../../warehouse/reviews/comments-due.ts';
import { landPage } from '../../warehouse/reviews/land-reviews.ts';
import { isDueAgain } from '../limits.ts';
import { pageOfOne } from '../read/list-page.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { askReview } from './refresh-review.ts';

/** A run reads the comments of this many reviews. The others wait for the next run. */
const readAtMost = 500;
/** This many failures end the reading of a run. Each may take 15 s, and comments hold up nothing else. */
const failuresAtMost = 5;

/**
 * Reads the comments of reviews with a changed number of comments. A list shows only the number, so each review is
 * requested by its id. This is the last part of a run.
 *
 * A response fails if it has no list of `comments`, has an older version than the list showed, or is a 404: a lagging
 * replica may not have the review yet, and a reconcile finds out whether it is gone. After five failures the reading
 * ends, so a service that never shows comments costs a run five requests. If a response has fewer comments than the
 * list counts, they are stored, and requested once more.
 *
 * @returns the number of reviews read.
 */
export async function readComments(deps: ReviewDeps): Promise<number> {
  let read = 0;
  let failures = 0;
  const due = (await commentsDue(deps.warehouse.db, readAtMost)).filter(
    ({ attempts, triedAt }) => triedAt === null || isDueAgain(attempts, triedAt, deps.now()),
  );
  for (const one of due) {
    if (await readCommentsOf(deps, one)) read += 1;
    else failures += 1;
    if (failures === failuresAtMost) break;
  }
  return read;
}

async function readCommentsOf(deps: ReviewDeps, due: CommentsDue): Promise<boolean> {
  const { warehouse, plausible } = deps;
  const asked = await askReview(deps, due.id);
  if (asked.kind === 'shown' && showsComments(asked.item, due)) {
    // If the warehouse refuses the review, landPage makes a dead letter. The next list that shows the review closes it.
    const { refused } = await landPage(warehouse, pageOfOne(asked, plausible, due.fields));
    if (refused === 0) {
      if (isShort(asked.item, due)) await commentsFailed(warehouse.db, due, deps.now());
      else await commentsRead(warehouse.db, due);
      return true;
    }
  }
  await commentsFailed(warehouse.db, due, deps.now());
  return false;
}

/** Whether the response has comments, and is no older than the stored review: an older version would not land. */
const showsComments = ({ comments, updated_at }: RawReview['item'], { count, updatedAt }: CommentsDue) =>
  (Array.isArray(comments) || (comments === null && !count)) &&
  (parseInstant(updated_at) ?? Number.POSITIVE_INFINITY) >= secondOf(updatedAt);

/** Whether the first response has fewer comments than the list counted: a replica may lag. The second one counts. */
const isShort = ({ comments }: RawReview['item'], { count, attempts }: CommentsDue) =>
  attempts === 0 && Array.isArray(comments) && comments.length < (count ?? 0);
