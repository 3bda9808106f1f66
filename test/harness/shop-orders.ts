/** A line as a row of the shop's table `l`. A column that is left out has the default of `orderShopSchema`. */
export type ShopLine = { line_code: string; product_id?: number; product_code?: string } & LineFields;
type LineFields = { price?: number; status?: string; invoice?: string; product_options?: Record<string, string> };

/** An order as a row of the shop's table `o`, with its lines. */
export type ShopOrder = { fields: { code: string } & OrderFields; lines: readonly ShopLine[] };
type OrderFields = { total_price?: number; user_code?: string; user_email?: string; user_phone?: string } & OrderDates;
type OrderDates = { created_at?: Date; updated_at?: Date };

/**
 * An order of the shop with its lines, for `OrderWorld.place`:
 *
 *     await world.place(order('A', line('1', 7)), order('B', { user_email: 'b@example.com' }));
 */
export function order(code: string, ...rest: [OrderFields, ...ShopLine[]] | ShopLine[]): ShopOrder {
  const [first, ...others] = rest;
  if (first === undefined || 'line_code' in first) return { fields: { code }, lines: rest as ShopLine[] };
  return { fields: { code, ...first }, lines: others as ShopLine[] };
}

/** @param product its id at the service as a number, or its code in the shop as a text. */
export function line(code: string, product: number | string, more: LineFields = {}): ShopLine {
  const which = typeof product === 'number' ? { product_id: product } : { product_code: product };
  return { line_code: code, ...which, ...more };
}

/** Orders O1, O2 … with the lines 1, 2 …; all lines of order O7 are of product 7. @param lines how many order n has. */
export const orders = (count: number, lines: (n: number) => number = () => 1): ShopOrder[] =>
  Array.from({ length: count }, (_, index) => {
    const n = index + 1;
    return order(`O${n}`, ...Array.from({ length: lines(n) }, (_, at) => line(`${at + 1}`, n)));
  });

/** One statement that inserts the orders and their lines, with its values. */
export function insertOf(placed: readonly ShopOrder[]): [text: string, values: string[]] {
  const rows = placed.map(({ fields }) => fields);
  const lines = placed.flatMap(({ fields, lines }) => lines.map((one) => ({ order_code: fields.code, ...one })));
  const parts = [...byColumns('o', rows), ...byColumns('l', lines)];
  const inserts = parts.map(
    ({ table, columns }, index) =>
      `i${index} as (insert into ${table} (${columns})
        select ${columns} from jsonb_populate_recordset(null::${table}, $${index + 1}))`,
  );
  return [`with ${inserts.join(', ')} select`, parts.map(({ alike }) => JSON.stringify(alike))];
}

/** Rows with the same columns are one insert, since a column that is named has no default. */
const byColumns = (table: 'o' | 'l', rows: readonly object[]) =>
  [...Map.groupBy(rows, (row) => Object.keys(row).join(', '))].map(([columns, alike]) => ({ table, columns, alike }));
