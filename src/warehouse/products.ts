import { CompiledQuery, sql } from 'kysely';
import type { Db, Warehouse } from './index.ts';

/** Anything that may tell a product's two names: a review, a sub-order of an order list. */
type MayTell = { product_code?: unknown; product_id?: unknown } | null;

/** Learns which product ids the records pair with the shop's codes. */
export async function learnProducts(warehouse: Warehouse, records: Iterable<MayTell>): Promise<void> {
  const { knownProducts } = warehouse;
  const pairs = new Map<string, number>();
  for (const record of records) {
    const { product_code: code, product_id: id } = record ?? {};
    if (typeof code !== 'string' || !isStorable(code) || !Number.isSafeInteger(id)) continue;
    if (knownProducts.get(code) !== id) pairs.set(code, id as number);
  }
  if (pairs.size === 0) return;
  const rows = [...pairs].map(([product_code, product_id]) => ({ product_code, product_id }));
  await warehouse.db.executeQuery(CompiledQuery.raw(warehouse.statements.learnProducts, [JSON.stringify(rows)]));
  for (const [code, id] of pairs) knownProducts.set(code, id);
}

/** Whether Postgres can hold the text, and its index, too. */
const isStorable = (code: string) =>
  code !== '' && code.length <= 500 && code.isWellFormed() && !code.includes('\u0000');

/** Codes of products for which order lines wait and whose id is not known. */
export async function awaitedProducts(db: Db): Promise<Set<string>> {
  const { rows } = await sql<{ code: string }>`
    select distinct d.payload ->> 'product_code' as code
    from sync.dead_letters d
    where d.kind = 'order_line' and d.resolved_at is null
      and d.payload ->> 'product_code' <> '' and d.payload ->> 'product_id' is null
      and not exists (select from sync.product_links p where p.product_code = d.payload ->> 'product_code')
  `.execute(db);
  return new Set(rows.map((row) => row.code));
}

/** Those of the service's product ids that a review or an order has named. */
export async function knownProductIds(db: Db, ids: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ product_id: number }>`
    select distinct product_id from sync.product_links where product_id = any(${ids}::bigint[]) order by 1`.execute(db);
  return rows.map((row) => row.product_id);
}
