import type { FoundColumn } from './driver.ts';
import type { SqlDialect } from './sql-text.ts';

/** What a column of the contract holds. A date without zone is read in SHOP_TIME_ZONE. */
export type ColumnKind = 'key' | 'text' | 'timestamptz' | 'numeric' | 'integer' | 'bigint' | 'jsonb';

const postgresTexts = ['text', 'varchar', 'bpchar', 'citext', 'name'] as const;
const postgresIntegers = ['int8', 'int4', 'int2'];
/** Not json: a text within JSON comes with its quotes. */
const mysqlTexts = ['varchar', 'char', 'text', 'enum', 'set'] as const;
const mysqlIntegers = ['int', 'bigint', 'mediumint', 'smallint', 'tinyint', 'year'] as const;

/**
 * The types of the database that carry a kind; the first is the one to cast to. A key of whole numbers is compared as such,
 * so that its index serves.
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
    // JSON of MariaDB is a text; a text that is not JSON is a fault of its row.
    jsonb: ['json', ...mysqlTexts],
  },
};

export type Column = Readonly<{ name: string; kind: ColumnKind; required: boolean }>;

export type QueryName = 'orders' | 'order_lines' | 'changed_orders' | 'categories' | 'user_grades';

const columns = (required: Record<string, ColumnKind>, optional: Record<string, ColumnKind>): readonly Column[] => [
  ...Object.entries(required).map(([name, kind]) => ({ name, kind, required: true })),
  ...Object.entries(optional).map(([name, kind]) => ({ name, kind, required: false })),
];

/** The columns of each shop query (docs/connecting.md). */
export const contract: Readonly<Record<QueryName, readonly Column[]>> = {
  orders: columns(
    { code: 'key', created_at: 'timestamptz', updated_at: 'timestamptz', total_price: 'numeric' },
    {
      user_code: 'key',
      user_name: 'text',
      user_phone: 'text',
      user_email: 'text',
      user_grade_code: 'key',
      store_name: 'text',
      order_device: 'text',
      mileage: 'integer',
      deleted_at: 'timestamptz',
    },
  ),
  order_lines: columns(
    { order_code: 'key', line_code: 'key', price: 'numeric' },
    {
      product_id: 'bigint',
      product_code: 'key',
      status: 'text',
      delivery_started_at: 'timestamptz',
      delivered_at: 'timestamptz',
      invoice: 'text',
      delivery_service: 'text',
      product_options: 'jsonb',
    },
  ),
  changed_orders: columns({ code: 'key', changed_at: 'timestamptz' }, {}),
  categories: columns({ code: 'key', name: 'text' }, { parent_code: 'key', status: 'text' }),
  user_grades: columns({ code: 'key', name: 'text' }, { icon_url: 'text' }),
};

/**
 * What is wrong with a query's columns, one sentence each: missing, of a wrong type, or not in the contract.
 *
 * @param found the query's columns with the names of their database types.
 * @param hasFeed whether there is a changed_orders.sql: then orders.sql needs no updated_at.
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

const castHints: Readonly<Record<SqlDialect, (column: Column, type: string) => string>> = {
  postgres: ({ name, kind }, type) =>
    kind === 'timestamptz' && type === 'date'
      ? `cast it: ${name}::timestamp; it is then midnight in SHOP_TIME_ZONE`
      : `cast it: ${name}::${typesOf.postgres[kind][0]}`,
  mysql({ name, kind }, type) {
    if (kind === 'timestamptz' && type === 'date')
      return `cast it: cast(${name} as datetime); it is then midnight in SHOP_TIME_ZONE`;
    if (kind === 'timestamptz') return 'select the column as it is';
    if (kind === 'numeric') return `cast it: cast(${name} as decimal(20, 2))`;
    if (kind === 'integer' || kind === 'bigint') return `cast it: cast(${name} as signed)`;
    if (type === 'binary' || type === 'varbinary') return `write it as text: lower(hex(${name}))`;
    if (type === 'json') return `take the text out of the JSON: json_unquote(${name})`;
    return `cast it: cast(${name} as char)`;
  },
};
