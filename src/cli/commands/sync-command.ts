import { reconcileReviews } from '../../../jobs/reconcile-reviews.ts';
import { rescanOrders } from '../../../jobs/rescan-orders.ts';
import { syncCatalog } from '../../../jobs/sync-catalog.ts';
import { ordersToSync, syncOrders } from '../../../jobs/sync-orders.ts';
import { syncReviews } from '../../../jobs/sync-reviews.ts';
import type { Systems } from '../../app/app.ts';
import { orderDeps } from '../../app/deps.ts';
import { ownPushRights } from '../../app/run-rights.ts';
import { addCounts, counted } from '../../base/counts.ts';
import { describeWithHint, IncompleteError } from '../../base/errors.ts';
import { secondOf } from '../../base/time/span.ts';
import { sleep } from '../../base/timeout.ts';
import { forecastOrders } from '../../orders/compare/forecast-orders.ts';
import { ordersByCreation } from '../../orders/select/orders-by-day.ts';
import type { RunReport } from '../../runs/define-run.ts';
import { readCursor } from '../../warehouse/runs/cursors.ts';
import type { Context, Define, Report } from '../command.ts';
import { drawForecast } from '../ui/difference-text.ts';
import { drawRun, runAndDraw, runJob, withApp, withSystems } from '../with-app.ts';

type OrderOptions = { allowRemovals?: boolean; dryRun?: true };

export const define: Define = (commander, run) => {
  const allowRemovals = ['--allow-removals', 'remove lines and orders beyond the allowance of a day'] as const;
  commander
    .command('catalog')
    .description('push categories and member grades')
    .action(() => run((context) => runJob(context, 'sync catalog', 'parts', syncCatalog)));
  commander
    .command('orders')
    .description('push the orders that changed since the last run; the first run pushes all of them')
    .option('--dry-run', 'only say what would be sent, and to how many customers contact would go')
    .option(...allowRemovals)
    .action((options: OrderOptions) => run((context) => runSyncOrders(context, options)));
  commander
    .command('reviews')
    .description('export the reviews that changed since the last run')
    .action(() => run((context) => runJob(context, 'sync reviews', 'windows', syncReviews)));
  commander
    .command('reconcile')
    .description('read reviews and young orders again: bring in what came late or was missed, find what is gone')
    .option(...allowRemovals)
    .action(({ allowRemovals = false }: OrderOptions) => run((context) => reconcile(context, allowRemovals)));
};

async function runSyncOrders(context: Context, { allowRemovals = false, dryRun }: OrderOptions): Promise<Report> {
  const use = { label: 'sync orders', unit: 'slices of orders', readsShop: true };
  if (dryRun) {
    return withSystems(context, use, async (app) => {
      const forecast = await forecastOf(context, app, ordersToSync(app, allowRemovals), allowRemovals);
      return drawForecast(forecast, contactText(app, forecast.withContact), allowRemovals);
    });
  }
  return withApp(context, use, async (app, progress) => {
    const isFirst = (await readCursor(app.warehouse.db, 'orders')) === undefined;
    if (isFirst && context.terminal.isTerminal) await announceContact(context, app);
    const request = { job: syncOrders, asked: { allowRemovals } };
    return drawRun(use.label, await runAndDraw(context, progress, app, request));
  });
}

const forecastOf = (
  { signal }: Context,
  app: Systems,
  orders: Parameters<typeof forecastOrders>[1],
  allowRemovals = false,
) => forecastOrders(orderDeps(app, signal), orders, ownPushRights(app.config, syncOrders.trigger, { allowRemovals }));

const contactText = ({ config: { orderContactMaxAgeDays: days } }: Systems, customers: number): string =>
  customers === 0
    ? 'No e-mail address and no phone number goes to the service: nobody is mailed.'
    : `E-mail and phone of ${counted(customers, 'customer')} GO TO THE SERVICE, with orders younger than ${counted(days, 'day')}: ` +
      'it may mail them. ORDER_CONTACT_MAX_AGE_DAYS=0 sends none.';

/** How long a person has to stop the first run, in milliseconds. Its mails cannot be recalled. */
const thinkMs = 10_000;

/** Only young orders carry contact, so only young orders are read. @throws IncompleteError if a person stops it. */
async function announceContact(context: Context, app: Systems): Promise<void> {
  const { terminal, signal } = context;
  const start = secondOf(app.now()) - app.config.orderContactMaxAgeDays * 86_400;
  const young = ordersByCreation(app.shop, { start, end: undefined });
  const { withContact } = await forecastOf(context, app, young);
  if (withContact === 0) return;
  terminal.say(contactText(app, withContact));
  terminal.say(`The first run begins in ${thinkMs / 1000} seconds; Ctrl-C stops it.`);
  await sleep(thinkMs, signal).catch((cause: unknown) => {
    throw new IncompleteError('Stopped before anything was sent', {
      cause,
      hint: 'review-sync backfill orders pushes the orders of today, which then go without e-mail and phone.',
    });
  });
}

/** Two runs, one after the other, each with its own App: if the first stops, the second still runs. */
async function reconcile(context: Context, allowRemovals: boolean): Promise<Report> {
  const reports: [name: string, report: RunReport][] = [];
  for (const [name, job] of Object.entries({ reviews: reconcileReviews, orders: rescanOrders })) {
    const report = await withApp(context, { label: `sync reconcile: ${name}`, unit: 'steps' }, (app, progress) =>
      runAndDraw(context, progress, app, { job, asked: { allowRemovals } }).catch((error: unknown): RunReport => {
        if (context.signal.aborted) throw error;
        return { outcome: 'incomplete', counts: {}, reason: 'problem', error: describeWithHint(error) };
      }),
    );
    reports.push([name, report]);
  }
  const unfinished = reports.map(([, report]) => report).filter(({ outcome }) => outcome !== 'done');
  const errors = unfinished.flatMap(({ error }) => error ?? []);
  const json = {
    outcome: unfinished.length === 0 ? 'done' : 'incomplete',
    counts: addCounts(reports.map(([, { counts }]) => counts)),
    ...(unfinished[0]?.reason && { reason: unfinished[0].reason }),
    ...(errors.length > 0 && { error: errors.join('. ') }),
    runs: Object.fromEntries(reports),
  };
  const text = reports.map(([name, report]) => drawRun(`sync reconcile: ${name}`, report).text).join('\n');
  return { text, json, incomplete: unfinished.length > 0 };
}
