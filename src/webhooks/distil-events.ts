import type { Event, ProductHint, ReviewHint, Summary } from './event.ts';

export type Distilled = {
  reviews: ReviewHint[];
  products: ProductHint[];
  summaries: Summary[];
  /** Events of brands that are not ours. */
  foreign: number;
};

/**
 * What is left of many events, in their order of arrival: of each review the newest date, of each product the last
 * summary. Ids repeat across brands (FACTS): 7 of one brand is not 7 of another.
 *
 * @param ours the brands that are ours; empty: all are.
 */
export function distilEvents(events: readonly Event[], ours: readonly number[]): Distilled {
  const reviews = new Map<string, ReviewHint>();
  const products = new Map<string, ProductHint>();
  const summaries = new Map<string, Summary>();
  let foreign = 0;
  for (const event of events) {
    const key = `${event.brandId}/${event.id}`;
    if (ours.length > 0 && !ours.includes(event.brandId)) foreign += 1;
    else if (event.kind === 'summary') summaries.set(key, event);
    else if (event.kind === 'product') products.set(key, event);
    else if (isNewer(event, reviews.get(key))) reviews.set(key, event);
  }
  return {
    reviews: [...reviews.values()],
    products: [...products.values()],
    summaries: [...summaries.values()],
    foreign,
  };
}

/** One without a date has to be looked at whatever the others say. */
function isNewer(event: ReviewHint, known: ReviewHint | undefined): boolean {
  if (!known || !event.updatedAt) return true;
  return known.updatedAt !== undefined && event.updatedAt >= known.updatedAt;
}
