import type { Shop } from '../shop/index.ts';
import type { KnownOrder } from '../warehouse/absent-orders.ts';
import { isSameCode } from './same-content.ts';

/** Those of the pushed orders that the shop does not show. One that cannot be read is there all the same. */
export async function missingInShop(shop: Pick<Shop, 'orders'>, known: readonly KnownOrder[]): Promise<KnownOrder[]> {
  if (known.length === 0) return [];
  const found = (await shop.orders(known.map((one) => one.code))).map((raw) => raw.order.code ?? '');
  const exact = new Set(found);
  // The shop's database may write a code otherwise than it did when the order was pushed.
  const asked = new Set(known.map((one) => one.code));
  const likeOthers = found.filter((code) => !asked.has(code));
  return known.filter(({ code }) => !exact.has(code) && !likeOthers.some((other) => isSameCode(other, code)));
}
