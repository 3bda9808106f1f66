import type { ShopDatabase } from './open-database.ts';
import type { SqlDialect } from './sql-text.ts';

/** A table or view that the user of SHOP_DATABASE_URL may read. */
export type ShopTable = {
  name: string;
  columns: readonly string[];
  /** The schema to write before its name; undefined if the plain name finds the table. */
  schema: string | undefined;
};

/** What init needs to know about a shop database. */
export type ShopTables = { dialect: SqlDialect; tables: ShopTable[] };

/** Reads names of tables and columns from `information_schema`, which shows what the user may read. */
export async function readTables({ words: { dialect }, read }: ShopDatabase): Promise<ShopTables> {
  const rows = await read(({ connection }) => connection.run(listing[dialect]));
  const tables = new Map<string, { schema: string | undefined; name: string; columns: string[] }>();
  for (const { schema_name: schema, table_name: name, column_name: column, is_found: isFound } of rows) {
    if (!schema || !name || !column) continue;
    const key = `${schema}.${name}`;
    const table = tables.get(key) ?? { name, columns: [], schema: isFound === '1' ? undefined : schema };
    table.columns.push(column);
    tables.set(key, table);
  }
  return { dialect, tables: [...tables.values()] };
}

/** `is_found`: 1 where a statement finds the table by its plain name. */
const listing: Readonly<Record<SqlDialect, string>> = {
  postgres: `
    select table_schema as schema_name, table_name, column_name,
      case when to_regclass(quote_ident(table_name)) = to_regclass(format('%I.%I', table_schema, table_name))
        then '1' else '0' end as is_found
    from information_schema.columns
    where table_schema not in ('pg_catalog', 'information_schema')`,
  mysql: `
    select table_schema as schema_name, table_name as table_name, column_name as column_name, '1' as is_found
    from information_schema.columns
    where table_schema = database()`,
};
