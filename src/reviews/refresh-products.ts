import type { Counts } from '../counts.ts';
import { secondOf } from '../span.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { knownProductIds, learnProducts } from '../warehouse/products.ts';
import { landPage, nothingComplete } from '../warehouse/reviews.ts';
import { fetchPage, type PageDeps } from './page.ts';

const day = 86_400;

/**
 * A product changed: its newest reviews tell what its code is now. Products of which nothing is known here cost no
 * request.
 */
export async function refreshProducts(
  deps: PageDeps & { warehouse: Warehouse; now: () => Date },
  ids: readonly number[],
): Promise<Counts> {
  const now = secondOf(deps.now());
  const span = { start: now - 42 * day, end: now + day };
  const known = await knownProductIds(deps.warehouse.db, ids);
  for (const productId of known) {
    const page = await fetchPage(deps, { axis: 'created', span, productId, desc: true }, 1);
    await learnProducts(deps.warehouse, page.products);
    await landPage(deps.warehouse, { rawBody: page.rawBody, count: page.ids.length }, nothingComplete);
  }
  return { products: known.length };
}
