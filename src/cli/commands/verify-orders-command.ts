import { orderDeps } from '../../app/deps.ts';
import { differenceLines, notShownLines } from '../../app/difference-text.ts';
import { openly } from '../../app/explain-view.ts';
import { counted, formatCount } from '../../app/status-view.ts';
import { type DayRange, spanOfDays } from '../../base/time/day-range.ts';
import { type DifferingOrder, type OrderVerification, verifyOrders } from '../../orders/compare/verify-orders.ts';
import type { Command, Context, Report } from '../command.ts';
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
Orders that left the shop are only named, and are a difference with ORDER_DELETES=send: sync reconcile deletes them.
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
    await requireShopQueries(app);
    const deps = orderDeps(app, context.signal);
    const onProgress = (orders: number, note: string) => progress.update(orders, undefined, note);
    const report = await verifyOrders({ ...deps, onProgress }, range, { repair });
    const { orderDeletes: deletes } = config;
    return { text: draw(report, deletes), json: report, incomplete: !isFine(report, deletes) };
  }).finally(() => progress.stop());
}

/** ORDER_DELETES: with `off`, orders that left the shop stay at the service. */
type Deletes = 'off' | 'send';

function isFine({ differing, extra, notCompared, repair }: OrderVerification, deletes: Deletes): boolean {
  return notCompared === 0 && (differing === 0 || repair?.left === 0) && (extra === 0 || deletes === 'off');
}

function draw(report: OrderVerification, deletes: Deletes): string {
  const { orders, equal, differing, notCompared, deleted, requests } = report;
  const sums = [
    `${formatCount(equal)} the same`,
    `${formatCount(differing)} different`,
    `${formatCount(notCompared)} not compared`,
    ...(deleted > 0 ? [`${formatCount(deleted)} deleted in the shop, not compared`] : []),
  ];
  return [
    `${counted(orders, 'order')} of the shop, ${counted(requests, 'request')}: ${sums.join(', ')}.`,
    ...differences(report),
    ...drawExtra(report, deletes),
    ...drawNotCompared(report),
    ...unmatched(report),
    ...notShownLines(report.fieldsNotCompared),
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
    case 'differs':
      return [
        `order ${code}`,
        ...(difference ? differenceLines(difference, openly) : []).map((line) => `  ${line}`),
      ].join('\n');
    default:
      return kind satisfies never;
  }
}

function drawExtra({ extra, extraCodes }: OrderVerification, deletes: Deletes): string[] {
  if (extra === 0) return [];
  const codes = `${extraCodes.join(', ')}${extra > extraCodes.length ? ' …' : ''}`;
  const why =
    deletes === 'off'
      ? 'Nothing is deleted at the service with ORDER_DELETES=off.'
      : 'To delete what left the shop a day ago: npx review-sync sync reconcile';
  return [`${counted(extra, 'pushed order')} left the shop: ${codes}. ${why}`];
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
    `${counted(subOrders, 'sub-order')} at the service without a line in the shop, kept, ` +
      `in ${counted(orders, 'order')}: ${named}. See why with: npx review-sync explain order <code>`,
  ];
}

function conclusion({ differing, notCompared, repair }: OrderVerification): string {
  if (differing === 0 && notCompared === 0) return 'Shop and service agree in all that could be compared.';
  if (differing === 0) return `No order is known to differ; ${formatCount(notCompared)} could not be compared.`;
  if (!repair) return 'To push again what is missing or differs: npx review-sync verify orders --repair';
  const { repaired, left, leftCodes } = repair;
  const all = `${counted(repaired, 'order')} repaired`;
  if (left === 0) return `${all}; none differs any more.`;
  const named = left > leftCodes.length ? `${leftCodes.join(', ')} …` : leftCodes.join(', ');
  return `${all}; ${counted(left, 'still differs', 'still differ')}: ${named}. See why with: npx review-sync explain order <code>`;
}
