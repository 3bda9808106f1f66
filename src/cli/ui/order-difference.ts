import { counted } from '../../app/status-view.ts';
import { isDifferent, type OrderDifference } from '../../orders/order/order-difference.ts';
import type { FieldDifference } from '../../orders/order/sub-orders.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { table } from './table.ts';

/** Whether shop and service differ in one order, and in what, a line each; then what could not be compared. */
export function comparison(difference: Shown): string {
  const head = isDifferent(difference) ? 'Shop and service differ' : 'No difference in what could be compared';
  return [head, ...comparisonLines(difference).map((line) => `  ${line}`)].join('\n');
}

/** The differences of one order, a line each; then what could not be compared. */
export const comparisonLines = (difference: Shown): string[] => [
  ...differenceLines(difference),
  ...notCompared(difference),
];

type Shown = Omit<OrderDifference, 'body'>;

/** The differences of one order, a line each. */
export function differenceLines({ isDeletion, fields, subOrders }: Shown): string[] {
  if (isDeletion) return ['the shop has deleted the order; a push deletes it at the service'];
  const { matched, create, remove, keep } = subOrders;
  return [
    ...fields.filter(({ isShown }) => isShown).map(fieldText),
    ...matched.flatMap(({ lineCode, subOrderId, isHidden, fields: ofLine }) =>
      isHidden
        ? [`line ${lineCode}: the service does not show its sub-order ${subOrderId}`]
        : ofLine
            .filter(({ isShown }) => isShown)
            .map((field) => `line ${lineCode} (sub-order ${subOrderId}): ${fieldText(field)}`),
    ),
    ...create.map(({ lineCode }) => `line ${lineCode}: the service has no sub-order for it`),
    ...remove.map(({ lineCode, subOrderId }) => `sub-order ${subOrderId}: its line ${lineCode} is gone from the shop`),
    ...keep.map(({ lineCode, subOrderId, why }) => {
      const which = lineCode === null ? 'no line matches it' : `its line ${lineCode} is gone from the shop`;
      return `sub-order ${subOrderId}: ${which}; the sub-order stays: ${why}`;
    }),
  ];
}

const fieldText = ({ field, shop, service }: FieldDifference) =>
  `${field}: the shop has ${shop ?? 'nothing'}, the service ${service ?? 'nothing'}`;

const notShownText = ({ field, shop }: FieldDifference) =>
  `${field} (the shop has ${shop}): the service does not show this field`;

function notCompared({ isDeletion, fields, fieldsNotSent, linesNotSent, subOrders }: Shown): string[] {
  if (isDeletion) return [];
  const texts = [
    ...fields.filter(({ isShown }) => !isShown).map(notShownText),
    ...fieldsNotSent.map(({ field, reason }) => `${field}: ${reason}`),
    ...linesNotSent.map(({ lineCode, reason }) => `line ${lineCode} (${reason})`),
    ...subOrders.matched.flatMap(({ lineCode, fields: ofLine }) =>
      ofLine.filter(({ isShown }) => !isShown).map((field) => `line ${lineCode}: ${notShownText(field)}`),
    ),
  ];
  return texts.length === 0 ? [] : [`could not be compared: ${texts.join('; ')}`];
}

/** Said once for many orders. @param orders by field that the service does not show, the number of orders. */
export function notShownLines(orders: Readonly<Record<string, number>>): string[] {
  const fields = Object.entries(orders).map(([field, count]) => `${field} (${counted(count, 'order')})`);
  return fields.length === 0
    ? []
    : [`Could not be compared, since the service does not show it: ${fields.join(', ')}.`];
}

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
