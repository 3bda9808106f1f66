import type { RawOrder } from '../../shop/orders.ts';
import { table } from './table.ts';

/** The shop's rows of one order: its fields, then its lines with every column that has a value. */
export function shopRows({ order, lines }: RawOrder): string {
  const fields = Object.entries(order).filter((entry): entry is [string, string] => entry[1] !== null);
  const columns = [...new Set(lines.flatMap((line) => Object.keys(line)))].filter(
    (name) => name !== 'order_code' && lines.some((line) => line[name] !== null),
  );
  const rows = lines.map((line) => columns.map((name) => line[name] ?? ''));
  return [table(['field', 'value'], fields), rows.length > 0 ? table(columns, rows) : 'no lines'].join('\n');
}
