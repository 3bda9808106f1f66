import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { isUsableCode } from '../../shop/rows.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { catalogLinks } from '../../warehouse/orders/catalog-links.ts';
import { orderLinks } from '../../warehouse/orders/order-links.ts';
import { productIds } from '../../warehouse/orders/products.ts';
import { type DesiredOrder, desiredOrder } from './desired-order.ts';

export type ReadOrders = { orders: DesiredOrder[]; deadLetters: NewDeadLetter[] };

/**
 * The shop's rows as the service should have them, with the ids that are known so far. Orders that cannot be read are
 * dead letters.
 */
export async function desiredOrders(
  { db, deletes }: { db: Db; deletes: 'off' | 'send' },
  raws: readonly RawOrder[],
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

/**
 * The order that a person asks for. Where the shop's column ignores case, the shop gives the order `a1` for `A1`: then
 * the order is called by the shop's own code from here on. If `A1` was pushed too, it is another order, and the shop no
 * longer has it.
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

/** Those of the codes that the shop does not show. Codes are compared exactly, see findInShop. */
export async function missingInShop(shop: Pick<Shop, 'orders'>, codes: readonly string[]): Promise<string[]> {
  if (codes.length === 0) return [];
  const found = new Set((await shop.orders(codes)).map(({ order }) => order.code));
  return codes.filter((code) => !found.has(code));
}
