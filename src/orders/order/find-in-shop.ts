import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import type { Db } from '../../warehouse/index.ts';
import type { KnownOrder } from '../../warehouse/orders/absent-orders.ts';
import { orderLinks } from '../../warehouse/orders/order-links.ts';

/**
 * The order that a person asks for. Where the shop's column ignores case, the shop gives the order `a1` for `A1`: then the order is
 * called by the shop's own code from here on. If `A1` was pushed too, it is another order, and the shop no longer has it.
 *
 * @returns `code`: as the shop stores it; as asked for where the shop does not have the order.
 */
export async function findInShop(
  { shop, db }: { shop: Pick<Shop, 'orders'>; db: Db },
  asked: string,
): Promise<{ code: string; raw: RawOrder | undefined }> {
  const [raw] = await shop.orders([asked]);
  const code = raw?.order.code ?? asked;
  if (code === asked) return { code, raw };
  const isAnother = (await orderLinks(db, [asked])).has(asked);
  return isAnother ? { code: asked, raw: undefined } : { code, raw };
}

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
