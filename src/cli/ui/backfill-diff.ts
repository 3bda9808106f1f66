import { differenceLines, notShownLines } from '../../app/difference-text.ts';
import { openly } from '../../app/explain-view.ts';
import { counted } from '../../app/status-view.ts';
import type { BackfillDiff, BackfilledOrder } from '../../orders/compare/forecast-orders.ts';
import { fieldsNotShown } from '../../orders/order/order-difference.ts';

/** What a backfill would change, an order after the other. */
export function drawDiff({ read, unchanged, orders, requests, isCut }: BackfillDiff, limit: number): string {
  const count = (kind: BackfilledOrder['kind']) => orders.filter((order) => order.kind === kind).length;
  const notShown: Record<string, number> = {};
  for (const field of orders.flatMap(({ difference }) => (difference ? fieldsNotShown(difference) : [])))
    notShown[field] = (notShown[field] ?? 0) + 1;
  const summary = [
    `${count('create')} would be created`,
    `${count('change')} would change`,
    `${count('same')} would be sent without a difference in what the service shows`,
    ...(count('not compared') > 0 ? [`${count('not compared')} could not be compared`] : []),
    ...(count('dead letter') > 0 ? [`${count('dead letter')} cannot be sent and would become dead letters`] : []),
  ];
  return [
    ...orders.map(orderText),
    ...notShownLines(notShown),
    `${counted(read, 'order')} read, ${unchanged.toLocaleString('en')} of them cost no request; ` +
      `${counted(orders.length, 'order')} looked at, with ${counted(requests, 'request')}: ${summary.join(', ')}.`,
    ...(isCut ? [`Only the first ${counted(limit, 'order')} were looked at: there may be more (--limit).`] : []),
    'Nothing was sent or written.',
  ].join('\n');
}

function orderText({ code, kind, reason, difference }: BackfilledOrder): string {
  const details = (difference ? differenceLines(difference, openly) : []).map((line) => `\n  ${line}`).join('');
  switch (kind) {
    case 'create':
      return `order ${code}: would be created, with ${counted(difference?.subOrders.create.length ?? 0, 'sub-order')}`;
    case 'change':
      return `order ${code}: would change${details}`;
    case 'same':
      return `order ${code}: would be sent; no difference in what could be compared${details}`;
    case 'not compared':
      return `order ${code}: could not be compared: ${reason}`;
    case 'dead letter':
      return `order ${code}: cannot be sent: ${reason}`;
    default:
      return kind satisfies never;
  }
}
