import type { FoundColumn } from './driver.ts';
import { type Column, type ColumnKind, contract, type QueryName } from './rows.ts';
import type { SqlDialect } from './sql-text.ts';

const postgresTexts = ['text', 'varchar', 'bpchar', 'citext', 'name'] as const;
const postgresIntegers = ['int8', 'int4', 'int2'];
/** `json` is not listed: a text within JSON comes with its quotes. */
const mysqlTexts = ['varchar', 'char', 'text', 'enum', 'set'] as const;
const mysqlIntegers = ['int', 'bigint', 'mediumint', 'smallint', 'tinyint', 'year'] as const;

/**
 * The database types that fit a kind. The first is the type to cast to. An integer key is compared as an integer, so
 * that its index serves.
 */
const typesOf: Readonly<Record<SqlDialect, Readonly<Record<ColumnKind, readonly [string, ...string[]]>>>> = {
  postgres: {
    key: [...postgresTexts, ...postgresIntegers, 'uuid'],
    text: postgresTexts,
    timestamptz: ['timestamptz', 'timestamp'],
    numeric: ['numeric', ...postgresIntegers],
    integer: ['integer', ...postgresIntegers],
    bigint: ['bigint', ...postgresIntegers],
    jsonb: ['jsonb', 'json'],
  },
  mysql: {
    key: [...mysqlTexts, ...mysqlIntegers],
    text: mysqlTexts,
    timestamptz: ['datetime', 'timestamp'],
    numeric: ['decimal', ...mysqlIntegers],
    integer: mysqlIntegers,
    bigint: ['bigint', ...mysqlIntegers],
    // MariaDB's JSON is text. If the text is not JSON, that is a fault of its row.
    jsonb: ['json', ...mysqlTexts],
  },
};

/**
 * What is wrong with a query's columns, one sentence each: missing, of a wrong type, or not in the contract.
 *
 * @param found the query's columns with the names of their database types.
 * @param hasFeed whether changed_orders.sql exists. If it does, orders.sql needs no updated_at.
 */
export function columnFaults(
  query: QueryName,
  found: readonly FoundColumn[],
  { hasFeed, dialect }: { hasFeed: boolean; dialect: SqlDialect },
): string[] {
  const file = `${query}.sql`;
  const faults: string[] = [];
  for (const column of contract[query]) {
    const same = found.filter(({ name }) => name === column.name);
    if (same.length > 1) faults.push(`${file}: column ${column.name} is there ${same.length} times; select it once`);
    const type = same[0]?.typeName;
    const types = typesOf[dialect][column.kind];
    if (type === undefined) {
      const isDate = query === 'orders' && column.name === 'updated_at';
      const hint = isDate ? 'select it, or write changed_orders.sql' : 'select it';
      if (column.required && !(isDate && hasFeed)) {
        faults.push(`${file}: column ${column.name} (${types[0]}) is missing; ${hint}`);
      }
      // `null as invoice` has a type of its own in MySQL.
    } else if (!types.includes(type) && (type !== 'null' || column.required)) {
      const hint = castHints[dialect](column, type);
      faults.push(`${file}: column ${column.name} is of type ${type}, expected ${types[0]}; ${hint}`);
    }
  }
  for (const { name } of found) {
    if (contract[query].some((column) => column.name === name)) continue;
    const known = contract[query].map((column) => column.name).join(', ');
    faults.push(`${file}: column ${name} is not of the contract; leave it out (known: ${known})`);
  }
  if (query === 'order_lines' && !found.some(({ name }) => name === 'product_id' || name === 'product_code')) {
    faults.push(`${file}: column product_id (bigint) or product_code (text) is missing; select one of them`);
  }
  return faults;
}

/** MySQL and MariaDB write each cast in another way: docs/connecting.md lists them. */
const castHints: Readonly<Record<SqlDialect, (column: Column, type: string) => string>> = {
  // As timestamptz, a day would be midnight in the zone of the session. Cast to a text, JSON keeps its quotes.
  postgres: ({ name, kind }, type) =>
    /^jsonb?$/.test(type)
      ? 'write ->> in place of ->'
      : `cast it: ${name}::${type === 'date' ? 'timestamp' : typesOf.postgres[kind][0]}`,
  mysql: () => 'docs/connecting.md says what to write ("MySQL and MariaDB", dates and types)',
};
