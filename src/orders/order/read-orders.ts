import { isUsableCode } from '../../base/is-storable.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { catalogLinks } from '../../warehouse/orders/catalog-links.ts';
import { productIds } from '../../warehouse/orders/products.ts';
import type { PushRights } from '../contact-rule.ts';
import { type DesiredOrder, desiredOrder } from './desired-order.ts';

export type ReadOrders = { orders: DesiredOrder[]; deadLetters: NewDeadLetter[] };

/**
 * The shop's rows as the service should have them, with the ids that are known so far. Orders that cannot be read are
 * dead letters.
 */
export async function desiredOrders(
  { db }: { db: Db },
  raws: readonly RawOrder[],
  { deletes }: Pick<PushRights, 'deletes'>,
): Promise<ReadOrders> {
  const codes = raws.flatMap((raw) => raw.lines.map((line) => line.product_code));
  const products = await productIds(db, [...new Set(codes.filter(isUsableCode))]);
  const grades = new Map([...(await catalogLinks(db, 'user_grade'))].map(([code, { id }]) => [code, id]));
  const facts = { products, grades, deletes };
  const read: ReadOrders = { orders: [], deadLetters: [] };
  for (const raw of raws) {
    const one = desiredOrder(raw, facts);
    if ('lines' in one) read.orders.push(one);
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
