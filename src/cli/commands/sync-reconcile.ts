import { reconcileReviews } from '../../../jobs/reconcile-reviews.ts';
import { rescanOrders } from '../../../jobs/rescan-orders.ts';
import type { App } from '../../app/app.ts';
import { addCounts } from '../../base/counts.ts';
import { describeWithHint } from '../../base/errors.ts';
import type { AnyRunJob, RunReport } from '../../queue/job.ts';
import type { Command, Context, Report } from '../command.ts';
import { openProgress, type Progress } from '../ui/progress.ts';
import { drawRun, runToEnd } from '../ui/run-to-end.ts';
import { withApp } from '../ui/with-app.ts';

/** `sync reconcile`, a part of the command `sync`. */
export const syncReconcileCommand: Command['define'] = (commander, run) => {
  commander
    .command('reconcile')
    .description('read reviews and young orders again: bring in what came late or was missed, find what is gone')
    .option(
      '--allow-removals',
      'remove lines, and delete orders that are gone from the shop, even where far more are gone than usual',
    )
    .action((options: { allowRemovals?: true }) =>
      run((context) => reconcile(context, options.allowRemovals === true)),
    );
};

const runs = [
  { name: 'reviews', job: reconcileReviews, unit: 'windows' },
  { name: 'orders', job: rescanOrders, unit: 'spans of orders' },
] as const satisfies readonly { name: string; job: AnyRunJob<App>; unit: string }[];

/** Two runs, one after the other. What stops one does not stop the other. */
async function reconcile(context: Context, allowRemovals: boolean): Promise<Report> {
  let progress: Progress | undefined;
  const wait: Progress['wait'] = (reason, untilMs) => progress?.wait(reason, untilMs);
  return withApp(context, { wait }, async (app) => {
    const reports = new Map<string, RunReport>();
    for (const { name, job, unit } of runs) {
      progress = openProgress(context.terminal, `sync reconcile: ${name}`, unit);
      const report = await runToEnd(
        app,
        { job, payload: { allowRemovals } },
        { progress, signal: context.signal },
      ).catch((error: unknown): RunReport => {
        if (context.signal.aborted) throw error;
        return { outcome: 'incomplete', counts: {}, reason: 'problem', error: describeWithHint(error) };
      });
      reports.set(name, report);
    }
    return drawBoth(reports);
  });
}

function drawBoth(reports: ReadonlyMap<string, RunReport>): Report {
  const all = [...reports.values()];
  const unfinished = all.filter((report) => report.outcome !== 'done');
  const errors = unfinished.flatMap((report) => report.error ?? []);
  const json = {
    outcome: unfinished.length === 0 ? 'done' : 'incomplete',
    counts: addCounts(all.map((report) => report.counts)),
    ...(unfinished[0]?.reason && { reason: unfinished[0].reason }),
    ...(errors.length > 0 && { error: errors.join('. ') }),
    runs: Object.fromEntries(reports),
  };
  const text = [...reports].map(([name, report]) => drawRun(`sync reconcile: ${name}`, report).text).join('\n');
  return { text, json, incomplete: unfinished.length > 0 };
}
