import { orderDeps } from '../../app/deps.ts';
import { comparisonLines } from '../../app/difference-text.ts';
import { percent, shareOfLines } from '../../app/doctor/check-shop-values.ts';
import { noOrder, otherSpelling, serviceTables, shopTables } from '../../app/explain-view.ts';
import { ownPushRights } from '../../app/run-rights.ts';
import { type OrderPreview, previewOrder, type SentRequest } from '../../orders/compare/show-order.ts';
import type { Command } from '../command.ts';
import { orderCode } from '../ui/order-code.ts';
import { table } from '../ui/table.ts';
import { withApp } from '../ui/with-app.ts';

export const command: Command = {
  define(commander, run) {
    commander
      .command('order <code>')
      .description('the shop’s rows, the requests that they make, and the difference to the service now; sends nothing')
      .addHelpText('after', '\nShows the customer’s name, e-mail address and phone number, which explain does not.')
      .action((code: string) =>
        run(async (context) => {
          const asked = orderCode(code);
          return await withApp(context, undefined, async (app) => {
            const previewed = await previewOrder(
              orderDeps(app, context.signal),
              asked,
              ownPushRights(app.config, 'show'),
            );
            const { shop, shopFault, atService } = previewed;
            return {
              text: `${otherSpelling(asked, previewed.code)}${draw(previewed)}`,
              json: previewed,
              incomplete:
                shopFault !== undefined || atService === 'failed' || (shop === undefined && atService === 'absent'),
            };
          });
        }, 'one'),
      );
  },
};

function draw(previewed: OrderPreview): string {
  return [...drawShop(previewed), ...drawRequests(previewed), drawComparison(previewed), 'Nothing was sent.'].join(
    '\n\n',
  );
}

function drawShop({ code, shop, shopFault, fault }: OrderPreview): string[] {
  if (!shop) return [noOrder(code, shopFault)];
  const share = shareOfLines(shop);
  const sum = share === undefined ? '' : `\nThe lines add up to ${percent(share)} of total_price.`;
  const tables = shopTables(shop).map(({ head, rows }) => table(head, rows));
  const rows = ['The shop', ...tables].join('\n') + sum;
  return fault === undefined ? [rows] : [rows, `It cannot be sent, and would be a dead letter: ${fault}`];
}

const reasons: Readonly<Record<NonNullable<OrderPreview['nothingToSend']>, string | undefined>> = {
  unchanged: 'The next run sends nothing: the order has not changed since it was pushed. A push would send:',
  'deleted in the shop':
    'The next run sends nothing: the shop marks the order as deleted, ' +
    'and ORDER_DELETES is off or the service does not have it.',
  'cannot be read': undefined,
  'not in the shop': undefined,
};

function drawRequests({
  requests,
  nothingToSend,
  withheld,
  isYoung,
  looksFirstFor,
  linesNotSent,
}: OrderPreview): string[] {
  const because = isYoung
    ? 'A backfill left it out before, or forget masked the order. Or it counted as too old when it was first pushed.'
    : 'The order is too old (ORDER_CONTACT_MAX_AGE_DAYS), or its created_at lies in the future.';
  const head = nothingToSend === undefined ? 'The next run that reads this order sends:' : reasons[nothingToSend];
  if (head === undefined) return [];
  return [
    [head, ...requests.map(requestText)].join('\n'),
    ...(looksFirstFor === undefined
      ? []
      : [
          `The service may have one order for this code and for ${JSON.stringify(looksFirstFor)}. Customer and lines are sent ` +
            'once it has shown two.',
        ]),
    ...linesNotSent.map(({ lineCode, reason }) => `Line ${lineCode} is not sent: ${reason}.`),
    ...(withheld.length > 0 ? [`Left out by the contact rule: ${withheld.join(' and ')}. ${because}`] : []),
  ];
}

function requestText({ method, path, body }: SentRequest): string {
  if (body === undefined) return `${method} ${path}`;
  return `${method} ${path}\n${JSON.stringify(body, null, 2)}`;
}

function drawComparison({ atService, lookupFault, difference, shop, service }: OrderPreview): string {
  if (lookupFault !== undefined) return `The service could not be asked about the order: ${lookupFault}`;
  if (atService === 'absent') return 'The service has no such order.';
  if (!difference && shop) return 'Nothing could be compared.';
  if (!difference) {
    const tables = serviceTables(service).map(({ head, rows }) => table(head, rows));
    return ['The service has the order', ...tables].join('\n');
  }
  return comparisonLines(difference).join('\n');
}
