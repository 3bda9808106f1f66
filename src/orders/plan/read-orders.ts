import { isUsableCode } from '../../base/is-storable.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { normalCode, type Order } from '../../shop/rows.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { catalogLinks } from '../../warehouse/orders/catalog-links.ts';
import { alikeOrders, type OrderLink, orderLinks } from '../../warehouse/orders/order-links.ts';
import { productIds } from '../../warehouse/orders/products.ts';
import type { PushRights } from '../contact-rule.ts';
import { type DesiredOrder, desiredOrder, orderDeadLetter } from './desired-order.ts';
import { isNeverPushed } from './order-memory.ts';

/**
 * An order of the shop, and what is remembered of it. `code`: as its row shows it. An order that cannot be read, or must not
 * be sent, is a dead letter; `isOther`: it is another order than the one that was pushed under its code.
 */
export type ReadOrder = { code: string; raw: RawOrder; link: OrderLink | undefined } & (
  | { order: DesiredOrder; deadLetter?: undefined; isOther: false }
  | { order?: undefined; deadLetter: NewDeadLetter; isOther: boolean }
);

/** The shop's rows as the service should have them, with the ids that are known so far. */
export async function readOrders(
  { db }: { db: Db },
  raws: readonly RawOrder[],
  { deletes }: Pick<PushRights, 'deletes'>,
): Promise<ReadOrder[]> {
  const codes = raws.flatMap((raw) => raw.lines.flatMap((line) => normalCode(line.product_code ?? undefined) ?? []));
  const products = await productIds(db, [...new Set(codes.filter(isUsableCode))]);
  const grades = new Map([...(await catalogLinks(db, 'user_grade'))].map(([code, { id }]) => [code, id]));
  const asked = raws.map(({ order }) => order.code ?? '');
  const links = await orderLinks(db, asked);
  const alike = await alikeOrders(
    db,
    asked.filter((code) => links.get(code)?.orderId == null),
  );
  return raws.map((raw, at): ReadOrder => {
    const code = asked[at] as string;
    const own = { code, raw, link: links.get(code) };
    const order = desiredOrder(raw, products, grades, deletes);
    if (!('lines' in order)) return { ...own, deadLetter: order, isOther: false };
    const isGone = order.order.deletedAt !== undefined && isNeverPushed(own.link);
    const other = isGone ? undefined : alike.get(code);
    const otherFault = otherOrderFault(order.order, own.link);
    const fault = otherFault ?? (other === undefined ? undefined : alikeFault(other));
    if (fault === undefined) return { ...own, order, isOther: false };
    return { ...own, deadLetter: orderDeadLetter(raw.order, fault), isOther: otherFault !== undefined };
  });
}

/** Two orders of the shop may be one at the service: the later one is not sent (promise 2). */
const alikeFault = (other: string) =>
  `a service may hold this code and ${JSON.stringify(other)} for one, which differ only in case, spaces, accents or Unicode ` +
  'form: nothing of this order is sent. Let orders.sql give one of them a code that differs otherwise';

/** The codes that the shop does not show. Codes are compared exactly: a column may ignore case. */
export async function missingInShop(shop: Pick<Shop, 'orders'>, codes: readonly string[]): Promise<string[]> {
  if (codes.length === 0) return [];
  const found = new Set((await shop.orders(codes)).map(({ order }) => order.code));
  return codes.filter((code) => !found.has(code));
}

const dayMs = 86_400_000;

/** Whether two dates of creation are those of one order. A corrected SHOP_TIME_ZONE moves a date by less than a day. */
export const isSameCreation = (one: Date, other: Date): boolean => Math.abs(one.getTime() - other.getTime()) <= dayMs;

/**
 * Why the shop's order is another one than the order of the same code that the service has: the shop was numbered again, or
 * has used the number again. Undefined: it is the same one, or the service has not accepted one yet.
 */
export function otherOrderFault({ createdAt }: Order, link: OrderLink | undefined): string | undefined {
  if (link === undefined || link.orderId === null || link.orderedAt === null) return undefined;
  if (isSameCreation(createdAt, link.orderedAt)) return undefined;
  return (
    `the shop's order of this code was created at ${createdAt.toISOString()}, the one that was pushed before at ` +
    `${link.orderedAt.toISOString()}: it is another order, and nothing of it is sent. ` +
    `If it is the same one, run: ${sameOrders}`
  );
}

/** The command by which a person says that the shop's dates are right. */
export const sameOrders = 'review-sync migrate --same-orders';
