import { reconcileReviews } from '../../../jobs/reconcile-reviews.ts';
import { rescanOrders } from '../../../jobs/rescan-orders.ts';
import type { App } from '../../app/app.ts';
import { addCounts } from '../../base/counts.ts';
import { describeWithHint } from '../../base/errors.ts';
import type { AnyRunJob, RunReport } from '../../queue/job.ts';
import type { Command, Context, Report } from '../command.ts';
import { openProgress } from '../ui/progress.ts';
import { drawRun, runAllToEnd } from '../ui/run-to-end.ts';
import { withApp } from '../ui/with-app.ts';

/** `sync reconcile`, a part of the command `sync`. */
export const syncReconcileCommand: Command['define'] = (commander, run) => {
  commander
    .command('reconcile')
    .description('read reviews and young orders again: bring in what came late or was missed, find what is gone')
    .option(
      '--allow-removals',
      'remove lines, and delete orders that are gone from the shop, beyond the allowance of a day',
    )
    .action((options: { allowRemovals?: true }) =>
      run((context) => reconcile(context, options.allowRemovals === true)),
    );
};

const runs = [
  { name: 'reviews', job: reconcileReviews },
  { name: 'orders', job: rescanOrders },
] as const satisfies readonly { name: string; job: AnyRunJob<App> }[];

/** Two runs beside each other, as the schedule starts them. What stops one does not stop the other. */
async function reconcile(context: Context, allowRemovals: boolean): Promise<Report> {
  const progress = openProgress(context.terminal, 'sync reconcile', 'steps');
  return withApp(context, progress, async (app) => {
    const both = runs.map(({ job }) => ({ job, payload: { allowRemovals } }));
    const ended = await runAllToEnd(app, both, { progress, signal: context.signal });
    const reports = runs.map(({ name }, index) => [name, reportOf(ended[index], context.signal)] as const);
    return drawBoth(new Map(reports));
  });
}

/** @throws the reason why a command that was interrupted did not see the end of its run. */
function reportOf(ended: PromiseSettledResult<RunReport> | undefined, signal: AbortSignal): RunReport {
  if (ended?.status === 'fulfilled') return ended.value;
  if (signal.aborted) throw ended?.reason;
  return { outcome: 'incomplete', counts: {}, reason: 'problem', error: describeWithHint(ended?.reason) };
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
