import { reconcileReviews } from '../../jobs/reconcile-reviews.ts';
import { syncCatalog } from '../../jobs/sync-catalog.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { syncReviews } from '../../jobs/sync-reviews.ts';
import { type App, openApp } from '../app.ts';
import type { AnyRunJob } from '../queue/job.ts';
import type { Command } from './command.ts';
import { openProgress } from './progress.ts';
import { drawRun, runToEnd } from './run-to-end.ts';

const flows: Readonly<Record<string, { job: AnyRunJob<App>; summary: string; unit: string }>> = {
  catalog: { job: syncCatalog, summary: 'push categories and member grades', unit: 'parts' },
  orders: { job: syncOrders, summary: 'push the orders that changed since the last run', unit: 'slices of orders' },
  reviews: { job: syncReviews, summary: 'export the reviews that changed since the last run', unit: 'windows' },
  reconcile: {
    job: reconcileReviews,
    summary: 'read reviews again with age: bring in what came late, mark what is gone',
    unit: 'windows',
  },
};

export const sync: Command = {
  name: 'sync',
  summary: 'one incremental run now, to its end; without a cursor yet, from the beginning',
  define(commander, run) {
    for (const [flow, { job, summary, unit }] of Object.entries(flows)) {
      commander
        .command(flow)
        .description(summary)
        .option('--json', 'report as JSON')
        .action(() =>
          run(async (context) => {
            const config = context.config();
            const progress = openProgress(context.terminal, `sync ${flow}`, unit, Date.now);
            const onWait = ({ reason, untilMs }: { reason: string; untilMs: number }) => progress.wait(reason, untilMs);
            const app = await openApp(config, { log: context.log('error'), onWait });
            try {
              const report = await runToEnd(app, { job, payload: {} }, { progress, signal: context.signal });
              return drawRun(`sync ${flow}`, report);
            } finally {
              await app.close();
            }
          }),
        );
    }
  },
};
