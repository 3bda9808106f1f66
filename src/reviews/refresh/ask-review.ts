import pLimit from 'p-limit';
import { describeError } from '../../base/errors.ts';
import { NotFoundError, type RawReview, ReviewApiError } from '../../review-api/index.ts';
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

/** How asking for a review ends, and what follows from it. `none`: it has no id to ask for. */
export type AskEnd = AskedReview['kind'] | 'landed' | 'none';

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
