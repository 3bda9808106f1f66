import type { RawOrder } from '../../shop/orders.ts';
import {
  isStorable,
  isTooLong,
  isUsableCode,
  type Order,
  type RawRow,
  readOrder,
  readOrderLine,
  tooLong,
  unstorable,
} from '../../shop/rows.ts';
import { keyOf, type NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { Line } from './diff-sub-orders.ts';
import { subOrderBody } from './order-body.ts';

/** An order of the shop, checked against the contract. */
export type PreparedOrder = {
  order: Order;
  /** Lines that can be pushed now. */
  lines: Line[];
  /** Lines whose product the service is not known to have yet. */
  waiting: { lineCode: string; productCode: string }[];
  /** Lines that break the contract. Their sub-orders are not changed. */
  faulty: (NewDeadLetter & { lineCode: string })[];
};

/**
 * Checks what the shop gave against the contract.
 *
 * @param products the service's ids of product codes, as far as they are known.
 * @returns a dead letter where the order itself cannot be read.
 */
export function prepareOrder(raw: RawOrder, products: ReadonlyMap<string, number>): PreparedOrder | NewDeadLetter {
  if (raw.fault !== undefined) {
    const { slowSeconds } = raw;
    const deadLetter = orderDeadLetter(raw.order, raw.fault);
    return slowSeconds === undefined ? deadLetter : { ...deadLetter, payload: { ...raw.order, slowSeconds } };
  }
  if (isTooLong(raw.order.code)) return orderDeadLetter(raw.order, tooLong('code', raw.order.code));
  const read = readOrder(raw.order);
  if ('fault' in read) return orderDeadLetter(raw.order, read.fault);
  const prepared: PreparedOrder = { order: read.row, lines: [], waiting: [], faulty: [] };
  const codes = raw.lines.map((line) => line.line_code);
  const used = new Set<string>();
  for (const rawLine of inStableOrder(raw.lines)) {
    const code = isUsableCode(rawLine.line_code) ? rawLine.line_code : keyOf(rawLine);
    if (used.has(code)) {
      let number = 2;
      while (used.has(`${code}#${number}`) || codes.includes(`${code}#${number}`)) number += 1;
      used.add(`${code}#${number}`);
      prepared.faulty.push(lineDeadLetter(prepared.order, rawLine, `${code}#${number}`, repeatedLine));
    } else {
      used.add(code);
      prepareLine(prepared, rawLine, code, products);
    }
  }
  return prepared;
}

const repeatedLine = 'line_code is there twice in its order, expected a code that is unique in the order';

function prepareLine(
  prepared: PreparedOrder,
  raw: RawRow,
  lineCode: string,
  products: ReadonlyMap<string, number>,
): void {
  const long = (['line_code', 'product_code'] as const).find((column) => isTooLong(raw[column]));
  const line = readOrderLine(raw);
  if (long !== undefined || 'fault' in line) {
    const fault = 'fault' in line ? line.fault : tooLong(long ?? '', raw[long ?? ''] ?? '');
    prepared.faulty.push(lineDeadLetter(prepared.order, raw, lineCode, fault));
    return;
  }
  const { productId, productCode = '' } = line.row;
  const known = productId ?? products.get(productCode);
  if (known === undefined) prepared.waiting.push({ lineCode, productCode });
  else prepared.lines.push({ lineCode, content: subOrderBody(line.row, known) });
}

/** Of two lines with one code the same one is pushed each time, whatever order the database gives them in. */
function inStableOrder(lines: readonly RawRow[]): RawRow[] {
  const codes = new Set(lines.map((line) => line.line_code));
  if (codes.size === lines.length) return [...lines];
  return lines
    .map((line) => ({ line, text: JSON.stringify(line) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ line }) => line);
}

/** The dead letter of an order that cannot be read. One without a usable code is closed by the daily check alone, see keepKeylessOrders. */
export function orderDeadLetter(raw: RawRow, reason: string): NewDeadLetter {
  const code = isUsableCode(raw.code) ? raw.code : undefined;
  return { kind: 'order', key: code ?? keyOf(raw), order_code: code, reason, payload: raw };
}

/** The dead letter of an order whose code is missing or cannot be used, or that has no date. */
export const keylessDeadLetter = (raw: RawRow): NewDeadLetter => orderDeadLetter(raw, keylessReason(raw.code));

function keylessReason(code: string | null | undefined): string {
  if (isTooLong(code)) return tooLong('code', code);
  if (!isStorable(code ?? '')) return `code holds a character that cannot be stored (${unstorable})`;
  return 'code or date of the order is empty, expected a value';
}

export const lineKey = (orderCode: string, lineCode: string) => `${orderCode}/${lineCode}`;

function lineDeadLetter({ code }: Order, raw: RawRow, lineCode: string, reason: string) {
  return {
    kind: 'order_line' as const,
    key: lineKey(code, lineCode),
    order_code: code,
    reason,
    payload: raw,
    lineCode,
  };
}
