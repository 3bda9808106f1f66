import { oneLine } from '../../base/visible.ts';
import type { ComparedOrder } from '../../orders/compare/compare-orders.ts';
import { isDifferent, type OrderDifference } from '../../orders/plan/order-difference.ts';
import type { FieldDifference } from '../../orders/plan/same-value.ts';

/** A value for a terminal. Long ones are cut: `--json` has them whole. */
export function valueText(value: unknown): string {
  const shown = value instanceof Date ? value.toISOString() : value;
  const text = isEmpty(shown) ? 'nothing' : oneLine(typeof shown === 'string' ? shown : JSON.stringify(shown));
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

export const isEmpty = (value: unknown) => value === null || value === undefined || value === '';

/** Whether shop and service differ in one order, and in what, a line each; then what could not be compared. */
export const comparisonLines = (difference: OrderDifference): string[] => [
  isDifferent(difference) ? 'Shop and service differ' : 'No difference in what could be compared',
  ...differenceLines(difference).map((line) => `  ${line}`),
  ...notCompared(difference),
];

/** One order of several that were compared, with its differences below. */
export function comparedText({ code, kind, reason, difference }: ComparedOrder): string {
  const lines = difference ? differenceLines(difference) : [];
  const same = 'no difference in what could be compared';
  const texts: Readonly<Record<typeof kind, string>> = {
    missing: 'the service does not have it',
    differs: 'differs',
    equal: same,
    deleted: same,
    'not compared': `could not be compared: ${reason}`,
    'dead letter': `cannot be sent: ${reason}`,
  };
  const more = kind === 'missing' ? [] : lines.map((line) => `\n  ${line}`);
  return `order ${code}: ${texts[kind]}${more.join('')}`;
}

/** The differences of one order, a line each. */
function differenceLines({ isDeletion, fields, subOrders }: OrderDifference): string[] {
  if (isDeletion) return ['the shop has deleted the order; a push deletes it at the service'];
  const { matched, create, remove, keep } = subOrders;
  const fieldText = ({ field, shop, service }: FieldDifference) =>
    `${field}: the shop has ${valueText(shop)}, the service ${valueText(service)}`;
  const isShown = (field: FieldDifference) => field.isShown;
  const line = ({ lineCode }: { lineCode: string }) => `line ${oneLine(lineCode)}`;
  return [
    ...fields.filter(isShown).map(fieldText),
    ...matched.flatMap((one) =>
      one.isHidden
        ? [`${line(one)}: the service does not show its sub-order ${one.subOrderId}`]
        : one.fields.filter(isShown).map((field) => `${line(one)} (sub-order ${one.subOrderId}): ${fieldText(field)}`),
    ),
    ...create.map((one) => `${line(one)}: the service has no sub-order for it`),
    ...remove.map(({ subOrderId }) => `sub-order ${subOrderId}: the shop has no line for it any more`),
    ...keep.map(({ subOrderId, why }) => `sub-order ${subOrderId}: the shop has no line for it; it stays: ${why}`),
  ];
}

function notCompared({ isDeletion, fields, fieldsNotSent, linesNotSent, subOrders }: OrderDifference): string[] {
  if (isDeletion) return [];
  const notShown = (all: readonly FieldDifference[]) =>
    all
      .filter(({ isShown }) => !isShown)
      .map(({ field, shop }) => `${field} (the shop has ${valueText(shop)}): the service does not show this field`);
  const texts = [
    ...notShown(fields),
    ...fieldsNotSent.map(({ field, reason }) => `${field}: ${oneLine(reason)}`),
    ...linesNotSent.map(({ lineCode, reason }) => `line ${oneLine(lineCode)} (${oneLine(reason)})`),
    // That a whole sub-order is not shown is among the differences.
    ...subOrders.matched
      .filter(({ isHidden }) => !isHidden)
      .flatMap((line) => notShown(line.fields).map((text) => `line ${oneLine(line.lineCode)}: ${text}`)),
  ];
  return texts.length === 0 ? [] : [`  could not be compared: ${texts.join('; ')}`];
}
