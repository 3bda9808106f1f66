import type { Counts } from '../base/counts.ts';
import { secondOf } from '../base/time/span.ts';
import { ReviewApiError } from '../review-api/index.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { knownProductIds, learnProducts } from '../warehouse/products.ts';
import { landPage } from '../warehouse/reviews.ts';
import { fetchPage, type PageDeps } from './read/list-page.ts';
import { windowLimits } from './read/window.ts';
import type { Failed } from './refresh-reviews.ts';

/**
 * A product changed: its newest reviews show its code as it is now. Products of which nothing is known here cost no request.
 *
 * @returns also the products whose reviews could not be read now. Where the service does not respond at all, no other is asked for.
 */
export async function refreshProducts(
  deps: PageDeps & { warehouse: Warehouse; now: () => Date },
  ids: readonly number[],
): Promise<{ counts: Counts; failed: Failed[] }> {
  const now = secondOf(deps.now());
  const end = now + 86_400;
  const span = { start: end - windowLimits.seconds, end };
  const known = await knownProductIds(deps.warehouse.db, ids);
  const failed: Failed[] = [];
  for (const productId of known) {
    const [first] = failed;
    if (first && first.error.status === undefined) {
      failed.push({ id: productId, error: first.error });
      continue;
    }
    try {
      const page = await fetchPage(deps, { axis: 'created', span, productId, desc: true }, 1);
      await learnProducts(deps.warehouse, page.products);
      await landPage(deps.warehouse, page);
    } catch (error) {
      if (!(error instanceof ReviewApiError)) throw error;
      failed.push({ id: productId, error });
    }
  }
  return { counts: { products: known.length - failed.length }, failed };
}
