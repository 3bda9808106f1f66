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
import { diffBackfill, forecastOrders } from '../../orders/compare/forecast-orders.ts';
import { type CreationRange, ordersByCreation } from '../../orders/which/orders-by-day.ts';
import type { Command, Context, Report } from '../command.ts';
import { drawDiff } from '../ui/backfill-diff.ts';
import { drawForecast } from '../ui/orders-forecast.ts';
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
    await requireShopQueries(app, options.dryRun ? undefined : backfillOrders.name);
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
  const pages = ordersByCreation(app.shop, range);
  const forecast = await forecastOrders(orderDeps(app, context.signal), pages, backfillPolicy(options));
  const contact = options.withEmail
    ? `With --with-email THEY ARE SENT: the service could mail all ${formatCount(forecast.withContact)} of them.`
    : 'A backfill sends none that the service does not have already: it mails nobody (--with-email would). ' +
      'The regular sync sends those of young orders: npx review-sync sync orders --dry-run';
  return { text: drawForecast(forecast, contact), json: forecast };
}
