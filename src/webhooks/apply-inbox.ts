import { addCounts, type Counts } from '../counts.ts';
import { describeError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { ReviewApiError } from '../review-api/index.ts';
import { keyOf, putDeadLetter } from '../warehouse/dead-letters.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { putProductRatings } from '../warehouse/product-ratings.ts';
import { learnProducts } from '../warehouse/products.ts';
import {
  brandsSeen,
  finishWebhooks,
  postponeWebhooks,
  takeWebhooks,
  type Waiting,
} from '../warehouse/webhook-inbox.ts';
import { distilEvents } from './distil-events.ts';
import { type Fault, type ReviewHint, readEvents, type Summary } from './event.ts';

export type ApplyDeps = {
  warehouse: Warehouse;
  log: Logger;
  /** The brands that are ours; empty: all are, as long as no second one shows up. */
  brandIds: readonly number[];
  /** Reads what is said to have changed; the flow of reviews does. */
  refreshReviews(hints: readonly ReviewHint[]): Promise<{ counts: Counts; refused: { id: number; reason: string }[] }>;
  /** Reads a product's newest reviews, which tell its code. */
  refreshProducts(ids: readonly number[]): Promise<Counts>;
};

/** Longer than the client goes on repeating one request. */
const leaseSeconds = 300;

/**
 * Applies the webhooks that wait, all that are due together: of ten thousand events that tell of one review, one is left.
 *
 * @returns what was done; undefined where nothing was due.
 * @throws nothing that the service or a record is at fault for: the webhooks then wait for the next attempt.
 */
export async function applyInbox(deps: ApplyDeps): Promise<Counts | undefined> {
  const waiting = await takeWebhooks(deps.warehouse.db, leaseSeconds);
  return waiting.length === 0 ? undefined : applyTogether(deps, waiting);
}

async function applyTogether(deps: ApplyDeps, waiting: readonly Waiting[]): Promise<Counts> {
  const { db } = deps.warehouse;
  const ids = waiting.map((row) => row.id);
  try {
    const counts = await applyAll(deps, waiting);
    await finishWebhooks(db, ids);
    return counts;
  } catch (error) {
    if (waiting.length > 1 && !concernsAll(error)) {
      // One that cannot be applied, whatever is wrong with it, holds back no other: halves find it soon.
      const middle = Math.ceil(waiting.length / 2);
      const first = await applyTogether(deps, waiting.slice(0, middle));
      return addCounts([first, await applyTogether(deps, waiting.slice(middle))]);
    }
    const attempts = Math.max(...waiting.map((row) => row.attempts));
    const seconds = Math.min(600, 2 ** Math.min(attempts, 10));
    const reason = describeError(error);
    await postponeWebhooks(db, ids, { seconds, error: reason });
    deps.log.warn({ webhooks: ids.length, seconds, error: reason }, 'webhooks could not be applied; trying again');
    return {};
  }
}

/** The service does not answer, or we are to end: no part would fare better. */
const concernsAll = (error: unknown): boolean =>
  error instanceof ReviewApiError || (error instanceof Error && error.name === 'AbortError');

async function applyAll(deps: ApplyDeps, waiting: readonly Waiting[]): Promise<Counts> {
  // It was checked when it was accepted.
  const bodies = waiting.map((row) => ({ receivedAt: row.receivedAt, body: JSON.parse(row.body) as unknown[] }));
  const { counts, faults } = await applyBodies(deps, bodies);
  for (const { reason, payload } of faults) {
    await putDeadLetter(deps.warehouse.db, { kind: 'webhook', key: keyOf(payload), reason, payload });
  }
  return addCounts([{ webhooks: waiting.length, faults: faults.length }, counts]);
}

/**
 * Applies what webhooks said, in the order of their arrival; running it again does no harm.
 *
 * @returns also what no attempt will mend.
 */
export async function applyBodies(
  deps: ApplyDeps,
  bodies: readonly { receivedAt: Date; body: readonly unknown[] }[],
): Promise<{ counts: Counts; faults: Fault[] }> {
  const read = bodies.map(({ receivedAt, body }) => ({ receivedAt, ...readEvents(body) }));
  const events = read.flatMap((one) => one.events);
  const { reviews, products, summaries, foreign } = distilEvents(events, deps.brandIds);
  const { own, faults } = await ownSummaries(deps, summaries);
  const receivedAt = new Map(read.flatMap((one) => one.events.map((event) => [event, one.receivedAt] as const)));
  await putProductRatings(
    deps.warehouse.db,
    own.map((one) => ({ ...one, receivedAt: receivedAt.get(one) ?? new Date(0) })),
  );
  await learnProducts(
    deps.warehouse,
    own.map(({ id, code }) => ({ product_id: id, product_code: code })),
  );
  const refreshed = await deps.refreshReviews(reviews);
  const changed = await deps.refreshProducts(products.map((one) => one.id));
  const brandOf = new Map(reviews.map((one) => [one.id, one.brandId]));
  const refused = refreshed.refused.map(({ id, reason }) => ({
    reason,
    payload: [{ brand_id: brandOf.get(id), reviews: [{ id }] }],
  }));
  return {
    counts: addCounts([{ events: events.length, summaries: own.length, foreign }, refreshed.counts, changed]),
    faults: [...read.flatMap((one) => one.faults), ...faults, ...refused],
  };
}

/**
 * Where nothing says which brand is ours and a second one shows up, summaries are not to be believed: a product id of one
 * brand is another product of the other. Reviews are read again by our own credentials, which only show ours.
 */
async function ownSummaries(
  deps: ApplyDeps,
  summaries: readonly Summary[],
): Promise<{ own: readonly Summary[]; faults: Fault[] }> {
  if (deps.brandIds.length > 0 || summaries.length === 0) return { own: summaries, faults: [] };
  const brands = await brandsSeen(deps.warehouse.db);
  if (brands.length < 2) return { own: summaries, faults: [] };
  const reason = `webhooks of several brands come here (${brands.slice(0, 10).join(', ')}): set WEBHOOK_BRAND_IDS to those that are yours, then retry`;
  const faults = summaries.map(({ brandId, id, code, ...one }) => {
    const product = { id, code, reviews_count: one.reviewsCount, score: one.score };
    const meta = { meta_reviews_count: one.metaReviewsCount, meta_score: one.metaScore };
    return { reason, payload: [{ brand_id: brandId, products: [{ ...product, ...meta }] }] };
  });
  return { own: [], faults };
}
