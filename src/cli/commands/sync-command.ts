import { syncCatalog } from '../../../jobs/sync-catalog.ts';
import { syncReviews } from '../../../jobs/sync-reviews.ts';
import type { App } from '../../app/app.ts';
import type { AnyRunJob } from '../../queue/job.ts';
import type { Command } from '../command.ts';
import { openProgress } from '../ui/progress.ts';
import { drawRun, runToEnd } from '../ui/run-to-end.ts';
import { requireShopQueries, withApp } from '../ui/with-app.ts';
import { syncOrdersCommand } from './sync-orders-command.ts';
import { syncReconcileCommand } from './sync-reconcile-command.ts';

const flows: Readonly<Record<string, { job: AnyRunJob<App>; summary: string; unit: string; readsShop?: true }>> = {
  catalog: { job: syncCatalog, summary: 'push categories and member grades', unit: 'parts', readsShop: true },
  reviews: { job: syncReviews, summary: 'export the reviews that changed since the last run', unit: 'windows' },
};

export const syncCommand: Command = {
  define(commander, run) {
    syncReconcileCommand(commander, run);
    syncOrdersCommand(commander, run);
    for (const [flow, { job, summary, unit, readsShop }] of Object.entries(flows)) {
      const command = commander.command(flow).description(summary);
      command.action(() =>
        run((context) => {
          const progress = openProgress(context.terminal, `sync ${flow}`, unit);
          return withApp(context, progress, async (app) => {
            if (readsShop) await requireShopQueries(app, job.name);
            const following = { progress, signal: context.signal };
            return drawRun(`sync ${flow}`, await runToEnd(app, { job, payload: {} }, following));
          });
        }),
      );
    }
  },
};
