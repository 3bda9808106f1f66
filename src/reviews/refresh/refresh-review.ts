import pLimit from 'p-limit';
import { describeError } from '../../base/errors.ts';
import { usableId } from '../../base/json-text.ts';
import { NotFoundError, type RawReview, ReviewApiError } from '../../review-api/index.ts';
import { type DeadLetter, failAgain, openDeadLetters, resolveDeadLetters } from '../../warehouse/dead-letters.ts';
import { deletedSince, newestBut } from '../../warehouse/reviews/absent-reviews.ts';
import { type Landed, landPage } from '../../warehouse/reviews/land-reviews.ts';
import { pageOfOne } from '../read/list-page.ts';
import type { ReviewDeps } from '../read/reader.ts';
import { isDueAgain } from './backoff.ts';

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

/** Reviews that one run asks for. The others wait for the next run. */
const retriedAtMost = 500;
/** Reviews that are asked for by id at the same time. */
const atATime = 4;
/** After so many failures in a row the service itself is at fault. Each may take 10 s. */
const failuresInARow = 20;

/**
 * Asks by id for the reviews that are open dead letters, all or those that are due. Reviews that were not tried for
 * the longest time come first.
 *
 * @param options.runStartedAt a review that failed since then stays as the run's list has shown it: a copy that lags
 *   behind may have an older version by the id, or none.
 */
export async function retryRefused(
  deps: ReviewDeps,
  { areDueOnly, runStartedAt }: { areDueOnly: boolean; runStartedAt: Date },
): Promise<void> {
  const open = await openDeadLetters(deps.warehouse.db, 'review');
  const due = open
    .filter(({ key, lastFailedAt }) => idOf(key) !== undefined && lastFailedAt < runStartedAt)
    .filter(({ attempts, lastFailedAt }) => !areDueOnly || isDueAgain(attempts, lastFailedAt, deps.now()))
    .sort((a, b) => a.lastFailedAt.getTime() - b.lastFailedAt.getTime());
  await retryRefusedReviews(deps, due.slice(0, retriedAtMost));
}

/**
 * Asks by id for the reviews that are dead letters: each lands, or its dead letter says why it cannot. The dead letter of
 * a review that is gone closes after two 404, if the service knows another review in between: a gateway may answer 404 to
 * everything for a few seconds. A review without a usable id lands when a list shows it corrected.
 */
export async function retryRefusedReviews(deps: ReviewDeps, deadLetters: readonly DeadLetter[]): Promise<void> {
  const gone: DeadLetter[] = [];
  await untilDown(deadLetters, async (one) => {
    const kind = await retryRefusedReview(deps, one);
    if (kind === 'gone') gone.push(one);
    return kind;
  });
  if (gone.length === 0) return;
  const others = await newestBut(deps.warehouse.db, []);
  const asked = await Promise.all(others.map((id) => askReview(deps, id)));
  if (asked.length > 0 && !asked.some(({ kind }) => kind === 'shown')) return;
  await untilDown(gone, async (one) => {
    const kind = await retryRefusedReview(deps, one);
    if (kind === 'gone') await resolveDeadLetters(deps.warehouse.db, 'review', [one.key]);
    return kind;
  });
}

/**
 * Asks by id for the reviews that were marked deleted since that moment, the last first. A review that the
 * service has restored comes back, even if it is hidden and no list shows it.
 */
export async function retryDeleted(deps: ReviewDeps, since: Date): Promise<void> {
  const ids = await deletedSince(deps.warehouse.db, since, retriedAtMost);
  await untilDown(ids, async (id) => (await refreshReview(deps, id)).kind);
}

/**
 * Asks for each of them, in this order, until the service fails twenty times in a row.
 *
 * @throws what `ask` throws, when all that were begun have ended.
 */
export async function untilDown<T>(all: readonly T[], ask: (one: T) => Promise<string>): Promise<void> {
  const limit = pLimit(atATime);
  let failures = 0;
  const unlessDown = async (one: T) => {
    if (failures >= failuresInARow) return;
    failures = (await ask(one)) === 'failed' ? failures + 1 : 0;
  };
  const ends = await Promise.allSettled(all.map((one) => limit(() => unlessDown(one))));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

const idOf = (key: string) => usableId({ id: Number(key) });

async function retryRefusedReview(deps: ReviewDeps, { id, key }: DeadLetter): Promise<Refreshed['kind'] | 'none'> {
  const { db } = deps.warehouse;
  const reviewId = idOf(key);
  if (reviewId === undefined) return 'none';
  const outcome = await refreshReview(deps, reviewId);
  if (outcome.kind === 'failed') await failAgain(db, id, outcome.reason);
  else if (outcome.kind === 'landed' && outcome.landed.refused === 0) await resolveDeadLetters(db, 'review', [key]);
  return outcome.kind;
}
