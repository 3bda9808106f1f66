import { contentKey, isRecord } from '../base/json-text.ts';
import { isInboxFull, noteBrands, noteChanged, putProductRatings } from '../warehouse/changed-reviews.ts';
import { countOpenWebhooks, putDeadLetters, resolveDeadLetters } from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import { type EventFault, integer, mostEvents, objectsOf, type ReadEvents, readEvents } from './event.ts';

/** The most open dead letters of webhooks. Further faults are not kept. */
const mostDeadLetters = 200;

/** A receiver of webhooks: a brand, or the only warehouse. */
export type Receiver = {
  /** Undefined: there are no brands, and this receiver takes all parts. */
  brand: string | undefined;
  db: Db;
  /** WEBHOOK_BRAND_IDS. Empty: every brand, as long as there is only one. */
  brandIds: readonly number[];
  /** Called with the objects of the parts that were stored. */
  onStored(objects: readonly unknown[]): void;
};

/** 200: stored durably. 422: not an array, or too many events. 503: too many reviews wait, or a brand is not served. */
export type AcceptOutcome = { status: 200 } | { status: 422 | 503; reason: string };

/**
 * Stores the contents of a webhook before the response: which reviews to read again, and ratings of products. Each
 * brand's part is stored in its own transaction. If one part is not stored, the service sends the whole body again;
 * storing a part twice does no harm. The first brand also gets the parts without a brand_id.
 *
 * @param idsOfOthers brand_ids of brands that are not served now; undefined: any id may be one. If a body has such an
 *   id, the parts of the other brands are stored, and the status is 503.
 * @throws the database errors of a brand, after all other brands have stored their parts.
 */
export async function acceptWebhook(
  receivers: readonly Receiver[],
  idsOfOthers: readonly number[] | undefined,
  body: unknown,
): Promise<AcceptOutcome> {
  if (!Array.isArray(body)) return { status: 422, reason: 'expected a JSON array with one object per brand' };
  const notServed = { status: 503, reason: 'a brand cannot be served now' } as const;
  const [first] = receivers;
  if (!first) return notServed;
  if (first.brand === undefined) return storeParts(first, body);
  const ofId = Map.groupBy(body as unknown[], (part) => (isRecord(part) ? integer(part.brand_id) : undefined));
  const partsOf = (ids: readonly (number | undefined)[]) => ids.flatMap((id) => ofId.get(id) ?? []);
  const storing = receivers.map((receiver) =>
    storeParts(receiver, partsOf(receiver === first ? [...receiver.brandIds, undefined] : receiver.brandIds)),
  );
  const known = receivers.flatMap(({ brandIds }) => brandIds);
  const others = [...ofId.keys()].filter((id) => id !== undefined && !known.includes(id));
  const unknown = idsOfOthers ? others.filter((id) => !idsOfOthers.some((one) => one === id)) : [];
  const noting = async () => {
    const heard = known.filter((id) => ofId.has(id));
    if (heard.length > 0) await resolveDeadLetters(first.db, 'webhook', heard.map(keyOf));
    // One dead letter for each unknown brand_id, in the warehouse of the first brand.
    const faults = unknown.map((id) => ({ reason: notOurs, payload: partsOf([id]).slice(0, 1), key: keyOf(id) }));
    await putFaults(first.db, faults);
  };
  const ends = await Promise.allSettled([...storing, noting()]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  if (others.length > unknown.length) return notServed;
  const outcomes = ends.flatMap((end) => (end.status === 'fulfilled' && end.value ? [end.value] : []));
  return outcomes.find(({ status }) => status !== 200) ?? { status: 200 };
}

async function storeParts(receiver: Receiver, parts: readonly unknown[]): Promise<AcceptOutcome> {
  if (parts.length === 0) return { status: 200 };
  const read = readEvents(parts);
  // The scheduled runs find the reviews of a larger webhook.
  if (read.events.length + read.faults.length > mostEvents) {
    return { status: 422, reason: `expected at most ${mostEvents} events` };
  }
  const stored = await storeEvents(receiver, read);
  if (stored.kind === 'full') return { status: 503, reason: 'too many changed reviews wait' };
  receiver.onStored(objectsOf(parts));
  return { status: 200 };
}

const keyOf = (brandId: number | undefined) => `brand_id ${brandId}`;

const notOurs =
  'no brand has this brand_id in WEBHOOK_BRAND_IDS: add it to the file of its brand, or discard this dead letter. ' +
  'The next runs read the reviews of the events; ratings come with the next webhook';

/**
 * Stores the events of a body in one transaction. A wrong part becomes a dead letter and does not affect the others.
 * Safe to repeat.
 *
 * @param receivedAt by the warehouse's clock; undefined: now.
 * @returns the faults, or `full`: too many changed reviews wait, and nothing was stored.
 */
export function storeEvents(
  { db, brandIds }: Pick<Receiver, 'db' | 'brandIds'>,
  read: ReadEvents,
  receivedAt?: Date,
): Promise<{ kind: 'stored'; faults: EventFault[] } | { kind: 'full' }> {
  const events = read.events.filter(({ brandId }) => brandIds.length === 0 || brandIds.includes(brandId));
  const reviews = events.flatMap((event) => (event.kind === 'review' ? [event.id] : []));
  const products = events.flatMap((event) => (event.kind === 'product' ? [event.id] : []));
  const summaries = events.flatMap((event) => (event.kind === 'summary' ? [event] : []));
  return db.transaction().execute(async (trx) => {
    if (await isInboxFull(trx)) return { kind: 'full' };
    const seen = await noteBrands(trx, [...new Set(read.events.map(({ brandId }) => brandId))]);
    // Another brand may have another product under the same id (docs/service-facts.md). Reviews need no such check:
    // they are read with our own credentials.
    const isUncertain = brandIds.length === 0 && seen.length > 1;
    const reason =
      `webhooks of several brands come here (${seen.slice(0, 10).join(', ')}): ` +
      'set WEBHOOK_BRAND_IDS to those that are yours, then retry';
    const uncertain = isUncertain ? summaries.map(({ payload }) => ({ reason, payload })) : [];
    const faults = [...read.faults, ...uncertain];
    const newest = new Map(isUncertain ? [] : summaries.map(({ rating }) => [rating.id, { ...rating, receivedAt }]));
    await putProductRatings(trx, [...newest.values()]);
    await noteChanged(trx, reviews, products);
    await putFaults(trx, faults);
    return { kind: 'stored', faults };
  });
}

async function putFaults(db: Db, faults: readonly (EventFault & { key?: string })[]): Promise<void> {
  if (faults.length === 0) return;
  const room = Math.max(0, mostDeadLetters - (await countOpenWebhooks(db)));
  const kept = faults.slice(0, room);
  const deadLetters = kept.map((one) => ({ kind: 'webhook', key: contentKey(one.payload), ...one }) as const);
  await putDeadLetters(db, deadLetters);
}
