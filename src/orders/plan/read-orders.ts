import { isUsableCode } from '../../base/is-storable.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { normalCode } from '../../shop/rows.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { catalogLinks } from '../../warehouse/orders/catalog-links.ts';
import { type OrderLink, orderLinks } from '../../warehouse/orders/order-links.ts';
import { productIds } from '../../warehouse/orders/products.ts';
import type { PushRights } from '../contact-rule.ts';
import { type DesiredOrder, desiredOrder, orderDeadLetter } from './desired-order.ts';
import { otherOrderFault } from './same-order.ts';

export type ReadOrders = {
  orders: DesiredOrder[];
  deadLetters: NewDeadLetter[];
  /** What is remembered of the orders, by the codes that their rows show. */
  links: ReadonlyMap<string, OrderLink>;
  /** Codes of the dead letters that are other orders than those pushed under these codes (otherOrderFault). */
  otherOrders: string[];
};

/**
 * The shop's rows as the service should have them, with the ids that are known so far. Orders that cannot be read, and
 * other orders than those that were pushed under their codes, are dead letters.
 */
export async function desiredOrders(
  { db }: { db: Db },
  raws: readonly RawOrder[],
  { deletes }: Pick<PushRights, 'deletes'>,
): Promise<ReadOrders> {
  const codes = raws.flatMap((raw) => raw.lines.flatMap((line) => normalCode(line.product_code ?? undefined) ?? []));
  const products = await productIds(db, [...new Set(codes.filter(isUsableCode))]);
  const grades = new Map([...(await catalogLinks(db, 'user_grade'))].map(([code, { id }]) => [code, id]));
  const links = await orderLinks(
    db,
    raws.flatMap(({ order }) => order.code ?? []),
  );
  const read: ReadOrders = { orders: [], deadLetters: [], links, otherOrders: [] };
  for (const raw of raws) {
    const one = desiredOrder(raw, products, grades, deletes);
    const otherOrder = 'lines' in one ? otherOrderFault(one.order, links.get(one.code)) : undefined;
    if (otherOrder !== undefined) {
      read.otherOrders.push(raw.order.code ?? '');
      read.deadLetters.push(orderDeadLetter(raw.order, otherOrder));
    } else if ('lines' in one) read.orders.push(one);
    else read.deadLetters.push(one);
  }
  return read;
}

/** Those of the codes that the shop does not show. Codes are compared exactly: a column may ignore case. */
export async function missingInShop(shop: Pick<Shop, 'orders'>, codes: readonly string[]): Promise<string[]> {
  if (codes.length === 0) return [];
  const found = new Set((await shop.orders(codes)).map(({ order }) => order.code));
  return codes.filter((code) => !found.has(code));
}
