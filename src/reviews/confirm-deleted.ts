import pLimit from 'p-limit';
import { counted, formatCount } from '../base/counts.ts';
import { type Absent, countHeld, markDeleted, newestBut } from '../warehouse/reviews/absent-reviews.ts';
import { askReview } from './refresh-review.ts';
import type { ReviewDeps } from './review-deps.ts';

/**
 * `gone`: the service answers 404 for the id. `unlisted`: it knows the id, but no list shows the review (hidden,
 * perhaps). `problems`: why nothing was marked, and how many stay suspected without a usable response.
 */
export type Confirmed = { gone: number[]; unlisted: number; problems: string[] };

const atATime = 4;
/** Requests without a usable response, and none with one, after which nothing more is asked. */
const unknownAtMost = 20;
/** So few deletions are believed in any case; more only up to half of what the warehouse holds. */
const fewDeleted = 20;

/**
 * Asks by id about each review that a proven reading of its date did not show. "Not listed" alone never means deleted
 * (docs/service-facts.md).
 *
 * @param options.mark marks what is gone as deleted, unless the service does not know by id what it lists, or has lost
 *   more than half of what the warehouse holds: then the service itself is at fault.
 * @param options.suspected how many are suspected in all, where not all are asked about.
 * @param options.show receives each review that the service knows, as its response shows it.
 */
export async function confirmDeleted(
  deps: ReviewDeps,
  absent: readonly Absent[],
  options: { mark: boolean; suspected: number; show(review: Absent, rawBody: Buffer): Promise<void> },
): Promise<Confirmed> {
  const confirmed: Confirmed = { gone: [], unlisted: 0, problems: [] };
  if (absent.length === 0) return confirmed;
  const notKnown = await whyNotKnown(
    deps,
    absent.map(({ id }) => id),
  );
  if (notKnown !== undefined) return { ...confirmed, problems: [notKnown] };
  let unknown = 0;
  let reason = '';
  const ask = async (review: Absent) => {
    deps.signal.throwIfAborted();
    const isDown = confirmed.gone.length + confirmed.unlisted === 0 && unknown >= unknownAtMost;
    const asked = isDown ? { kind: 'failed' as const, reason } : await askReview(deps, review.id);
    if (asked.kind === 'gone') confirmed.gone.push(review.id);
    else if (asked.kind === 'failed') {
      unknown += 1;
      reason ||= asked.reason;
    } else {
      await options.show(review, asked.rawBody);
      confirmed.unlisted += 1;
    }
  };
  const limit = pLimit(atATime);
  const ends = await Promise.allSettled(absent.map((review) => limit(() => ask(review))));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  const held = await countHeld(deps.warehouse.db);
  // Where not all are asked about, the same share of the others is taken for gone.
  const lost = Math.round(confirmed.gone.length * Math.max(1, options.suspected / absent.length));
  if (lost > fewDeleted && lost * 2 > held)
    confirmed.problems.push(tooManyGone(lost, held, lost > confirmed.gone.length));
  else if (options.mark) await markDeleted(deps.warehouse.db, confirmed.gone, deps.now());
  if (unknown > 0) confirmed.problems.push(notAsked(unknown, reason));
  return confirmed;
}

const notAsked = (reviews: number, reason: string) =>
  `${counted(reviews, 'review')} may be gone and could not be asked about: ${reason}. Each stays suspected`;

const hint =
  'None was marked as deleted. See what the service lacks; if they really are gone, delete their rows from ' +
  'warehouse.reviews and run: npx review-sync migrate --rebuild';

const tooManyGone = (lost: number, held: number, isEstimate: boolean) =>
  `The service has lost ${isEstimate ? 'some ' : ''}${formatCount(lost)} of ${counted(held, 'review')} that the warehouse ` +
  `holds: more than half at once. ${hint}`;

/**
 * A service that does not know by id what it lists would say 404 to anything. One that fails on a review is asked for
 * another.
 */
async function whyNotKnown(deps: ReviewDeps, suspected: readonly number[]): Promise<string | undefined> {
  const others = await newestBut(deps.warehouse.db, suspected);
  let failure: string | undefined;
  for (const id of others) {
    const asked = await askReview(deps, id);
    if (asked.kind === 'shown') return undefined;
    if (asked.kind === 'failed') failure ??= asked.reason;
  }
  if (failure !== undefined) return notAsked(suspected.length, failure);
  return others.length === 0 ? undefined : `The service answers 404 for the ids of reviews that it lists. ${hint}`;
}
