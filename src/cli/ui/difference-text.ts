import { counted, formatCount } from '../../base/counts.ts';
import { oneLine } from '../../base/visible.ts';
import type { BackfillDiff, ComparedOrder } from '../../orders/compare/compare-orders.ts';
import type { OrdersForecast } from '../../orders/compare/forecast-orders.ts';
import { isDifferent, type OrderDifference } from '../../orders/plan/plan-order.ts';
import type { FieldDifference } from '../../orders/plan/same-value.ts';
import type { Report } from '../command.ts';
import { lines } from './table.ts';

/** A value for a terminal. Long values are cut: `--json` has them whole. */
export function valueText(value: unknown): string {
  const shown = value instanceof Date ? value.toISOString() : value;
  const text = isEmpty(shown) ? 'nothing' : oneLine(typeof shown === 'string' ? shown : JSON.stringify(shown));
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

export const isEmpty = (value: unknown) => value === null || value === undefined || value === '';

/** Whether shop and service differ in one order, with a line for each difference; then what could not be compared. */
export const comparisonLines = (difference: OrderDifference): string[] => [
  isDifferent(difference) ? 'Shop and service differ' : 'No difference in what could be compared',
  ...differenceLines(difference).map((line) => `  ${line}`),
  ...notCompared(difference),
];

/** One order of several that were compared, with its differences below. */
export function comparedText({ code, kind, reason, difference }: ComparedOrder): string {
  const fields = difference && kind !== 'missing' ? differenceLines(difference) : [];
  const same = 'no difference in what could be compared';
  const texts: Readonly<Record<typeof kind, string>> = {
    missing: 'the service does not have it',
    differs: 'differs',
    equal: same,
    deleted: same,
    'not compared': `could not be compared: ${reason}`,
    'dead letter': `cannot be sent: ${reason}`,
  };
  return lines(`order ${code}: ${texts[kind]}`, ...fields.map((line) => `  ${line}`));
}

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
    // If a whole sub-order is not shown, the differences already say so.
    ...subOrders.matched
      .filter(({ isHidden }) => !isHidden)
      .flatMap((line) => notShown(line.fields).map((text) => `line ${oneLine(line.lineCode)}: ${text}`)),
  ];
  return texts.length === 0 ? [] : [`  could not be compared: ${texts.join('; ')}`];
}

/** What a push would send, and to how many customers. @param contact a sentence on who is mailed. */
export function drawForecast(forecast: OrdersForecast, contact: string, allowRemovals: boolean): Report {
  const { orders, toSend, toDelete, unchanged, requests, waitingLines, reachable, faulty, faults } = forecast;
  const more = faults.length - shownReasons;
  const text = lines(
    `${counted(orders, 'order')}: ${formatCount(toSend)} to send, with about ${counted(requests, 'request')}; ` +
      `${counted(unchanged, 'other')} without a change.`,
    toDelete > 0 &&
      `${formatCount(toDelete)} of them are deleted in the shop and WOULD BE DELETED at the service, but for those with ` +
        `reviews${allowRemovals ? '' : ' and beyond the allowance of a day'}.`,
    faulty > 0 &&
      `${counted(faulty, 'order or line', 'orders or lines')} cannot be sent and would become dead letters:`,
    ...faults.slice(0, shownReasons).map(({ count, reason, example }) => `  ${count} × ${reason} (${example})`),
    more > 0 && `  and ${counted(more, 'more reason')}`,
    waitingLines > 0 &&
      `${counted(waitingLines, 'order line')} would wait until the service is known to have the product.`,
    `The shop has an e-mail address or a phone number of ${counted(reachable, 'customer')} of the orders to send.`,
    contact,
    'Nothing was sent or written.',
  );
  return { text, json: forecast };
}

const shownReasons = 5;

export function drawDiff(diff: BackfillDiff, limit: number): Report {
  const { read, unchanged, orders, isCut } = diff;
  const count = (kind: ComparedOrder['kind']) => orders.filter((order) => order.kind === kind).length;
  const summary = [
    `${count('missing')} would be created`,
    `${count('differs')} would change`,
    `${count('equal') + count('deleted')} would be sent without a difference in what the service shows`,
    `${count('not compared')} could not be compared`,
    `${count('dead letter')} cannot be sent and would become dead letters`,
  ];
  const text = lines(
    ...orders.map(comparedText),
    `${counted(read, 'order')} read, ${formatCount(unchanged)} of them cost no request; ` +
      `${counted(orders.length, 'order')} looked at: ${summary.join(', ')}.`,
    isCut && `Only the first ${counted(limit, 'order')} were looked at: there may be more (--limit).`,
    'Nothing was sent or written.',
  );
  return { text, json: diff, incomplete: count('not compared') > 0 };
}
