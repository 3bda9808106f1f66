import type { ShopDatabase } from './open-database.ts';
import { readApart } from './read-apart.ts';
import type { RawRow } from './rows.ts';
import { rowsByKey, rowsOf, type ShopQuery, valuesOf } from './session.ts';
import { isUncomputable } from './shop-errors.ts';

/** A row of categories.sql or user_grades.sql. `fault`: it cannot be read, and why; then `row` has only its code. */
export type CatalogRow = { row: RawRow; fault?: string };

/** All rows of a query whose key is `code`: in bulk, and where some row cannot be computed, by code. */
export async function readCatalog({ read }: ShopDatabase, query: ShopQuery): Promise<CatalogRow[]> {
  const inRows = (rows: readonly RawRow[]): CatalogRow[] => rows.map((row) => ({ row }));
  try {
    return inRows(await read((session) => rowsOf(session, query)));
  } catch (error) {
    if (!isUncomputable(error)) throw error;
  }
  const codes = await read((session) => valuesOf(session, query, 'code'));
  const keyed = await readApart(
    codes,
    (some, seconds) =>
      read(async (session) => inRows([...(await rowsByKey(session, query, 'code', some)).values()].flat()), {
        seconds,
      }),
    (code, fault): CatalogRow => ({ row: { code }, fault }),
  );
  return [...keyed, ...inRows(await read((session) => rowsOf(session, query, 'where w.code is null limit 1000')))];
}
