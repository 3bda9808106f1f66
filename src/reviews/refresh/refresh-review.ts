import pLimit from 'p-limit';
import { counted, formatCount } from '../../base/counts.ts';
import { describeError } from '../../base/errors.ts';
import { usableId } from '../../base/json-text.ts';
import { NotFoundError, type RawReview, ReviewApiError } from '../../review-api/index.ts';
import { type DeadLetter, failAgain, openDeadLetters, resolveDeadLetters } from '../../warehouse/dead-letters.ts';
import { type Absent, countHeld, markDeleted, newestBut } from '../../warehouse/reviews/absent-reviews.ts';
import { type Landed, landPage } from '../../warehouse/reviews/land-reviews.ts';
import { isDueAgain } from '../limits.ts';
import { pageOfOne } from '../read/list-page.ts';
import type { ReviewDeps } from '../review-deps.ts';

/** What the service shows of a review by its id. `gone`: a 404 or 410. `failed`: unknown, for this reason. */
export type AskedReview = ({ kind: 'shown' } & RawReview) | { kind: 'gone' } | { kind: 'failed'; reason: string };

/** How long to ask for one review if the service fails on it, in milliseconds. Other reviews must not wait longer. */
const giveUpAfterMs = 10_000;

/**
 * Asks the service for a review by its id. If the service is overloaded, requests the overview, which waits as long as
 * the service says, and then the review once more.
 *
 * @throws errors other than the service's, such as an abort.
 */
export async function askReview(deps: Pick<ReviewDeps, 'reviews'>, id: number, isAgain = false): Promise<AskedReview> {
  try {
    return { kind: 'shown', ...(await deps.reviews.getRaw(id, { giveUpAfterMs, countsHolds: true })) };
  } catch (error) {
    if (!(error instanceof ReviewApiError)) throw error;
    if (error instanceof NotFoundError) return { kind: 'gone' };
    if (isAgain || (error.status !== 429 && error.status !== 503))
      return { kind: 'failed', reason: describeError(error) };
  }
  await deps.reviews.overview({ giveUpAfterMs }).catch((error: unknown) => {
    if (!(error instanceof ReviewApiError)) throw error;
  });
  return askReview(deps, id, true);
}

export type Refreshed = { kind: 'landed'; landed: Landed } | Exclude<AskedReview, { kind: 'shown' }>;

/**
 * Reads a review by its id and lands it. Fields that only lists show (docs/interface.md, "Review") stay as they are
 * until the next reading of a list.
 *
 * @throws errors other than the service's, such as the database's. It is safe to run it again.
 */
export async function refreshReview(deps: ReviewDeps, id: number): Promise<Refreshed> {
  const asked = await askReview(deps, id);
  if (asked.kind !== 'shown') return asked;
  return { kind: 'landed', landed: await landPage(deps.warehouse, pageOfOne(asked, deps.plausible)) };
}

type AskEnd = AskedReview['kind'] | 'landed';

/** Reviews that are asked for by id at the same time. */
const atATime = 4;
/** After this many failures in a row the service itself is at fault. Each failure may take 10 s. */
const failuresInARow = 20;

/**
 * Calls `ask` for each item, in this order, until the service fails twenty times in a row.
 *
 * @throws the errors of `ask`, after all started calls have ended.
 */
export async function untilDown<T>(all: readonly T[], ask: (one: T) => Promise<AskEnd>): Promise<void> {
  const limit = pLimit(atATime);
  let failures = 0;
  const unlessDown = async (one: T) => {
    if (failures >= failuresInARow) return;
    failures = (await ask(one)) === 'failed' ? failures + 1 : 0;
  };
  const ends = await Promise.allSettled(all.map((one) => limit(() => unlessDown(one))));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** How often the service must respond with 404 before a review counts as deleted. */
const passes = 2;

/**
 * Asks for each review. "Not listed" alone never means deleted (docs/service-facts.md), and a gateway may respond with
 * 404 for a few seconds. So a review is gone if the service responds with 404 in two `passes`, and if it shows listed
 * reviews by id before, between and after them: otherwise it may respond with 404 for any id.
 *
 * @param others a few reviews that the lists show.
 * @returns `gone`: the reviews that are gone. `doubt`: why no review counts as gone.
 */
async function askTwice<T>(
  deps: ReviewDeps,
  all: readonly T[],
  others: readonly number[],
  ask: (one: T) => Promise<AskEnd>,
): Promise<{ gone: readonly T[]; doubt?: string }> {
  let gone = all;
  for (let pass = 1; gone.length > 0; pass += 1) {
    const doubt = await whyNotKnown(deps, gone.length, others);
    if (doubt !== undefined) return { gone: [], doubt };
    if (pass > passes) break;
    gone = await goneOf(gone, ask);
  }
  return { gone };
}

/** Calls `ask` for each item. @returns the items that are gone (404). */
async function goneOf<T>(all: readonly T[], ask: (one: T) => Promise<AskEnd>): Promise<T[]> {
  const gone: T[] = [];
  await untilDown(all, async (one) => {
    const end = await ask(one);
    if (end === 'gone') gone.push(one);
    return end;
  });
  return gone;
}

/** Why the service may not show listed reviews by id. If it fails on a review, asks for another one. */
async function whyNotKnown(deps: ReviewDeps, missing: number, others: readonly number[]): Promise<string | undefined> {
  let failure: string | undefined;
  for (const id of others) {
    const asked = await askReview(deps, id);
    if (asked.kind === 'shown') return undefined;
    if (asked.kind === 'failed') failure ??= asked.reason;
  }
  if (failure !== undefined) return notAsked(missing, failure);
  return others.length === 0 ? undefined : noneKnown(others);
}

const notAsked = (reviews: number, reason: string) =>
  `${counted(reviews, 'review')} may be gone and could not be asked about: ${reason}. Each stays suspected`;

const noneKnown = (others: readonly number[]) =>
  `The service answers 404 for the ids of other reviews, too: ${others.join(', ')}. None was marked as deleted. If ` +
  'review-sync sync reconcile says the same, ask the service’s makers why lists show what GET /v1/reviews/:id does not';

/** Up to this many deletions always count. More count only up to half of the reviews in the warehouse. */
const fewDeleted = 20;

/**
 * Asks by id about each review that a proven reading of its date did not show (`askTwice`).
 *
 * @param options.mark marks reviews that are gone as deleted. If the service has lost more than half of the warehouse's
 *   reviews, the service itself is at fault, and none is marked.
 * @param options.suspected the number of all suspected reviews, if not all are asked about.
 * @param options.others a few reviews that the lists show.
 * @param options.show receives each review that the service knows, as its response shows it.
 * @returns `gone`: the service responds with 404 to the id. `unlisted`: it shows the id, but no list shows the review
 *   (perhaps hidden). `problems`: why nothing was marked, and how many stay suspected without a usable response.
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
  // If not all are asked about, assume that the same share of the others is gone.
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

/** Reviews that one run asks for. The others wait for the next run. */
const retriedAtMost = 500;

/**
 * Asks by id for the reviews that are open dead letters: all, or the due ones. The oldest attempts come first.
 *
 * @param options.runStartedAt a review that failed since then stays as the run's list has shown it: a lagging replica
 *   may have an older version by the id, or none.
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
 * Asks by id for the reviews that are dead letters, whatever the service says of others. Each review lands, or its dead
 * letter says why it cannot, or it is gone (`askTwice`). Without a usable id, a review lands when a list shows it
 * corrected.
 */
export async function retryRefused(deps: ReviewDeps, deadLetters: readonly DeadLetter[]): Promise<void> {
  const { db } = deps.warehouse;
  const known = deadLetters.flatMap((one) => {
    const reviewId = idOf(one.key);
    return reviewId === undefined ? [] : [{ ...one, reviewId }];
  });
  const ask = async ({ id, key, reviewId }: (typeof known)[number]) => {
    const outcome = await refreshReview(deps, reviewId);
    if (outcome.kind === 'failed') await failAgain(db, id, outcome.reason);
    else if (outcome.kind === 'landed' && outcome.landed.refused === 0) await resolveDeadLetters(db, 'review', [key]);
    return outcome.kind;
  };
  const missing = await goneOf(known, ask);
  const { gone } = await askTwice(deps, missing, await newestBut(db, []), ask);
  for (const { key } of gone) await resolveDeadLetters(db, 'review', [key]);
}

const idOf = (key: string) => usableId({ id: Number(key) });
