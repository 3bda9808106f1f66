import { isUsableCode, normalText } from '../base/codes.ts';
import { type Db, listOf, rowsOf, scalarOf, type Warehouse } from './index.ts';
import { waitingLinesOf } from './orders/due-orders.ts';

/** Stores the products of reviews or of an order list's sub-orders. If a code has several ids, the highest counts. */
export async function learnProducts(
  warehouse: Warehouse,
  records: Iterable<{ product_code: string | null; product_id: number | null }>,
): Promise<void> {
  const { knownProducts } = warehouse;
  const pairs = new Map<string, number>();
  for (const { product_code: written, product_id: id } of records) {
    if (!isUsableCode(written) || !id) continue;
    const code = normalText(written);
    const higher = pairs.get(code) ?? knownProducts.get(code);
    if (higher === undefined || id > higher) pairs.set(code, id);
  }
  if (pairs.size === 0) return;
  const rows = [...pairs].map(([product_code, product_id]) => ({ product_code, product_id }));
  await rowsOf(warehouse.db, 'learn_products', JSON.stringify(rows));
  for (const [code, id] of pairs) knownProducts.set(code, id);
}

/** How many product codes without a known id order lines wait for. */
export const awaitedProducts = (db: Db) =>
  scalarOf<number>(db)`
    select count(distinct w.product_code) from (${waitingLinesOf}) as w
    where not exists (select from sync.product_links p where p.product_code = w.product_code)`;

/** The known product ids of the service by the shop's product code in its stored form. */
export async function productIds(db: Db, written: readonly string[]): Promise<Map<string, number>> {
  const codes = [...new Set(written.filter(isUsableCode).map(normalText))];
  if (codes.length === 0) return new Map();
  const rows = await listOf<{ code: string; id: number }>(db)`
    select product_code as code, product_id as id from sync.product_links where product_code = any(${codes})`;
  return new Map(rows.map(({ code, id }) => [code, id]));
}
