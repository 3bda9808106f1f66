/** A review was created or updated (spec, "Events"). A hint: what it is now has to be read. */
export type ReviewHint = { kind: 'review'; brandId: number; id: number; updatedAt: Date | undefined; precise: boolean };

/** A product's data changed: its code, perhaps. */
export type ProductHint = { kind: 'product'; brandId: number; id: number };

/** A product's number of reviews and rating. */
export type Summary = {
  kind: 'summary';
  brandId: number;
  id: number;
  /** Text, also where it came as a number. */
  code: string | null;
  reviewsCount: number;
  score: number | null;
  metaReviewsCount: number | null;
  metaScore: number | null;
};

export type Event = ReviewHint | ProductHint | Summary;

/** A part that is no event. `payload` is a body that holds just this part, to be tried again. */
export type Fault = { reason: string; payload: unknown };

type Item = Readonly<Record<string, unknown>>;

/**
 * Reads the body of a webhook: an array with one object a brand (spec, "Events"). Nothing names the kind of an event but
 * its fields: a product with `reviews_count` or `score` is a summary. What is wrong stays alone.
 */
export function readEvents(body: readonly unknown[]): { events: Event[]; faults: Fault[] } {
  const events: Event[] = [];
  const faults: Fault[] = [];
  for (const brand of body) {
    const fault = (reason: string, payload: unknown = brand) => faults.push({ reason, payload: [payload] });
    if (!isItem(brand)) {
      fault(`expected an object a brand, found ${kindOf(brand)}`);
      continue;
    }
    const brandId = integer(brand.brand_id);
    if (brandId === undefined) {
      fault(`expected an integer brand_id, found ${kindOf(brand.brand_id)}`);
      continue;
    }
    if (!Array.isArray(brand.reviews) && !Array.isArray(brand.products)) {
      fault(`expected an array reviews or products, found the fields ${Object.keys(brand).join(', ').slice(0, 200)}`);
    }
    for (const [list, read] of [['reviews', readReview] as const, ['products', readProduct] as const]) {
      const items = brand[list];
      if (!Array.isArray(items)) continue;
      for (const item of items) {
        const event = isItem(item) ? read(item, brandId) : `expected an object in ${list}, found ${kindOf(item)}`;
        if (typeof event === 'string') fault(event, { brand_id: brandId, [list]: [item] });
        else events.push(event);
      }
    }
  }
  return { events, faults };
}

function readReview(item: Item, brandId: number): ReviewHint | string {
  const id = integer(item.id);
  if (id === undefined) return `expected an integer id of a review, found ${kindOf(item.id)}`;
  const text = typeof item.updated_at === 'string' ? item.updated_at : '';
  const updatedAt = new Date(text);
  const isDate = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(text) && !Number.isNaN(updatedAt.getTime());
  // Without a date that can be read the hint is as good: the review is read by its id.
  return { kind: 'review', brandId, id, updatedAt: isDate ? updatedAt : undefined, precise: /\.\d{3}/.test(text) };
}

function readProduct(item: Item, brandId: number): ProductHint | Summary | string {
  const id = integer(item.id);
  if (id === undefined) return `expected an integer id of a product, found ${kindOf(item.id)}`;
  if (!('reviews_count' in item) && !('score' in item)) return { kind: 'product', brandId, id };
  const reviewsCount = integer(item.reviews_count);
  if (reviewsCount === undefined || reviewsCount > 2_147_483_647) {
    return `expected an integer reviews_count, found ${kindOf(item.reviews_count)}`;
  }
  const numbers = { score: number(item.score), metaScore: number(item.meta_score) };
  const metaReviewsCount = integer(item.meta_reviews_count) ?? null;
  const code = ['string', 'number'].includes(typeof item.code) && item.code !== '' ? String(item.code) : null;
  if (code !== null && !isStorable(code)) return `expected a code that Postgres can hold, found ${kindOf(code)}`;
  return { kind: 'summary', brandId, id, code, reviewsCount, metaReviewsCount, ...numbers };
}

/** The brands of which a body tells; one whose `brand_id` is none is a fault, and no brand. */
export function brandsOf(body: readonly unknown[]): number[] {
  const ids = body.map((brand) => (isItem(brand) ? integer(brand.brand_id) : undefined));
  return [...new Set(ids.filter((id) => id !== undefined))];
}

/** A whole number from 0, also as text: ids have come as both. */
function integer(value: unknown): number | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function number(value: unknown): number | null {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  return /^-?\d{1,9}(\.\d{1,20})?$/.test(text) ? Number(text) : null;
}

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');

const isItem = (value: unknown): value is Item => typeof value === 'object' && value !== null && !Array.isArray(value);

function kindOf(value: unknown): string {
  if (value === undefined) return 'none';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : JSON.stringify(value).slice(0, 60);
}
