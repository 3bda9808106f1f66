import type { Counts } from '../../base/counts.ts';
import type { ReviewApi } from '../../review-api/index.ts';
import type { Warehouse } from '../../warehouse/index.ts';
import { awaitedProducts, learnProducts } from '../../warehouse/products.ts';

/** Pages of a hundred orders looked through in one run. */
const pagesAtMost = 30;

/**
 * Looks for products that order lines wait for in the service's own order list, which shows the id and the code of a
 * product (docs/interface.md, "Order (list item)"). Costs nothing while no line waits.
 */
export async function learnFromOrders(
  { api, warehouse }: { api: ReviewApi; warehouse: Warehouse },
  signal: AbortSignal,
): Promise<Counts> {
  const { db } = warehouse;
  const awaited = await awaitedProducts(db);
  if (awaited === 0) return {};
  let pages = 0;
  for await (const { items } of api.orders.listAll()) {
    signal.throwIfAborted();
    const subOrders = items.flatMap((order) => order.sub_orders);
    await learnProducts(warehouse, subOrders);
    pages += 1;
    if (pages === pagesAtMost || (await awaitedProducts(db)) === 0) break;
  }
  return { products_learned: awaited - (await awaitedProducts(db)) };
}
