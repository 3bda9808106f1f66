import { ordersToSync, syncOrders } from '../../../jobs/sync-orders.ts';
import type { App } from '../../app/app.ts';
import { orderDeps } from '../../app/deps.ts';
import { counted } from '../../app/status-view.ts';
import { IncompleteError } from '../../base/errors.ts';
import { secondOf } from '../../base/time/span.ts';
import { sleep } from '../../base/timeout.ts';
import { forecastOrders } from '../../orders/compare/forecast-orders.ts';
import type { PushPolicy } from '../../orders/order/desired-order.ts';
import { ordersByCreation } from '../../orders/which/orders-by-day.ts';
import { readCursor } from '../../warehouse/runs/cursors.ts';
import { changedQueriesNote, changedShopQueries } from '../../warehouse/shop-queries.ts';
import type { Command, Context, Report } from '../command.ts';
import { drawForecast } from '../ui/orders-forecast.ts';
import { openProgress } from '../ui/progress.ts';
import { drawRun, runToEnd } from '../ui/run-to-end.ts';
import { requireShopQueries, withApp } from '../ui/with-app.ts';

type Options = { allowRemovals?: true; dryRun?: true };

/** `sync orders`, a part of the command `sync`. */
export const syncOrdersCommand: Command['define'] = (commander, run) => {
  commander
    .command('orders')
    .description('push the orders that changed since the last run; the first run pushes all of them')
    .option('--dry-run', 'only say what would be sent, and how many e-mail addresses and phone numbers')
    .option('--allow-removals', 'remove lines and orders beyond the allowance of a day')
    .action((options: Options) => run((context) => runSyncOrders(context, options)));
};

async function runSyncOrders(context: Context, { allowRemovals, dryRun }: Options): Promise<Report> {
  const progress = openProgress(context.terminal, 'sync orders', 'slices of orders');
  return withApp(context, progress, async (app) => {
    await requireShopQueries(app, dryRun ? undefined : syncOrders.name);
    if (dryRun) return await forecast(context, app);
    const isFirst = (await readCursor(app.warehouse.db, 'orders')) === undefined;
    if (isFirst && context.terminal.isTerminal) await announceContact(context, app);
    const following = { progress, signal: context.signal };
    const report = await runToEnd(
      app,
      { job: syncOrders, payload: { allowRemovals: allowRemovals === true } },
      following,
    );
    const changedQueries = await changedShopQueries(app.warehouse.db);
    const note = changedQueriesNote(changedQueries);
    const drawn = drawRun('sync orders', report);
    const text = note === undefined ? drawn.text : `${drawn.text}\n${note.what}. ${note.hint}`;
    return { ...drawn, text, json: { ...report, changedQueries } };
  });
}

const policy: PushPolicy = { contact: 'young', allowRemovals: false };

async function forecast(context: Context, app: App): Promise<Report> {
  const found = await forecastOrders(orderDeps(app, context.signal), ordersToSync(app), policy);
  return { text: drawForecast(found, contactText(app, found.withContact)), json: found };
}

const contactText = ({ config: { orderContactMaxAgeDays: days } }: App, customers: number): string =>
  customers === 0
    ? 'No e-mail address and no phone number goes to the service: nobody is mailed.'
    : `E-mail and phone of ${counted(customers, 'customer')} GO TO THE SERVICE, with orders younger than ${counted(days, 'day')}: ` +
      'it may mail them. ORDER_CONTACT_MAX_AGE_DAYS=0 sends none.';

/** How long a person has to stop the first run, which cannot be recalled, in milliseconds. */
const thinkMs = 10_000;

/** Only young orders carry contact, so only those are read. @throws IncompleteError where a person stops it. */
async function announceContact({ terminal, signal }: Context, app: App): Promise<void> {
  const { config, now } = app;
  const start = secondOf(now()) - config.orderContactMaxAgeDays * 86_400;
  const young = ordersByCreation(app.shop, { start, end: undefined });
  const { withContact } = await forecastOrders(orderDeps(app, signal), young, policy);
  if (withContact === 0) return;
  terminal.say(contactText(app, withContact));
  terminal.say(`The first run begins in ${thinkMs / 1000} seconds; Ctrl-C stops it.`);
  await sleep(thinkMs, signal).catch((cause: unknown) => {
    throw new IncompleteError('Stopped before anything was sent.', {
      cause,
      hint: 'npx review-sync backfill orders pushes the orders of today without e-mail and phone, for good.',
    });
  });
}
