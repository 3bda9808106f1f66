import { syncCatalog } from '../../../jobs/sync-catalog.ts';
import { syncOrders } from '../../../jobs/sync-orders.ts';
import { syncReviews } from '../../../jobs/sync-reviews.ts';
import type { App } from '../../app/app.ts';
import type { AnyRunJob } from '../../queue/job.ts';
import { changedQueriesNote, changedShopQueries } from '../../warehouse/shop-queries.ts';
import type { Command } from '../command.ts';
import { openProgress } from '../ui/progress.ts';
import { drawRun, runToEnd } from '../ui/run-to-end.ts';
import { requireShopQueries, withApp } from '../ui/with-app.ts';
import { syncReconcileCommand } from './sync-reconcile-command.ts';

const flows: Readonly<Record<string, { job: AnyRunJob<App>; summary: string; unit: string; readsShop?: true }>> = {
  catalog: { job: syncCatalog, summary: 'push categories and member grades', unit: 'parts', readsShop: true },
  orders: {
    job: syncOrders,
    summary: 'push the orders that changed since the last run',
    unit: 'slices of orders',
    readsShop: true,
  },
  reviews: { job: syncReviews, summary: 'export the reviews that changed since the last run', unit: 'windows' },
};

const removalsHelp = 'remove lines and orders beyond the allowance of a day';

export const syncCommand: Command = {
  define(commander, run) {
    syncReconcileCommand(commander, run);
    for (const [flow, { job, summary, unit, readsShop }] of Object.entries(flows)) {
      const command = commander.command(flow).description(summary);
      if (flow === 'orders') command.option('--allow-removals', removalsHelp);
      command.action((options: { allowRemovals?: true }) =>
        run((context) => {
          const progress = openProgress(context.terminal, `sync ${flow}`, unit);
          return withApp(context, progress, async (app) => {
            if (readsShop) await requireShopQueries(app.shop);
            const report = await runToEnd(
              app,
              { job, payload: { allowRemovals: options.allowRemovals === true } },
              { progress, signal: context.signal },
            );
            const drawn = drawRun(`sync ${flow}`, report);
            if (flow !== 'orders') return drawn;
            const changedQueries = await changedShopQueries(app.warehouse.db);
            const note = changedQueriesNote(changedQueries);
            const text = note === undefined ? drawn.text : `${drawn.text}\n${note.what}. ${note.hint}`;
            return { ...drawn, text, json: { ...report, changedQueries } };
          });
        }),
      );
    }
  },
};
