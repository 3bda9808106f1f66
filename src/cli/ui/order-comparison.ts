import type { FieldComparison, LineComparison, OrderComparison } from '../../orders/compare/compare-order.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { table } from './table.ts';

/**
 * The differences of one order, a line each; then what could not be compared. Empty: no difference, and all was
 * compared.
 */
export function comparisonLines({ fields, lines }: Pick<OrderComparison, 'fields' | 'lines'>): string[] {
  return [
    ...fields.filter(isWorthShowing).map(fieldText),
    ...lines.flatMap(lineTexts),
    ...notComparedLines({ fields, lines }),
  ];
}

const isWorthShowing = ({ outcome, note }: FieldComparison) =>
  outcome === 'different' || (outcome === 'equal' && note !== undefined);

function fieldText({ field, outcome, shop, service, note }: FieldComparison): string {
  if (outcome === 'equal') return `${field}: ${note}; the service has none`;
  const values = `${field}: the shop has ${shop ?? 'nothing'}, the service ${service ?? 'nothing'}`;
  return note ? `${values} (${note})` : values;
}

function lineTexts({ kind, lineCode, subOrderId, fields, note }: LineComparison): string[] {
  switch (kind) {
    case 'both':
      return fields
        .filter(isWorthShowing)
        .map((field) => `line ${lineCode} (sub-order ${subOrderId}): ${fieldText(field)}`);
    case 'missing':
      return [`line ${lineCode}: the service has no sub-order for it`];
    case 'surplus':
      return [`sub-order ${subOrderId}: its line ${lineCode} is gone from the shop`];
    case 'kept':
      return [`sub-order ${subOrderId}: its line ${lineCode} is gone from the shop; the sub-order stays: ${note}`];
    case 'unmanaged':
      return [`sub-order ${subOrderId}: no line matches it; the sub-order stays: ${note}`];
    case 'not comparable':
      return [];
    default:
      return kind satisfies never;
  }
}

function notComparedLines({ fields, lines }: Pick<OrderComparison, 'fields' | 'lines'>): string[] {
  const unknown = [
    ...fields.filter(isNotComparable).map(unknownText),
    ...lines.flatMap((line) => [
      ...(line.kind === 'not comparable' ? [`line ${line.lineCode} (${line.note})`] : []),
      ...line.fields.filter(isNotComparable).map((field) => `line ${line.lineCode}: ${unknownText(field)}`),
    ]),
  ];
  return unknown.length === 0 ? [] : [`could not be compared: ${unknown.join('; ')}`];
}

const isNotComparable = ({ outcome }: FieldComparison) => outcome === 'not comparable';

const unknownText = ({ field, shop, note }: FieldComparison) =>
  `${field}${shop === null ? '' : ` (the shop has ${shop})`}: ${note}`;

/** The shop's rows of one order: its fields, then its lines with every column that has a value. */
export function shopRows({ order, lines }: RawOrder): string {
  const fields = Object.entries(order).filter((entry): entry is [string, string] => entry[1] !== null);
  const columns = [...new Set(lines.flatMap((line) => Object.keys(line)))].filter(
    (name) => name !== 'order_code' && lines.some((line) => line[name] !== null),
  );
  const rows = lines.map((line) => columns.map((name) => line[name] ?? ''));
  return [table(['field', 'value'], fields), rows.length > 0 ? table(columns, rows) : 'no lines'].join('\n');
}

/** Says so where the shop's own code of an order is not the one that was asked for. */
export const otherSpelling = (asked: string, { code }: { code: string }): string =>
  code === asked ? '' : `The shop’s code of ${asked} is ${code}.\n\n`;
