import { counted, formatCount } from '../../base/counts.ts';
import type { RawReview } from '../../review-api/index.ts';
import { type Absent, countHeld, markDeleted } from '../../warehouse/reviews/absent-reviews.ts';
import { askReview, askTwice, notAsked } from '../refresh/refresh-review.ts';
import type { ReviewDeps } from '../review-deps.ts';

/** So few deletions are believed in any case; more only up to half of what the warehouse holds. */
const fewDeleted = 20;

/**
 * Asks by id about each review that a proven reading of its date did not show (`askTwice`).
 *
 * @param options.mark marks what is gone as deleted, unless the service has lost more than half of what the warehouse
 *   holds: then the service itself is at fault.
 * @param options.suspected how many are suspected in all, if not all are asked about.
 * @param options.others a few reviews that the lists show.
 * @param options.show receives each review that the service knows, as its response shows it.
 * @returns `gone`: the service answers 404 for the id. `unlisted`: it knows the id, but no list shows the review (hidden,
 *   perhaps). `problems`: why nothing was marked, and how many stay suspected without a usable response.
 */
export async function confirmDeleted(
  deps: ReviewDeps,
  absent: readonly Absent[],
  options: {
    mark: boolean;
    suspected: number;
    others: readonly number[];
    show(review: Absent, shown: RawReview): Promise<void>;
  },
): Promise<{ gone: readonly Absent[]; unlisted: number; problems: string[] }> {
  if (absent.length === 0) return { gone: [], unlisted: 0, problems: [] };
  let unlisted = 0;
  let reason = '';
  const { gone, doubt } = await askTwice(deps, absent, options.others, async (review) => {
    deps.signal.throwIfAborted();
    const asked = await askReview(deps, review.id);
    if (asked.kind === 'failed') reason ||= asked.reason;
    if (asked.kind === 'shown') {
      await options.show(review, asked);
      unlisted += 1;
    }
    return asked.kind;
  });
  if (doubt !== undefined) return { gone, unlisted, problems: [doubt] };
  const problems: string[] = [];
  const unknown = absent.length - unlisted - gone.length;
  if (unknown > 0) problems.push(notAsked(unknown, reason));
  const held = await countHeld(deps.warehouse.db);
  // If not all are asked about, the same share of the others is taken for gone.
  const lost = Math.round(gone.length * Math.max(1, options.suspected / absent.length));
  const ids = gone.map(({ id }) => id);
  if (lost > fewDeleted && lost * 2 > held) problems.push(tooManyGone(lost, held, lost > gone.length));
  else if (options.mark) await markDeleted(deps.warehouse.db, ids, deps.now());
  return { gone, unlisted, problems };
}

const tooManyGone = (lost: number, held: number, isEstimate: boolean) =>
  `The service has lost ${isEstimate ? 'some ' : ''}${formatCount(lost)} of ${counted(held, 'review')} that the warehouse ` +
  'holds: more than half at once. None was marked as deleted. See what the service lacks; if they really are gone, ' +
  'delete their rows from warehouse.reviews and run: review-sync migrate --rebuild';
