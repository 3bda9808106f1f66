import { computed, readByKey } from './read-by-key.ts';
import type { RawRow } from './rows.ts';
import { allRows, attempt, rowsWithout, type ShopQuery, type ShopSession, valuesOf } from './session.ts';

/** A row of categories.sql or user_grades.sql. `fault`: it cannot be read, and why; `row` holds what could be read. */
export type CatalogRow = { row: RawRow; fault?: string };

/** All rows of a query whose key is `code`: in bulk, and where some row cannot be computed, by code. */
export async function readCatalog(session: ShopSession, query: ShopQuery): Promise<CatalogRow[]> {
  const all = await attempt(session, () => allRows(session, query));
  if ('value' in all) return all.value.map((row) => ({ row }));
  const codes = await computed(session, query, () => valuesOf(session, query, 'code'));
  const found = await readByKey(session, query, 'code', [...new Set(codes)]);
  const codeless = await attempt(session, () => rowsWithout(session, query, 'code', 1000));
  const keyed = found.flatMap(({ key, rows, fault }): CatalogRow[] =>
    fault === undefined ? rows.map((row) => ({ row })) : [{ row: { ...rows[0], code: rows[0]?.code ?? key }, fault }],
  );
  if ('value' in codeless) return [...keyed, ...codeless.value.map((row) => ({ row }))];
  const fault = `${query.name}.sql: a row without code cannot be read: ${codeless.dataFault}`;
  return [...keyed, { row: { code: null }, fault }];
}
