import { counted } from '../base/counts.ts';
import { ReviewSyncError } from '../base/errors.ts';
import { isSameCreation } from '../orders/plan/read-orders.ts';
import type { Shop } from '../shop/index.ts';
import type { OrderPosition } from '../shop/orders.ts';
import type { Db } from '../warehouse/index.ts';
import { ordersOfAllAges, setCreations } from '../warehouse/orders/known-orders.ts';

type ShopDeps = { shop: Pick<Shop, 'orders' | 'orderCodes'>; db: Db };

/**
 * Whether a date of creation equals the pushed date within a second, or differs by quarter hours, as after a corrected
 * SHOP_TIME_ZONE. If two shops number their orders by day, they have the same codes on the same days.
 */
export function isPushedDate(one: Date, pushed: Date): boolean {
  const quarterHourMs = 900_000;
  const offMs = Math.abs(one.getTime() - pushed.getTime()) % quarterHourMs;
  return isSameCreation(one, pushed) && Math.min(offMs, quarterHourMs - offMs) < 1000;
}

/**
 * Whether this is the shop of the orders in the warehouse: it shows one of a dozen pushed orders, the oldest, the
 * newest and some between, with the pushed date of creation. Another shop, or an empty copy, may have the same address,
 * so each process checks before it pushes orders.
 *
 * @returns how many orders were `asked` for. `verdict` unknown: no order was pushed yet, or none since a person said
 *   that the shop is the same; or the shop shows no readable date.
 */
export async function sameShop({ shop, db }: ShopDeps) {
  const pushed = await ordersOfAllAges(db);
  const dates = new Map(pushed.map(({ code, orderedAt }) => [code, orderedAt]));
  const shown = (await shop.orders([...dates.keys()])).flatMap(({ order }) => {
    const orderedAt = dates.get(order.code ?? '');
    return orderedAt ? [{ orderedAt, createdAt: new Date(order.created_at ?? '') }] : [];
  });
  const isFound = shown.some(({ orderedAt, createdAt }) => isPushedDate(createdAt, orderedAt));
  const isUndated = shown.length > 0 && shown.every(({ createdAt }) => Number.isNaN(createdAt.getTime()));
  const isUnknown = pushed.length === 0 || isUndated;
  const verdict: 'same' | 'other' | 'unknown' = isFound ? 'same' : isUnknown ? 'unknown' : 'other';
  return { verdict, asked: pushed.length };
}

/** @throws ReviewSyncError `other-shop` if the shop shows none of the pushed orders. */
export async function requireSameShop(deps: ShopDeps): Promise<void> {
  const problem = await otherShopProblem(deps);
  if (problem) throw problem;
}

/** Undefined if the shop is the same, or nobody knows. */
export async function otherShopProblem(deps: ShopDeps): Promise<ReviewSyncError | undefined> {
  const { verdict, asked } = await sameShop(deps);
  if (verdict !== 'other') return undefined;
  return new ReviewSyncError(
    'other-shop',
    `The shop of SHOP_DATABASE_URL shows none of ${counted(asked, 'order')} of all ages that ` +
      'were pushed before: it looks like another shop, or a copy without orders. No order is sent',
    {
      hint:
        'Correct SHOP_DATABASE_URL, SHOP_SQL_DIR or WAREHOUSE_DATABASE_URL: each shop has a warehouse of its own. ' +
        'If it is the same shop: review-sync migrate --same-shop if these orders were deleted there, --same-orders if ' +
        'their dates of creation changed.',
    },
  );
}

/**
 * Replaces the dates of creation of pushed orders by the shop's: a person says that they are the same orders. Reads
 * code and date of every order of the shop.
 *
 * @returns how many pushed orders had another date.
 */
export async function declareSameOrders({ shop, db }: ShopDeps): Promise<number> {
  let changed = 0;
  for (let after: OrderPosition | undefined = { at: '-infinity', code: '' }; after !== undefined; ) {
    const page = await shop.orderCodes({ axis: 'created', after, size: 5000 });
    const ofPage = await setCreations(db, page.keys);
    changed += ofPage;
    after = page.next;
  }
  return changed;
}
