import {
  type BackfillOrders,
  backfillOrders,
  backfillOrdersKey,
  backfillPolicy,
} from '../../../jobs/backfill-orders.ts';
import type { App } from '../../app/app.ts';
import { orderDeps } from '../../app/deps.ts';
import { formatCount } from '../../app/status-view.ts';
import { UsageError } from '../../base/errors.ts';
import { spanOfDays } from '../../base/time/day-range.ts';
import { type BackfillForecast, diffBackfill, forecastBackfill } from '../../orders/compare/forecast-backfill.ts';
import type { CreationRange } from '../../orders/which/orders-by-day.ts';
import type { Command, Context, Report } from '../command.ts';
import { drawDiff } from '../ui/backfill-diff.ts';
import { openProgress } from '../ui/progress.ts';
import { drawRun, enqueueOnly, runToEnd } from '../ui/run-to-end.ts';
import { requireShopQueries, withApp } from '../ui/with-app.ts';

type Options = {
  from?: string;
  to?: string;
  dryRun?: true;
  diff?: true;
  limit?: string;
  detach?: true;
  withEmail?: true;
  allowRemovals?: true;
};

/** `backfill orders`, a part of the command `backfill`. */
export const backfillOrdersCommand: Command['define'] = (commander, run) => {
  commander
    .command('orders')
    .description('push every order created in the range; mails nobody unless --with-email')
    .option('--from <day>', 'first day, yyyy-mm-dd in the service’s time zone (default: the first order)')
    .option('--to <day>', 'last day, inclusive (default: the last order)')
    .option('--dry-run', 'only say what would be sent, and how many customers it could reach')
    .option('--diff', 'with --dry-run: say for each order what would change at the service, field by field')
    .option(
      '--limit <orders>',
      `with --diff: compare at most this many orders, one request each (default: ${diffedAtMost})`,
    )
    .option('--with-email', 'send e-mail and phone along: the service may then mail these customers')
    .option('--allow-removals', 'remove lines and orders beyond the allowance of a day')
    .option('--detach', 'only enqueue it, for running workers')
    .addHelpText(
      'after',
      `
An order that is at the service as it is in the shop costs no request, so an interrupted backfill continues when it is run
again. Use --dry-run first: a mail cannot be recalled.

Examples:
  npx review-sync backfill orders --from 2024-01-01 --dry-run
  npx review-sync backfill orders --from 2024-01-01 --dry-run --diff --limit 20
  npx review-sync backfill orders --from 2024-01-01`,
    )
    .action((options: Options) => run((context) => runBackfillOrders(context, options)));
};

async function runBackfillOrders(context: Context, options: Options): Promise<Report> {
  const { from, to } = options;
  const withEmail = options.withEmail === true;
  const allowRemovals = options.allowRemovals === true;
  const payload: BackfillOrders = { ...(from && { from }), ...(to && { to }), withEmail, allowRemovals };
  const range = spanOfDays(payload, context.config().api.timeZone);
  const diffLimit = limitOf(options);
  const progress = openProgress(context.terminal, 'backfill orders', 'slices of orders');
  return withApp(context, progress, async (app) => {
    await requireShopQueries(app.shop);
    if (options.dryRun) {
      return await (diffLimit === undefined
        ? dryRun(context, app, range, payload)
        : diffRun(context, app, range, payload, diffLimit));
    }
    context.terminal.say(
      payload.withEmail
        ? 'E-mail addresses and phone numbers ARE sent: the service may mail these customers.'
        : 'No e-mail address and no phone number is sent that the service does not have already: ' +
            'nobody is mailed (--with-email would).',
    );
    const run = { job: backfillOrders, payload, key: backfillOrdersKey(payload) };
    if (options.detach) return await enqueueOnly(app, run);
    return drawRun('backfill orders', await runToEnd(app, run, { progress, signal: context.signal }));
  });
}

/** Orders that `--diff` compares without `--limit`. */
const diffedAtMost = 100;

/** Orders to compare; undefined without `--diff`. @throws UsageError */
function limitOf({ dryRun: isDryRun, diff, limit }: Options): number | undefined {
  if (!diff) {
    if (limit === undefined) return undefined;
    throw new UsageError('--limit is for --diff only', { hint: 'Add --dry-run --diff, or leave --limit out.' });
  }
  if (!isDryRun) throw new UsageError('--diff only looks', { hint: 'Add --dry-run.' });
  if (limit === undefined) return diffedAtMost;
  if (/^[1-9]\d{0,5}$/.test(limit)) return Number(limit);
  throw new UsageError(`--limit is ${JSON.stringify(limit)}, expected a number of orders from 1 to 999999`);
}

async function diffRun(
  context: Context,
  app: App,
  range: CreationRange,
  options: BackfillOrders,
  limit: number,
): Promise<Report> {
  const deps = { ...orderDeps(app, context.signal), concurrency: app.config.api.concurrency };
  const diff = await diffBackfill(deps, range, { policy: backfillPolicy(options), limit });
  return { text: drawDiff(diff, limit), json: diff };
}

async function dryRun(context: Context, app: App, range: CreationRange, options: BackfillOrders): Promise<Report> {
  const forecast = await forecastBackfill(orderDeps(app, context.signal), range, backfillPolicy(options));
  const seconds = Math.ceil(forecast.requests / (await requestsPerSecond(app)));
  return { text: draw(forecast, seconds), json: { ...forecast, seconds } };
}

/** From how long the service takes for one small request, all in flight taken into account, and the ceiling set. */
async function requestsPerSecond(app: App): Promise<number> {
  const { concurrency, requestsPerSecond: ceiling = Number.POSITIVE_INFINITY } = app.config.api;
  await app.api.reviews.overview();
  const startedMs = performance.now();
  await app.api.reviews.overview();
  return Math.min(ceiling, (concurrency * 1000) / Math.max(1, performance.now() - startedMs));
}

function draw(forecast: BackfillForecast, seconds: number): string {
  return [
    `${formatCount(forecast.orders)} orders in the range: ` +
      `${formatCount(forecast.toSend)} to send, ${formatCount(forecast.unchanged)} need nothing.`,
    `About ${formatCount(forecast.requests)} requests, roughly ${formatCount(seconds)} s.`,
    ...faultLines(forecast),
    ...takeoverLines(forecast),
    ...(forecast.waitingLines > 0
      ? [`${formatCount(forecast.waitingLines)} lines wait until the service is known to have their product.`]
      : []),
    'Of the orders to send, the shop has an e-mail address or a phone number of ' +
      `${formatCount(forecast.reachable)} different customers.`,
    forecast.withContact
      ? `With --with-email THEY ARE SENT: the service could mail all ${formatCount(forecast.reachable)} of them.`
      : 'None is sent that the service does not have already: nobody is mailed. (--with-email would send them.)',
    'Nothing was sent or written.',
  ].join('\n');
}

const shownReasons = 5;

function faultLines({ faults }: BackfillForecast): string[] {
  if (faults.length === 0) return [];
  const all = faults.reduce((sum, fault) => sum + fault.count, 0);
  const more = faults.length - shownReasons;
  return [
    `${formatCount(all)} orders or lines cannot be sent and would become dead letters:`,
    ...faults.slice(0, shownReasons).map((fault) => `  ${fault.count} × ${fault.reason} (${fault.example})`),
    ...(more > 0 ? [`  and ${more} more reasons`] : []),
  ];
}

function takeoverLines({ takeover }: BackfillForecast): string[] {
  const { asked, found, subOrders, matched, created, fault } = takeover;
  const unknown = fault === undefined ? [] : [`Which orders the service has already is not known: ${fault}.`];
  if (found === 0) return unknown;
  return [
    ...unknown,
    `Of ${asked} of these orders that review-sync never pushed, the service has ${found} already, ` +
      `with ${subOrders} sub-orders: somebody else sent them.`,
    `  ${matched} of their lines would take over a sub-order, ${created} would get a new one beside it.`,
    ...(created > 0 && subOrders > matched
      ? [
          '  Look at one with: npx review-sync explain order <code>. ' +
            'A sub-order is taken over when its product and its options or price agree.',
        ]
      : []),
  ];
}
