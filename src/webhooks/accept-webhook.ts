import { contentKey } from '../base/json-text.ts';
import { isInboxFull, noteBrands, noteChanged, putProductRatings } from '../warehouse/changed-reviews.ts';
import { countOpenWebhooks, putDeadLetters } from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import { type EventFault, mostEvents, type ReadEvents, readEvents, type SummaryEvent } from './event.ts';

/** Open dead letters that webhooks may leave. What is wrong beyond these is not kept. */
const mostDeadLetters = 200;

export type AcceptRules = {
  /** Our brands. Empty: every brand, as long as there is only one. */
  brandIds: readonly number[];
  /** By the warehouse's clock; undefined: now. */
  receivedAt?: Date;
};

/** 200: stored durably. 422: not an array, or too many events. 503: too much waits already. */
export type AcceptOutcome = { status: 200 } | { status: 422 | 503; reason: string };

/**
 * Stores what a webhook says before the response: which reviews to read again, and ratings of products. Nothing else
 * of it is kept or learned.
 *
 * @throws the errors of the database; nothing is stored then.
 */
export async function acceptWebhook(db: Db, rules: AcceptRules, body: unknown): Promise<AcceptOutcome> {
  if (!Array.isArray(body)) return { status: 422, reason: 'expected a JSON array with one object per brand' };
  // The scheduled runs find what a larger webhook named.
  const read = readEvents(body);
  if (read.events.length + read.faults.length > mostEvents) {
    return { status: 422, reason: `expected at most ${mostEvents} events` };
  }
  const stored = await storeEvents(db, rules, read);
  return stored.kind === 'full' ? { status: 503, reason: 'too many changed reviews wait' } : { status: 200 };
}

/**
 * Stores the events of a body in one transaction. A part that is wrong becomes a dead letter and does not affect the
 * others. Safe to repeat.
 *
 * @returns the faults, or `full`: too many changed reviews wait, and nothing was stored.
 */
export function storeEvents(
  db: Db,
  { brandIds, receivedAt }: AcceptRules,
  read: ReadEvents,
): Promise<{ kind: 'stored'; faults: EventFault[] } | { kind: 'full' }> {
  const events = read.events.filter(({ brandId }) => brandIds.length === 0 || brandIds.includes(brandId));
  const reviews = events.flatMap((event) => (event.kind === 'review' ? [event.id] : []));
  const products = events.flatMap((event) => (event.kind === 'product' ? [event.id] : []));
  const summaries = events.flatMap((event) => (event.kind === 'summary' ? [event] : []));
  return db.transaction().execute(async (trx) => {
    if (await isInboxFull(trx)) return { kind: 'full' };
    const seen = await noteBrands(trx, [...new Set(read.events.map(({ brandId }) => brandId))]);
    // The same product id is another product of another brand (docs/service-facts.md). Reviews need no such check: they
    // are read with our own credentials.
    const isUncertain = brandIds.length === 0 && seen.length > 1;
    const faults = [...read.faults, ...(isUncertain ? summaries.map((one) => faultOf(one, seen)) : [])];
    const newest = new Map(isUncertain ? [] : summaries.map((one) => [one.id, { ...one, receivedAt }]));
    await putProductRatings(trx, [...newest.values()]);
    await noteChanged(trx, reviews, products);
    if (faults.length > 0) {
      const deadLetters = faults.map((one) => ({ ...one, kind: 'webhook', key: contentKey(one.payload) }) as const);
      await putDeadLetters(trx, deadLetters.slice(0, await roomForDeadLetters(trx)));
    }
    return { kind: 'stored', faults };
  });
}

export const roomForDeadLetters = async (db: Db) => Math.max(0, mostDeadLetters - (await countOpenWebhooks(db)));

function faultOf({ brandId, id, code, ...one }: SummaryEvent, brands: readonly number[]): EventFault {
  const reason =
    `webhooks of several brands come here (${brands.slice(0, 10).join(', ')}): ` +
    'set WEBHOOK_BRAND_IDS to those that are yours, then retry';
  const product = { id, code, reviews_count: one.reviewsCount, score: one.score };
  const meta = { meta_reviews_count: one.metaReviewsCount, meta_score: one.metaScore };
  return { reason, payload: [{ brand_id: brandId, products: [{ ...product, ...meta }] }] };
}
