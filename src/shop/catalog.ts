import type { ShopDatabase } from './open-database.ts';
import { readApart } from './read-apart.ts';
import type { RawRow } from './rows.ts';
import { rowsByKey, rowsOf, type ShopQuery, valuesOf } from './session.ts';
import { isUncomputable } from './shop-errors.ts';

/** A row of categories.sql or user_grades.sql. `fault`: why it cannot be read. If set, `row` has only its code. */
export type CatalogRow = { row: RawRow; fault?: string };

/** All rows of a query with the key `code`: in bulk, or by code if some row cannot be computed. */
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
