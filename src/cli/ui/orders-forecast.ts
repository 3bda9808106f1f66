import { counted, formatCount } from '../../app/status-view.ts';
import type { OrdersForecast } from '../../orders/compare/forecast-orders.ts';

/** What a push would send, and to how many customers. @param contact a sentence on who is mailed. */
export function drawForecast(forecast: OrdersForecast, contact: string): string {
  const { orders, toSend, unchanged, requests, waitingLines, reachable } = forecast;
  return [
    `${counted(orders, 'order')}: ${formatCount(toSend)} to send, with about ${counted(requests, 'request')}; ` +
      `${counted(unchanged, 'other')} without a change.`,
    ...faultLines(forecast),
    ...(waitingLines > 0
      ? [`${counted(waitingLines, 'order line')} would wait until the service is known to have the product.`]
      : []),
    `The shop has an e-mail address or a phone number of ${counted(reachable, 'customer')} of the orders to send.`,
    contact,
    'Nothing was sent or written.',
  ].join('\n');
}

const shownReasons = 5;

function faultLines({ faulty, faults }: OrdersForecast): string[] {
  if (faulty === 0) return [];
  const more = faults.length - shownReasons;
  return [
    `${counted(faulty, 'order or line', 'orders or lines')} cannot be sent and would become dead letters:`,
    ...faults.slice(0, shownReasons).map((fault) => `  ${fault.count} × ${fault.reason} (${fault.example})`),
    ...(more > 0 ? [`  and ${counted(more, 'more reason')}`] : []),
  ];
}
