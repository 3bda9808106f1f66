import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import type { Db } from '../../warehouse/index.ts';
import { readSlowOrders } from '../../warehouse/orders/slow-orders.ts';

/** `postponed`: codes of orders that took too long to read, and are not to be read again yet. Their dead letters stay open. */
export type FromShop = { raws: RawOrder[]; postponed: string[] };

/** Reads orders from the shop, those that took too long before apart from the others, so that these need no search for them. */
export async function readFromShop(
  { shop, db }: { shop: Pick<Shop, 'orders'>; db: Db },
  codes: readonly string[],
): Promise<FromShop> {
  const slow = await readSlowOrders(db, codes);
  const raws = await shop.orders(codes.filter((code) => !slow.has(code)));
  const again = await shop.orders(codes.filter((code) => slow.get(code)?.isDue === true));
  return { raws: [...raws, ...again], postponed: codes.filter((code) => slow.get(code)?.isDue === false) };
}
