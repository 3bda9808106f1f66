import type { OrderPreview, SentRequest } from '../orders/compare/show-order.ts';
import { comparisonLines } from './difference-text.ts';
import { percent, shareOfLines } from './doctor/check-shop-values.ts';
import { type Part, part, serviceTables, shopPart } from './explain-view.ts';

/** What a push would send of one order, and why. As `preview` draws it. */
export function previewParts(previewed: OrderPreview): Part[] {
  const { shop, fault } = previewed;
  const share = shop && shareOfLines(shop);
  return [
    shopPart(previewed, [
      share !== undefined && `The lines add up to ${percent(share)} of total_price.`,
      fault && `It cannot be sent, and would be a dead letter: ${fault}`,
    ]),
    ...requestsPart(previewed),
    servicePart(previewed),
    part('Nothing was sent.'),
  ];
}

const reasons: Readonly<Record<NonNullable<OrderPreview['nothingToSend']>, string | undefined>> = {
  unchanged: 'The next run sends nothing: the order has not changed since it was pushed. A push would send:',
  'deleted in the shop':
    'The next run sends nothing: the shop marks the order as deleted, ' +
    'and ORDER_DELETES is off or the service does not have it.',
  'cannot be read': undefined,
  'not in the shop': undefined,
};

function requestsPart(previewed: OrderPreview): Part[] {
  const { requests, nothingToSend, withheld, isYoung, looksFirstFor, difference } = previewed;
  const linesNotSent = (requests.length > 0 && difference?.linesNotSent) || [];
  const title = nothingToSend === undefined ? 'The next run that reads this order sends:' : reasons[nothingToSend];
  if (title === undefined) return [];
  const because = isYoung
    ? 'A backfill left it out before, or forget masked the order. Or it counted as too old when it was first pushed.'
    : 'The order is too old (ORDER_CONTACT_MAX_AGE_DAYS), or its created_at lies in the future.';
  return [
    part(title, [
      ...requests.map(requestText),
      looksFirstFor !== undefined &&
        `The service may have one order for this code and for ${JSON.stringify(looksFirstFor)}. Customer and lines are sent ` +
          'once it has shown two.',
      ...linesNotSent.map(({ lineCode, reason }) => `Line ${lineCode} is not sent: ${reason}.`),
      withheld.length > 0 && `Left out by the contact rule: ${withheld.join(' and ')}. ${because}`,
    ]),
  ];
}

const requestText = ({ method, path, body }: SentRequest): string =>
  body === undefined ? `${method} ${path}` : `${method} ${path}\n${JSON.stringify(body, null, 2)}`;

function servicePart({ lookupFault, difference, shop, service }: OrderPreview): Part {
  if (lookupFault !== undefined) return part(`The service could not be asked about the order: ${lookupFault}`);
  if (!service) return part('The service has no such order.');
  if (difference) return part(comparisonLines(difference).join('\n'));
  return shop ? part('Nothing could be compared.') : part('The service has the order', [], serviceTables(service));
}
