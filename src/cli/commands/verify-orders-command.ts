import { orderDeps } from '../../app/deps.ts';
import { formatCount } from '../../app/status-view.ts';
import { type DayRange, spanOfDays } from '../../base/time/day-range.ts';
import { type DifferingOrder, type OrderVerification, verifyOrders } from '../../orders/compare/verify-orders.ts';
import type { Command, Context, Report } from '../command.ts';
import { differenceLines } from '../ui/order-difference.ts';
import { openProgress } from '../ui/progress.ts';
import { requireShopQueries, withApp } from '../ui/with-app.ts';

type Options = { from?: string; to?: string; repair?: boolean };

/** `verify orders`, a part of the command `verify`. */
export const verifyOrdersCommand: Command['define'] = (commander, run) => {
  commander
    .command('orders')
    .description('which orders the service lacks, shows differently from the shop, or has although they left the shop')
    .option('--from <day>', 'first day of creation, yyyy-mm-dd in the service’s time zone (default: all)')
    .option('--to <day>', 'last day, inclusive')
    .option('--repair', 'push again what is missing or differs; sends no e-mail address and no phone number')
    .addHelpText(
      'after',
      `
One request per order. Exit status 1 when anything differs and was not repaired, or could not be compared.
Orders that left the shop are only named: sync reconcile deletes them with ORDER_DELETES=send.
Orders of the service that review-sync never pushed, and that are not in the shop, are not looked for.`,
    )
    .action((options: Options) => run((context) => runVerifyOrders(context, options)));
};

async function runVerifyOrders(context: Context, { from, to, repair = false }: Options): Promise<Report> {
  const config = context.config();
  const days: DayRange = { ...(from && { from }), ...(to && { to }) };
  const range = spanOfDays(days, config.api.timeZone);
  const progress = openProgress(context.terminal, 'verify orders', 'orders');
  return withApp(context, progress, async (app) => {
    await requireShopQueries(app.shop);
    const deps = orderDeps(app, context.signal);
    const onProgress = (orders: number, note: string) => progress.update(orders, undefined, note);
    const report = await verifyOrders({ ...deps, onProgress }, range, { repair });
    return { text: draw(report), json: report, incomplete: !isFine(report) };
  }).finally(() => progress.stop());
}

function isFine({ differing, notCompared, repair }: OrderVerification): boolean {
  return notCompared === 0 && (differing === 0 || repair?.left === 0);
}

function draw(report: OrderVerification): string {
  const { orders, equal, differing, notCompared, deleted, requests } = report;
  const counted = [
    `${formatCount(equal)} the same`,
    `${formatCount(differing)} different`,
    `${formatCount(notCompared)} not compared`,
    ...(deleted > 0 ? [`${formatCount(deleted)} deleted in the shop, not compared`] : []),
  ];
  return [
    `${formatCount(orders)} orders of the shop, ${formatCount(requests)} requests: ${counted.join(', ')}.`,
    ...differences(report),
    ...drawNotCompared(report),
    ...unmatched(report),
    ...fieldsNotCompared(report),
    conclusion(report),
  ].join('\n\n');
}

function differences({ differing, differences: listed }: OrderVerification): string[] {
  if (differing === 0) return [];
  const more = differing > listed.length ? [`and ${formatCount(differing - listed.length)} more`] : [];
  return [[...listed.map(differenceText), ...more].join('\n')];
}

function differenceText({ code, kind, difference }: DifferingOrder): string {
  switch (kind) {
    case 'missing':
      return `order ${code}: the service does not have it`;
    case 'extra':
      return `order ${code}: the shop does not show it any more`;
    case 'differs':
      return [`order ${code}`, ...(difference ? differenceLines(difference) : []).map((line) => `  ${line}`)].join(
        '\n',
      );
    default:
      return kind satisfies never;
  }
}

function drawNotCompared({ notCompared, unknown: listed }: OrderVerification): string[] {
  if (notCompared === 0) return [];
  const more = notCompared > listed.length ? [`and ${formatCount(notCompared - listed.length)} more`] : [];
  return [[...listed.map(({ code, reason }) => `order ${code} could not be compared: ${reason}`), ...more].join('\n')];
}

function unmatched({ unmatched: { subOrders, orders, codes } }: OrderVerification): string[] {
  if (subOrders === 0) return [];
  const named = `${codes.join(', ')}${orders > codes.length ? ' …' : ''}`;
  return [
    `${formatCount(subOrders)} sub-orders match no line of the shop and stay at the service, ` +
      `in ${formatCount(orders)} orders: ${named}. See why with: npx review-sync explain order <code>`,
  ];
}

function fieldsNotCompared({ fieldsNotCompared: counts }: OrderVerification): string[] {
  const fields = Object.entries(counts);
  if (fields.length === 0) return [];
  const named = fields.map(([field, orders]) => `${field} (${formatCount(orders)} orders)`);
  return [
    'Could not be compared, since the service does not show them, or they wait, or their rows cannot be read: ' +
      `${named.join(', ')}.`,
  ];
}

function conclusion({ differing, extra, notCompared, repair }: OrderVerification): string {
  if (differing === 0 && notCompared === 0) return 'Shop and service agree in all that could be compared.';
  if (differing === 0) return `No order is known to differ; ${formatCount(notCompared)} could not be compared.`;
  if (!repair && differing === extra)
    return 'To delete at the service what left the shop: npx review-sync sync reconcile, with ORDER_DELETES=send';
  if (!repair) return 'To push again what is missing or differs: npx review-sync verify orders --repair';
  const { repaired, left, leftCodes } = repair;
  const all = `${formatCount(repaired)} orders were repaired`;
  if (left === 0) return `${all}; none differs any more.`;
  const named = left > leftCodes.length ? `${leftCodes.join(', ')} …` : leftCodes.join(', ');
  return `${all}; ${formatCount(left)} still differ: ${named}. See why with: npx review-sync explain order <code>`;
}
