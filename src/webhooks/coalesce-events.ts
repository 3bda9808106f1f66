import type { Event, ProductEvent, ReviewEvent, SummaryEvent } from './event.ts';

export type Coalesced = {
  reviews: ReviewEvent[];
  products: ProductEvent[];
  summaries: SummaryEvent[];
  /** Events of brands that are not ours. */
  otherBrands: number;
};

/**
 * Keeps one of many events about the same record, in their order of arrival: the newest date of each review, the last
 * summary of each product. Ids repeat across brands (docs/service-facts.md): 7 of one brand is not 7 of another.
 *
 * @param ours our brands; empty: all brands.
 */
export function coalesceEvents(events: readonly Event[], ours: readonly number[]): Coalesced {
  const reviews = new Map<string, ReviewEvent>();
  const products = new Map<string, ProductEvent>();
  const summaries = new Map<string, SummaryEvent>();
  let otherBrands = 0;
  for (const event of events) {
    const key = `${event.brandId}/${event.id}`;
    if (ours.length > 0 && !ours.includes(event.brandId)) otherBrands += 1;
    else if (event.kind === 'summary') summaries.set(key, event);
    else if (event.kind === 'product') products.set(key, event);
    else if (isNewer(event, reviews.get(key))) reviews.set(key, event);
  }
  return {
    reviews: [...reviews.values()],
    products: [...products.values()],
    summaries: [...summaries.values()],
    otherBrands,
  };
}

/** An event without a date always counts as newer. */
function isNewer(event: ReviewEvent, known: ReviewEvent | undefined): boolean {
  if (!known || !event.updatedAt) return true;
  return known.updatedAt !== undefined && event.updatedAt >= known.updatedAt;
}
