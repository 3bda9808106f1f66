/** The kinds of column of the contract, each with the database types that carry it. */
const kinds = {
  /** A code. Whole numbers and uuids are compared as such, so that their index serves, and become text. */
  key: ['text', 'varchar', 'bpchar', 'citext', 'name', 'int8', 'int4', 'int2', 'uuid'],
  text: ['text', 'varchar', 'bpchar', 'citext', 'name'],
  /** A date without zone is read in SHOP_TIME_ZONE. */
  timestamptz: ['timestamptz', 'timestamp'],
  numeric: ['numeric', 'int8', 'int4', 'int2'],
  integer: ['int4', 'int2', 'int8'],
  bigint: ['int8', 'int4', 'int2'],
  jsonb: ['jsonb', 'json'],
} as const;

export type ColumnKind = keyof typeof kinds;
export type Column = Readonly<{ name: string; kind: ColumnKind; required: boolean }>;

export type QueryName = 'orders' | 'order_lines' | 'changed_orders' | 'categories' | 'user_grades';

const columns = (required: Record<string, ColumnKind>, optional: Record<string, ColumnKind>): readonly Column[] => [
  ...Object.entries(required).map(([name, kind]) => ({ name, kind, required: true })),
  ...Object.entries(optional).map(([name, kind]) => ({ name, kind, required: false })),
];

/** CONTRACT, "Shop queries". */
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
  found: readonly { name: string; type: string }[],
  hasFeed = false,
): string[] {
  const file = `${query}.sql`;
  const faults: string[] = [];
  for (const column of contract[query]) {
    const same = found.filter(({ name }) => name === column.name);
    if (same.length > 1) faults.push(`${file}: column ${column.name} is there ${same.length} times; select it once`);
    const first = same[0];
    if (!first) {
      const isReplaced = hasFeed && query === 'orders' && column.name === 'updated_at';
      if (column.required && !isReplaced) {
        faults.push(`${file}: column ${column.name} (${shownKind(column)}) is missing; ${missingHint(query, column)}`);
      }
    } else if (!kinds[column.kind].some((type) => type === first.type)) {
      faults.push(
        `${file}: column ${column.name} is of type ${first.type}, expected ${shownKind(column)}; ${castHint(column, first.type)}`,
      );
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

function castHint(column: Column, type: string): string {
  if (column.kind === 'timestamptz' && type === 'date')
    return `cast it: ${column.name}::timestamp; it is then midnight in SHOP_TIME_ZONE`;
  return `cast it: ${column.name}::${shownKind(column)}`;
}

const shownKind = ({ kind }: Column) => (kind === 'key' ? 'text' : kind);

function missingHint(query: QueryName, { name }: Column): string {
  if (query === 'orders' && name === 'updated_at') return 'select it, or write changed_orders.sql';
  return 'select it';
}
