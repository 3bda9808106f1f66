/** The kinds of column of the contract, each with the Postgres types that carry it. */
const kinds = {
  text: ['text', 'varchar', 'bpchar', 'citext', 'name'],
  timestamptz: ['timestamptz'],
  numeric: ['numeric', 'int8', 'int4', 'int2'],
  integer: ['int4', 'int2'],
  bigint: ['int8', 'int4', 'int2'],
  jsonb: ['jsonb', 'json'],
} as const;

export type ColumnKind = keyof typeof kinds;
export type Column = Readonly<{ name: string; kind: ColumnKind; required: boolean }>;

export type QueryName = 'orders' | 'order_lines' | 'categories' | 'user_grades';

const columns = (required: Record<string, ColumnKind>, optional: Record<string, ColumnKind>): readonly Column[] => [
  ...Object.entries(required).map(([name, kind]) => ({ name, kind, required: true })),
  ...Object.entries(optional).map(([name, kind]) => ({ name, kind, required: false })),
];

/** CONTRACT, "Shop queries". */
export const contract: Readonly<Record<QueryName, readonly Column[]>> = {
  orders: columns(
    { code: 'text', created_at: 'timestamptz', updated_at: 'timestamptz', total_price: 'numeric' },
    {
      user_code: 'text',
      user_name: 'text',
      user_phone: 'text',
      user_email: 'text',
      user_grade_code: 'text',
      store_name: 'text',
      order_device: 'text',
      mileage: 'integer',
      deleted_at: 'timestamptz',
    },
  ),
  order_lines: columns(
    { order_code: 'text', line_code: 'text', price: 'numeric' },
    {
      product_id: 'bigint',
      product_code: 'text',
      status: 'text',
      delivery_started_at: 'timestamptz',
      delivered_at: 'timestamptz',
      invoice: 'text',
      delivery_service: 'text',
      product_options: 'jsonb',
    },
  ),
  categories: columns({ code: 'text', name: 'text' }, { parent_code: 'text', status: 'text' }),
  user_grades: columns({ code: 'text', name: 'text' }, { icon_url: 'text' }),
};

/**
 * What is wrong with a query's columns, a sentence each: missing, of a wrong type, or not of the contract.
 *
 * @param found the query's columns with the names of their Postgres types.
 */
export function columnFaults(query: QueryName, found: readonly { name: string; type: string }[]): string[] {
  const file = `${query}.sql`;
  const faults: string[] = [];
  for (const column of contract[query]) {
    const same = found.filter(({ name }) => name === column.name);
    if (same.length > 1) faults.push(`${file}: column ${column.name} is there ${same.length} times; select it once`);
    const first = same[0];
    if (!first) {
      if (column.required) faults.push(`${file}: column ${column.name} (${column.kind}) is missing; select it`);
    } else if (!kinds[column.kind].some((type) => type === first.type)) {
      faults.push(
        `${file}: column ${column.name} is of type ${first.type}, expected ${column.kind}; ${mend(column, first.type)}`,
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

function mend(column: Column, type: string): string {
  if (column.kind === 'timestamptz' && type === 'timestamp') {
    return `say which zone it is in: ${column.name} at time zone 'Asia/Seoul'`;
  }
  if (column.kind === 'timestamptz' && type === 'date')
    return `cast it: ${column.name}::timestamp at time zone 'Asia/Seoul'`;
  return `cast it: ${column.name}::${column.kind}`;
}
