import { addCounts, type Counts } from '../base/counts.ts';
import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { keyOf, type NewDeadLetter, putDeadLetter } from '../warehouse/dead-letters.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { learnProducts } from '../warehouse/orders/products.ts';
import { putProductRatings } from '../warehouse/reviews/product-ratings.ts';
import {
  brandsSeen,
  finishWebhooks,
  postponeWebhooks,
  takeWebhooks,
  type WaitingBody,
} from '../warehouse/webhook-inbox.ts';
import { coalesceEvents } from './coalesce-events.ts';
import { type EventFault, type ReviewEvent, readEvents, type SummaryEvent } from './event.ts';
import { type Failed, type Postponed, settleOutcomes } from './settle-outcomes.ts';

export type ApplyDeps = {
  warehouse: Warehouse;
  log: Logger;
  /** Our brands. Empty: every brand, as long as there is only one. */
  brandIds: readonly number[];
  /** Reads the changed reviews from the service and lands them. */
  refreshReviews(events: readonly ReviewEvent[]): Promise<{
    counts: Counts;
    refused: { id: number; reason: string }[];
    failed: Failed[];
  }>;
  /** Reads the newest reviews of each product, which contain its code. */
  refreshProducts(ids: readonly number[]): Promise<{ counts: Counts; failed: Failed[] }>;
};

/** Webhooks that were taken together. `apply` gives counts. */
export type Batch = { apply(): Promise<Counts> };

/** Longer than the client retries one request. */
const leaseSeconds = 300;

/**
 * Takes all webhooks that are due and applies them together: ten thousand events of one review are one request.
 *
 * 1. Apply the events that can be applied.
 * 2. Make a dead letter of each event that can never be applied.
 * 3. Store the events whose record the service did not return as new webhooks (`settleOutcomes`).
 * 4. Close the webhooks in the transaction of step 3.
 *
 * @returns what applies the webhooks that were taken and gives counts; undefined where nothing was due.
 * @throws the errors of the database while it takes webhooks.
 */
export async function takeInbox(deps: ApplyDeps): Promise<Batch | undefined> {
  const waiting = await takeWebhooks(deps.warehouse.db, leaseSeconds);
  return waiting.length === 0 ? undefined : { apply: () => applyTogether(deps, waiting) };
}

async function applyTogether(deps: ApplyDeps, waiting: readonly WaitingBody[]): Promise<Counts> {
  const { db } = deps.warehouse;
  const ids = waiting.map((row) => row.id);
  const attempts = Math.max(...waiting.map((row) => row.attempts));
  try {
    // The body was checked when it was stored.
    const bodies = waiting.map((row) => ({ receivedAt: row.receivedAt, body: JSON.parse(row.body) as unknown[] }));
    const { counts, faults, postponed } = await applyBodies(deps, bodies);
    const receivedAt = new Date(Math.min(...waiting.map((row) => row.receivedAt.getTime())));
    const { deadLetters, leftovers } = settleOutcomes(postponed, { attempts, receivedAt });
    for (const deadLetter of [...faults.map(faultDeadLetter), ...deadLetters]) await putDeadLetter(db, deadLetter);
    await finishWebhooks(db, ids, leftovers);
    for (const { seconds, error } of leftovers)
      deps.log.warn({ seconds, error }, 'events could not be applied; trying again');
    const refused = faults.length + deadLetters.length;
    return addCounts([
      { webhooks: waiting.length, faults: refused, postponed: postponed.length - deadLetters.length },
      counts,
    ]);
  } catch (error) {
    const isEnding = error instanceof Error && error.name === 'AbortError';
    if (waiting.length > 1 && !isEnding) {
      // A webhook that cannot be applied must not hold back the others: halving finds it.
      const middle = Math.ceil(waiting.length / 2);
      const first = await applyTogether(deps, waiting.slice(0, middle));
      return addCounts([first, await applyTogether(deps, waiting.slice(middle))]);
    }
    const seconds = Math.min(600, 2 ** Math.min(attempts, 10));
    const reason = describeError(error);
    await postponeWebhooks(db, ids, { seconds, error: reason });
    deps.log.warn({ webhooks: ids.length, seconds, error: reason }, 'webhooks could not be applied; trying again');
    return {};
  }
}

const faultDeadLetter = ({ reason, payload }: EventFault): NewDeadLetter => ({
  kind: 'webhook',
  key: keyOf(payload),
  reason,
  payload,
});

/**
 * Applies bodies of webhooks in the order of their arrival. Safe to repeat.
 *
 * @returns counts, events that can never be applied (`faults`), and events whose record the service did not return
 *   (`postponed`).
 */
export async function applyBodies(
  deps: ApplyDeps,
  bodies: readonly { receivedAt: Date; body: readonly unknown[] }[],
): Promise<{ counts: Counts; faults: EventFault[]; postponed: Postponed[] }> {
  const read = bodies.map(({ receivedAt, body }) => ({ receivedAt, ...readEvents(body) }));
  const events = read.flatMap((one) => one.events);
  const { reviews, products, summaries, otherBrands } = coalesceEvents(events, deps.brandIds);
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
  const refused = refreshed.refused.map(({ id, reason }) => ({
    reason,
    payload: [{ brand_id: reviews.find((one) => one.id === id)?.brandId, reviews: [{ id }] }],
  }));
  return {
    counts: addCounts([
      { events: events.length, summaries: own.length, other_brands: otherBrands },
      refreshed.counts,
      changed.counts,
    ]),
    faults: [...read.flatMap((one) => one.faults), ...faults, ...refused],
    postponed: [...postponedOf(refreshed.failed, reviews), ...postponedOf(changed.failed, products)],
  };
}

function postponedOf(failed: readonly Failed[], events: readonly Postponed['event'][]): Postponed[] {
  const byId = new Map(events.map((event) => [event.id, event]));
  return failed.flatMap((one) => {
    const event = byId.get(one.id);
    return event ? [{ ...one, event }] : [];
  });
}

/**
 * Refuses summaries where webhooks of several brands arrive and WEBHOOK_BRAND_IDS does not say which are ours: the same
 * product id names different products of two brands. Reviews need no such check: they are read with our own
 * credentials.
 */
async function ownSummaries(
  deps: ApplyDeps,
  summaries: readonly SummaryEvent[],
): Promise<{ own: readonly SummaryEvent[]; faults: EventFault[] }> {
  if (deps.brandIds.length > 0 || summaries.length === 0) return { own: summaries, faults: [] };
  const brands = await brandsSeen(deps.warehouse.db);
  if (brands.length < 2) return { own: summaries, faults: [] };
  const reason =
    `webhooks of several brands come here (${brands.slice(0, 10).join(', ')}): ` +
    'set WEBHOOK_BRAND_IDS to those that are yours, then retry';
  const faults = summaries.map(({ brandId, id, code, ...one }) => {
    const product = { id, code, reviews_count: one.reviewsCount, score: one.score };
    const meta = { meta_reviews_count: one.metaReviewsCount, meta_score: one.metaScore };
    return { reason, payload: [{ brand_id: brandId, products: [{ ...product, ...meta }] }] };
  });
  return { own: [], faults };
}
