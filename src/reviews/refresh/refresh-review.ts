import pLimit from 'p-limit';
import { counted } from '../../base/counts.ts';
import { describeError } from '../../base/errors.ts';
import { NotFoundError, type RawReview, ReviewApiError } from '../../review-api/index.ts';
import { type Landed, landPage } from '../../warehouse/reviews/land-reviews.ts';
import { pageOfOne } from '../read/check-page.ts';
import type { ReviewDeps } from '../review-deps.ts';

/** What the service shows of a review by its id. `gone`: it answers 404 or 410. `failed`: nobody knows, for this reason. */
export type AskedReview = ({ kind: 'shown' } & RawReview) | { kind: 'gone' } | { kind: 'failed'; reason: string };

/** How long one review is asked for if the service fails on it, in milliseconds, so that others do not wait. */
const giveUpAfterMs = 10_000;

/**
 * Asks the service for a review by its id. If the service is full, the overview waits for as long as the service says;
 * then the review is asked for once more.
 *
 * @throws what is not an error of the service, such as an abort.
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
 * Reads a review by its id and lands it. Fields that only lists show (docs/interface.md, "Review") stay as they are, or
 * come with the next reading of a list.
 *
 * @throws what is not an error of the service, such as the database's; running it again does no harm.
 */
export async function refreshReview(deps: ReviewDeps, id: number): Promise<Refreshed> {
  const asked = await askReview(deps, id);
  if (asked.kind !== 'shown') return asked;
  return { kind: 'landed', landed: await landPage(deps.warehouse, pageOfOne(asked, deps.plausible)) };
}

type AskEnd = AskedReview['kind'] | 'landed';

/** Reviews that are asked for by id at the same time. */
const atATime = 4;
/** After so many failures in a row the service itself is at fault. Each may take 10 s. */
const failuresInARow = 20;

/**
 * Asks for each of them, in this order, until the service fails twenty times in a row.
 *
 * @throws what `ask` throws, when all that were begun have ended.
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

/** How often a review must answer 404. */
const passes = 2;

/**
 * Asks for each of them. "Not listed" alone never means deleted (docs/service-facts.md), and a gateway may answer 404 for a
 * few seconds: what is gone answers 404 in two `passes`, and before, between and after them the service knows by id what it
 * lists. Otherwise it would answer 404 for anything.
 *
 * @param others a few reviews that the lists show.
 * @returns `gone`: those that are gone. `doubt`: why none is believed to be gone.
 */
export async function askTwice<T>(
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
    const missing: T[] = [];
    await untilDown(gone, async (one) => {
      const end = await ask(one);
      if (end === 'gone') missing.push(one);
      return end;
    });
    gone = missing;
  }
  return { gone };
}

/** Why it is not sure that the service knows by id what it lists. If it fails on a review, it is asked for another. */
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

export const notAsked = (reviews: number, reason: string) =>
  `${counted(reviews, 'review')} may be gone and could not be asked about: ${reason}. Each stays suspected`;

const noneKnown = (others: readonly number[]) =>
  `The service answers 404 for the ids of other reviews, too: ${others.join(', ')}. None was marked as deleted. If ` +
  'review-sync sync reconcile says the same, ask the service’s makers why lists show what GET /v1/reviews/:id does not';
