import { counted, formatCount } from '../../app/status-view.ts';
import type { OrdersForecast } from '../../orders/compare/forecast-orders.ts';

/** What a push would send, and to how many customers. @param contact a sentence on who is mailed. */
export function drawForecast(forecast: OrdersForecast, contact: string): string {
  const { orders, toSend, unchanged, requests, waitingLines, reachable } = forecast;
  return [
    `${counted(orders, 'order')}: ${formatCount(toSend)} to send, with about ${counted(requests, 'request')}; ` +
      `${counted(unchanged, 'other')} without a change.`,
    ...faultLines(forecast),
    ...takeoverLines(forecast),
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

function takeoverLines({ takeover }: OrdersForecast): string[] {
  const { asked, found, subOrders, matched, created, fault } = takeover;
  const unknown = fault === undefined ? [] : [`Which orders the service has already is not known: ${fault}.`];
  if (found === 0) return unknown;
  return [
    ...unknown,
    `Of ${asked} of these orders that review-sync never pushed, the service has ${found} already, ` +
      `with ${counted(subOrders, 'sub-order')}: somebody else sent them.`,
    `  ${matched} of their lines would take over a sub-order, ${created} would get a new one beside it.`,
    ...(created > 0 && subOrders > matched
      ? [
          '  Look at one with: npx review-sync explain order <code>. ' +
            'A sub-order is taken over when its product and its options or price agree.',
        ]
      : []),
  ];
}
