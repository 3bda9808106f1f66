import { counted, formatCount } from '../../base/counts.ts';
import type { RawReview } from '../../review-api/index.ts';
import { type Absent, countHeld, markDeleted } from '../../warehouse/reviews/absent-reviews.ts';
import { askReview, untilDown } from '../refresh/ask-review.ts';
import type { ReviewDeps } from '../review-deps.ts';

/** How often a review must answer 404. */
const passes = 2;

/** So few deletions are believed in any case; more only up to half of what the warehouse holds. */
const fewDeleted = 20;

/**
 * Asks by id about each review that a proven reading of its date did not show. "Not listed" alone never means deleted
 * (docs/service-facts.md), and a gateway may answer 404 for a few seconds: what is gone answers 404 in two `passes`, and before,
 * between and after them the service knows by id what it lists.
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
): Promise<{ gone: Absent[]; unlisted: number; problems: string[] }> {
  if (absent.length === 0) return { gone: [], unlisted: 0, problems: [] };
  const problems: string[] = [];
  let unlisted = 0;
  let unknown = 0;
  let reason = '';

  /** Asks about each of them. @returns those that the service answers 404 for. */
  async function goneOf(reviews: readonly Absent[]): Promise<Absent[]> {
    const found: Absent[] = [];
    let answers = 0;
    await untilDown(reviews, async (review) => {
      deps.signal.throwIfAborted();
      const asked = await askReview(deps, review.id);
      if (asked.kind === 'failed') reason ||= asked.reason;
      else answers += 1;
      if (asked.kind === 'gone') found.push(review);
      if (asked.kind === 'shown') {
        await options.show(review, asked);
        unlisted += 1;
      }
      return asked.kind;
    });
    unknown += reviews.length - answers;
    return found;
  }

  /** None of them, if the service does not know by id what it lists: then it would answer 404 for anything. */
  async function ifOthersAreKnown(missing: Absent[]): Promise<Absent[]> {
    const why = missing.length > 0 ? await whyNotKnown(deps, missing.length, options.others) : undefined;
    if (why === undefined) return missing;
    problems.push(why);
    return [];
  }

  let gone = absent.slice();
  for (let pass = 1; pass <= passes; pass += 1) gone = await goneOf(await ifOthersAreKnown(gone));
  gone = await ifOthersAreKnown(gone);
  if (unknown > 0) problems.push(notAsked(unknown, reason));
  const held = await countHeld(deps.warehouse.db);
  // If not all are asked about, the same share of the others is taken for gone.
  const lost = Math.round(gone.length * Math.max(1, options.suspected / absent.length));
  const ids = gone.map(({ id }) => id);
  if (lost > fewDeleted && lost * 2 > held) problems.push(tooManyGone(lost, held, lost > gone.length));
  else if (options.mark) await markDeleted(deps.warehouse.db, ids, deps.now());
  return { gone, unlisted, problems };
}

const notAsked = (reviews: number, reason: string) =>
  `${counted(reviews, 'review')} may be gone and could not be asked about: ${reason}. Each stays suspected`;

const noneKnown = (others: readonly number[]) =>
  `The service answers 404 for the ids of other reviews, too: ${others.join(', ')}. None was marked as deleted. If ` +
  'review-sync sync reconcile says the same, ask the service’s makers why lists show what GET /v1/reviews/:id does not';

const tooManyGone = (lost: number, held: number, isEstimate: boolean) =>
  `The service has lost ${isEstimate ? 'some ' : ''}${formatCount(lost)} of ${counted(held, 'review')} that the warehouse ` +
  'holds: more than half at once. None was marked as deleted. See what the service lacks; if they really are gone, ' +
  'delete their rows from warehouse.reviews and run: review-sync migrate --rebuild';

/**
 * A service that does not know by id what it lists would say 404 to anything. If it fails on a review, it is asked for
 * another.
 */
async function whyNotKnown(
  deps: ReviewDeps,
  suspected: number,
  others: readonly number[],
): Promise<string | undefined> {
  let failure: string | undefined;
  for (const id of others) {
    const asked = await askReview(deps, id);
    if (asked.kind === 'shown') return undefined;
    if (asked.kind === 'failed') failure ??= asked.reason;
  }
  if (failure !== undefined) return notAsked(suspected, failure);
  return others.length === 0 ? undefined : noneKnown(others);
}
