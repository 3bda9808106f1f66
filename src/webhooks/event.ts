import { isUsableCode, longestCode } from '../base/codes.ts';
import { counted } from '../base/counts.ts';
import { isRecord, scalarText, usableId } from '../base/json-text.ts';
import { shownValue } from '../base/mask.ts';
import type { ProductRating } from '../warehouse/changed-reviews.ts';

/**
 * The event in a part of a body (docs/interface.md, "Events"): a review was created or updated; a product's data
 * changed, perhaps its code; or a product's number of reviews and rating. `payload`: a body with only this part.
 */
export type Event = { brandId: number } & (
  | { kind: 'review' | 'product'; id: number }
  | { kind: 'summary'; rating: Omit<ProductRating, 'receivedAt'>; payload: unknown }
);

/** A part of a body that is not a valid event. `payload` is a body with this part only, for a retry. */
export type EventFault = { reason: string; payload: unknown };

export type ReadEvents = { events: Event[]; faults: EventFault[] };

/** The most events and faults to read from one body. The rest is not read. */
export const mostEvents = 1000;

/** All objects of a body: the brands, and their reviews and products. */
export const objectsOf = (body: readonly unknown[]): unknown[] =>
  body.flatMap((brand) => (isRecord(brand) ? [brand, brand.reviews, brand.products].flat() : []));

type Item = Readonly<Record<string, unknown>>;

/**
 * Reads the body of a webhook: an array with one object per brand (docs/interface.md, "Events"). The fields determine
 * the kind of an event: a product with `reviews_count` or `score` is a summary. An invalid part does not affect the
 * others.
 */
export function readEvents(body: readonly unknown[]): ReadEvents {
  const events: Event[] = [];
  const faults: EventFault[] = [];
  const isEnough = () => events.length + faults.length > mostEvents;
  for (const brand of body) {
    if (isEnough()) break;
    const fault = (reason: string, payload: unknown = brand) => faults.push({ reason, payload: [payload] });
    if (!isRecord(brand)) {
      fault(`expected an object per brand, found ${shownValue(brand)}`);
      continue;
    }
    const brandId = integer(brand.brand_id);
    if (brandId === undefined) {
      fault(`expected an integer brand_id, found ${shownValue(brand.brand_id)}`);
      continue;
    }
    if (!Array.isArray(brand.reviews) && !Array.isArray(brand.products)) {
      fault(`expected an array reviews or products, found ${counted(Object.keys(brand).length, 'other field')}`);
    }
    for (const [list, read] of [['reviews', readReview] as const, ['products', readProduct] as const]) {
      const items = brand[list];
      if (!Array.isArray(items)) continue;
      for (const item of items) {
        if (isEnough()) break;
        const part = { brand_id: brandId, [list]: [item] };
        const event = isRecord(item) ? read(item) : `expected an object in ${list}, found ${shownValue(item)}`;
        if (typeof event === 'string') fault(event, part);
        else events.push(event.kind === 'summary' ? { ...event, brandId, payload: [part] } : { ...event, brandId });
      }
    }
  }
  return { events, faults };
}

function readReview(item: Item) {
  const id = usableId(item);
  if (id === undefined) return `expected an integer id of a review, from 1, found ${shownValue(item.id)}`;
  return { kind: 'review', id } as const;
}

/** Postgres' greatest integer. */
const mostReviews = 2_147_483_647;

function readProduct(item: Item) {
  const id = usableId(item);
  if (id === undefined) return `expected an integer id of a product, from 1, found ${shownValue(item.id)}`;
  if (!('reviews_count' in item) && !('score' in item)) return { kind: 'product', id } as const;
  const reviewsCount = countOf(item.reviews_count);
  if (reviewsCount === null) return `expected an integer reviews_count, found ${shownValue(item.reviews_count)}`;
  const shown = scalarText(item.code);
  const code = shown?.trim() ? shown : null;
  if (code !== null && !isUsableCode(code))
    return `expected a code of at most ${longestCode} bytes that Postgres can hold, found ${shownValue(code)}`;
  const metaReviewsCount = countOf(item.meta_reviews_count);
  const scores = { score: averageOf(item.score), metaScore: averageOf(item.meta_score) };
  return { kind: 'summary', rating: { id, code, reviewsCount, metaReviewsCount, ...scores } } as const;
}

function countOf(value: unknown): number | null {
  const count = integer(value) ?? null;
  return count === null || count > mostReviews ? null : count;
}

/** A whole number from 0, or the same as text: services send ids both ways. */
export function integer(value: unknown): number | undefined {
  const text = scalarText(value) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** An average of ratings; null for 0, which a service shows for a product without ratings. */
function averageOf(value: unknown): number | null {
  const text = scalarText(value) ?? '';
  return /^-?\d{1,9}(\.\d{1,20})?$/.test(text) ? Number(text) || null : null;
}
