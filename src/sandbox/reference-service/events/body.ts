/** The three events of the spec, by what they tell of: a review, a product's data, a product's review summary. */
export type EventKind = 'review' | 'product' | 'summary';

/**
 * The body of one webhook (docs/interface.md, "Events"): an array with one object per brand. The spec shows no name of
 * the event: a receiver tells a product's summary from a change of its data by the fields.
 */
export function bodyOf(kind: EventKind, events: readonly { brandId: number; item: unknown }[]): string {
  const list = kind === 'review' ? 'reviews' : 'products';
  const brands = Map.groupBy(events, (event) => event.brandId);
  return JSON.stringify(
    Array.from(brands, ([brandId, own]) => ({ brand_id: brandId, [list]: own.map((event) => event.item) })),
  );
}
