import type { Shop } from '../shop/index.ts';
import type { KnownOrder } from '../warehouse/absent-orders.ts';

/**
 * Those of the pushed orders that the shop does not show. One that cannot be read is there all the same. Codes are compared
 * exactly: where a column ignores case, the shop gives the order `a1` for `A1`, which is another order.
 */
export async function missingInShop<T extends Pick<KnownOrder, 'code'>>(
  shop: Pick<Shop, 'orders'>,
  known: readonly T[],
): Promise<T[]> {
  if (known.length === 0) return [];
  const found = new Set((await shop.orders(known.map(({ code }) => code))).map(({ order }) => order.code));
  return known.filter(({ code }) => !found.has(code));
}
