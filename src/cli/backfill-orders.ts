import { type BackfillOrders, backfillOrders, backfillOrdersId } from '../../jobs/backfill-orders.ts';
import { type App, openApp } from '../app.ts';
import { secondsOf } from '../day-range.ts';
import {
  type BackfillForecast,
  type CreationRange,
  forecastBackfill,
  planBackfillOrders,
} from '../orders/backfill-orders.ts';
import type { Command, Context, Report } from './command.ts';
import { openProgress } from './progress.ts';
import { drawRun, runToEnd } from './run-to-end.ts';

type Options = { from?: string; to?: string; dryRun?: true; detach?: true; withEmail?: true };

/** `backfill orders`, a part of the command `backfill`. */
export const backfillOrdersCommand: Command['define'] = (commander, run) => {
  commander
    .command('orders')
    .description('push every order created in the range; mails nobody unless --with-email')
    .option('--from <day>', 'first day, yyyy-mm-dd in the service’s time zone (default: the first order)')
    .option('--to <day>', 'last day, inclusive (default: the last order)')
    .option('--dry-run', 'only say what would be sent, and how many customers it could reach')
    .option('--with-email', 'send e-mail and phone along: the service may then mail these customers')
    .option('--detach', 'only enqueue it, for running workers')
    .option('--json', 'report as JSON')
    .addHelpText(
      'after',
      `
Orders that stand at the service as they are in the shop cost no request, so an interrupted backfill goes on where it
stopped when run again. Look first: a mail cannot be recalled.

Examples:
  npx review-sync backfill orders --from 2024-01-01 --dry-run
  npx review-sync backfill orders --from 2024-01-01`,
    )
    .action((options: Options) => run((context) => runBackfill(context, options)));
};

async function runBackfill(context: Context, options: Options): Promise<Report> {
  const config = context.config();
  const { from, to } = options;
  const payload: BackfillOrders = { ...(from && { from }), ...(to && { to }), withEmail: options.withEmail === true };
  const range = secondsOf(payload, config.api.timeZone);
  const progress = openProgress(context.terminal, 'backfill orders', 'slices of orders', Date.now);
  const app = await openApp(config, {
    log: context.log('error'),
    onWait: ({ reason, untilMs }) => progress.wait(reason, untilMs),
  });
  try {
    if (options.dryRun) return await dryRun(context, app, range, payload.withEmail);
    context.terminal.say(
      payload.withEmail
        ? 'E-mail addresses and phone numbers ARE sent: the service may mail these customers.'
        : 'E-mail addresses and phone numbers are not sent: nobody is mailed (--with-email would).',
    );
    const id = backfillOrdersId(payload);
    if (options.detach) {
      const { joined } = await app.queues.enqueue(backfillOrders, payload, id);
      const text = `${joined ? 'It is going already' : 'Enqueued'}: ${id}. See how it goes with: npx review-sync status`;
      return { text, json: { run: id, joined } };
    }
    const run = { job: backfillOrders, payload, id };
    return drawRun('backfill orders', await runToEnd(app, run, { progress, signal: context.signal }));
  } finally {
    await app.close();
  }
}

async function dryRun(context: Context, app: App, range: CreationRange, withEmail: boolean): Promise<Report> {
  const { slices } = await planBackfillOrders(app.shop, range);
  const forecast = await forecastBackfill(
    {
      shop: app.shop,
      db: app.warehouse.db,
      now: app.now,
      signal: context.signal,
      contactMaxAgeDays: app.config.orderContactMaxAgeDays,
      contactPolicy: withEmail ? 'always' : 'never',
      deletes: app.config.orderDeletes,
    },
    slices,
  );
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
  const n = (count: number) => count.toLocaleString('en');
  return [
    `${n(forecast.orders)} orders in the range: ${n(forecast.toSend)} to send, ${n(forecast.unchanged)} need nothing.`,
    `About ${n(forecast.requests)} requests, roughly ${n(seconds)} s.`,
    ...(forecast.faulty > 0
      ? [`${n(forecast.faulty)} orders or lines cannot be sent and would become dead letters.`]
      : []),
    `The shop has an e-mail address or a phone number of ${n(forecast.reachable)} different customers of these orders.`,
    forecast.withContact
      ? `With --with-email THEY ARE SENT: the service could mail all ${n(forecast.reachable)} of them.`
      : 'They are not sent: nobody is mailed. (--with-email would send them.)',
    'Nothing was sent or written.',
  ].join('\n');
}
