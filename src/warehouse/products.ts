import { CompiledQuery, sql } from 'kysely';
import type { Db, Statements } from './index.ts';

/** Anything that may tell a product's two names: a review, a sub-order of an order list. */
type MayTell = { product_code?: unknown; product_id?: unknown } | null;

/**
 * Learns which product ids the records pair with the shop's codes. In a transaction of its own, one statement: held
 * until a window is landed, its locks on products that every window has would make windows wait for each other.
 */
export async function learnProducts(db: Db, statements: Statements, records: Iterable<MayTell>): Promise<void> {
  const pairs = new Map<string, number>();
  for (const record of records) {
    const { product_code: code, product_id: id } = record ?? {};
    if (typeof code === 'string' && code !== '' && Number.isSafeInteger(id)) pairs.set(code, id as number);
  }
  if (pairs.size === 0) return;
  const rows = [...pairs].map(([product_code, product_id]) => ({ product_code, product_id }));
  await db.executeQuery(CompiledQuery.raw(statements.learnProducts, [JSON.stringify(rows)]));
}

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
