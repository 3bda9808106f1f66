import { isSameCode } from '../../base/codes.ts';
import type { RawOrder } from '../../shop/orders.ts';
import type { Order } from '../../shop/rows.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { catalogLinks } from '../../warehouse/orders/catalog-links.ts';
import { alikeOrders, type OrderLink, orderLinks } from '../../warehouse/orders/order-links.ts';
import { productIds } from '../../warehouse/products.ts';
import { ageClock, type PushRights } from '../contact-rule.ts';
import { dayMs } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { alikeFault, type DesiredOrder, desiredOrder, orderDeadLetter, shownFor } from './desired-order.ts';
import { isNeverPushed } from './order-memory.ts';
import { type OrderPlan, type Planning, whyNothing } from './plan-order.ts';

/** Call it before the orders are read from the shop. */
export async function beginPlanning({ db, now }: OrderDeps, rights: PushRights): Promise<Planning> {
  const readAt = await warehouseNow(db);
  return { rights, readAt, now: ageClock(now, readAt) };
}

/**
 * An order of the shop, and what the warehouse remembers of it. `nothing`: why a run that reads the order sends nothing
 * of it. An order that cannot be read, or must not be sent, is a dead letter.
 */
export type ReadOrder = { code: string; link: OrderLink | undefined } & (
  | { order: DesiredOrder; nothing: OrderPlan['nothing']; deadLetter?: undefined }
  | { order?: undefined; nothing?: undefined; deadLetter?: NewDeadLetter }
);

/**
 * The orders of these codes. The change feed may write a code in another case or Unicode form than orders.sql, or with
 * spaces. Such an order is read by the code that the warehouse remembers. If it was never pushed, the nightly rescan
 * finds it.
 *
 * @returns `gone`: codes of orders that the shop does not show.
 */
export async function readSlice({ shop, db }: Pick<OrderDeps, 'shop' | 'db'>, codes: readonly string[]) {
  const raws = await shop.orders(codes);
  const found = new Set(raws.flatMap(({ order, asked = '' }) => [order.code, asked]));
  const missing = codes.filter((code) => !found.has(code));
  const known = (await alikeOrders(db, missing)).map(({ code }) => code);
  const others = await shop.orders(known.filter((code) => !codes.includes(code)));
  const isShown = (code: string) => [...raws, ...others].some(({ order }) => isSameCode(order.code ?? '', code));
  return {
    raws: [...raws, ...others.filter(({ order }) => !found.has(order.code))],
    gone: missing.filter((code) => !isShown(code)),
  };
}

/** The shop's rows as the service should have them, with the ids that are known so far. */
export async function readOrders({ db }: OrderDeps, raws: readonly RawOrder[], planning: Planning) {
  const productCodes = raws.flatMap(({ lines }) => lines.flatMap((line) => line.product_code ?? []));
  const products = await productIds(db, productCodes);
  const grades = new Map([...(await catalogLinks(db, 'user_grade'))].map(([code, { id }]) => [code, id]));
  const codeOf = ({ order }: RawOrder) => order.code ?? '';
  const links = await orderLinks(db, raws.map(codeOf));
  // If the shop deleted an order before its first push, it is never sent, and holds no other order back.
  const isDeleted = ({ order: { deleted_at: at } }: RawOrder) => at && !isLater(new Date(at), planning);
  const isNever = (raw: RawOrder) => isDeleted(raw) && isNeverPushed(links.get(codeOf(raw)));
  const alike = await alikeOrders(db, raws.filter((raw) => !isNever(raw)).map(codeOf));
  const alikeOf = Map.groupBy(alike, ({ orderCode }) => orderCode);
  return raws.map((raw): ReadOrder => {
    const code = codeOf(raw);
    const link = links.get(code);
    const order = desiredOrder(raw, products, grades, planning.rights.deletes, alikeOf.get(code));
    if (!('lines' in order)) return { code, link, deadLetter: order };
    const fault = otherOrderFault(order.order, link) ?? faultOf(order, link?.orderId ?? null, planning);
    if (fault === undefined) return { code, link, order, nothing: whyNothing(order, 'unknown', link, planning.rights) };
    return { code, link, deadLetter: orderDeadLetter(raw.order, fault, shownFor(order.alike)) };
  });
}

/**
 * Why an order is not sent:
 *
 * - `deleted_at` is in the future: the date may stand for "never", or for the end of a period.
 * - The service may take it for an earlier order, and has shown the earlier order for it, or has not accepted the
 *   earlier order yet. Otherwise its first request tells (planOrder).
 */
function faultOf({ alike, order: { deletedAt } }: DesiredOrder, id: number | null, planning: Planning) {
  if (deletedAt && isLater(deletedAt, planning))
    return (
      `deleted_at is in the future (${deletedAt.toISOString()}), expected the date of a deletion, or null: ` +
      'nothing of the order is sent, cleared or deleted'
    );
  const other = alike.find(({ orderId, shownCode }) => id !== null || orderId === null || shownCode !== null);
  return other && alikeFault(other.code);
}

/** The codes that the shop does not show. Codes are compared exactly: a column may ignore case. */
export async function missingInShop(
  shop: Pick<OrderDeps['shop'], 'orders'>,
  codes: readonly string[],
): Promise<string[]> {
  const found = new Set((await shop.orders(codes)).map(({ order }) => order.code));
  return codes.filter((code) => !found.has(code));
}

/** Whether two creation dates may belong to one order. A corrected SHOP_TIME_ZONE moves a date by less than a day. */
export const isSameCreation = (one: Date, other: Date): boolean => Math.abs(one.getTime() - other.getTime()) <= dayMs;

/**
 * Why the shop's order is not the order that the service has under the same code: the shop renumbered its orders, or
 * reused the number. Undefined: it is the same order, or the service has not accepted one yet.
 */
export function otherOrderFault({ createdAt }: Order, link: OrderLink | undefined): string | undefined {
  if (link === undefined || link.orderId === null || link.orderedAt === null) return undefined;
  if (isSameCreation(createdAt, link.orderedAt)) return undefined;
  return (
    `the shop's order of this code was created at ${createdAt.toISOString()}, the one that was pushed before at ` +
    `${link.orderedAt.toISOString()}: it is another order, and nothing of it is sent. ` +
    'If it is the same one, run: review-sync migrate --same-orders'
  );
}

/** Clocks and zones of two machines differ by less than a day. */
const isLater = (date: Date, { now }: Planning) => date.getTime() - now().getTime() > dayMs;
