import { counted, formatCount } from '../../base/counts.ts';
import type { BackfillDiff, ComparedOrder } from '../../orders/compare/compare-orders.ts';
import type { OrdersForecast } from '../../orders/compare/forecast-orders.ts';
import { comparedText } from './difference-text.ts';

/**
 * What a push would send, and to how many customers.
 *
 * @param contact a sentence on who is mailed.
 * @param allowRemovals the push may delete more than the allowance of a day.
 */
export function drawForecast(forecast: OrdersForecast, contact: string, allowRemovals: boolean): string {
  const { orders, toSend, toDelete, unchanged, requests, waitingLines, reachable, faulty, faults } = forecast;
  const more = faults.length - shownReasons;
  const lines = [
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
  ];
  return lines.filter(Boolean).join('\n');
}

const shownReasons = 5;

/** What a backfill would change, an order after the other. */
export function drawDiff({ read, unchanged, orders, isCut }: BackfillDiff, limit: number): string {
  const count = (kind: ComparedOrder['kind']) => orders.filter((order) => order.kind === kind).length;
  const summary = [
    `${count('missing')} would be created`,
    `${count('differs')} would change`,
    `${count('equal') + count('deleted')} would be sent without a difference in what the service shows`,
    `${count('not compared')} could not be compared`,
    `${count('dead letter')} cannot be sent and would become dead letters`,
  ];
  return [
    ...orders.map(comparedText),
    `${counted(read, 'order')} read, ${formatCount(unchanged)} of them cost no request; ` +
      `${counted(orders.length, 'order')} looked at: ${summary.join(', ')}.`,
    ...(isCut ? [`Only the first ${counted(limit, 'order')} were looked at: there may be more (--limit).`] : []),
    'Nothing was sent or written.',
  ].join('\n');
}
