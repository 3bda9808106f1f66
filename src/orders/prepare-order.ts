import type { RawOrder } from '../shop/orders.ts';
import { type Order, type RawRow, readOrder, readOrderLine } from '../shop/rows.ts';
import { keyOf, type NewDeadLetter } from '../warehouse/dead-letters.ts';
import type { Line } from './diff-sub-orders.ts';
import { subOrderBody } from './order-body.ts';

/** An order as it can be pushed now. */
export type PreparedOrder = {
  order: Order;
  lines: Line[];
  /** Lines that cannot be pushed now; their sub-orders stay as they are. */
  held: (NewDeadLetter & { lineCode: string })[];
};

/** What the shop gave, checked against the contract; `products` are the service's ids that are known so far. */
export function prepareOrder(raw: RawOrder, products: ReadonlyMap<string, number>): PreparedOrder | NewDeadLetter {
  if (raw.fault !== undefined) return orderLetter(raw.order, raw.fault);
  const read = readOrder(raw.order);
  if ('fault' in read) return orderLetter(raw.order, read.fault);
  const prepared: PreparedOrder = { order: read.row, lines: [], held: [] };
  const seen = new Set<string>();
  for (const rawLine of raw.lines) {
    const line = readOrderLine(rawLine);
    const lineCode = rawLine.line_code ?? '';
    const fault =
      'fault' in line ? line.fault : seen.has(lineCode) ? 'line_code is there twice in its order' : undefined;
    seen.add(lineCode);
    const productId = 'row' in line ? (line.row.productId ?? products.get(line.row.productCode ?? '')) : undefined;
    if (fault !== undefined || 'fault' in line) hold(prepared, rawLine, fault ?? '');
    else if (productId === undefined) hold(prepared, rawLine, unknownProduct);
    else prepared.lines.push({ lineCode, content: subOrderBody(line.row, productId) });
  }
  return prepared;
}

/** The letter of an order that no walk can meet or that breaks the contract. */
export function orderLetter(raw: RawRow, reason: string): NewDeadLetter {
  return { kind: 'order', key: raw.code || keyOf(raw), reason, payload: raw };
}

export const lineKey = (orderCode: string, lineCode: string) => `${orderCode}/${lineCode}`;

/** The reason names no code, so that four hundred lines with this one cause read as one. */
const unknownProduct =
  'the service is not known to have the product yet: no review or order has told its product_id for this product_code';

function hold(prepared: PreparedOrder, raw: RawRow, reason: string): void {
  const code = raw.line_code || keyOf(raw);
  // Of two lines with one code the first is pushed: the second must neither hide it nor hold it back.
  const lineCode = prepared.lines.some((line) => line.lineCode === code) ? `${code}#2` : code;
  prepared.held.push({
    kind: 'order_line',
    key: lineKey(prepared.order.code, lineCode),
    reason,
    payload: raw,
    lineCode,
  });
}
