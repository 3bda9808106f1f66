import type { App } from '../app/app.ts';
import { requireSameShop } from '../app/require-same-shop.ts';
import { mayDo } from '../app/run-rights.ts';
import { countsText } from '../app/status-view.ts';
import type { AnyRunJob, RunReport } from '../runs/job.ts';
import { type Following, runToEnd } from '../runs/run-to-end.ts';
import { type RunRequest, startRun } from '../runs/start-run.ts';
import { unattendedRuns } from '../warehouse/runs/runs.ts';
import type { Context, Report } from './command.ts';
import type { Progress } from './ui/progress.ts';
import { requireShopQueries, withApp } from './with-app.ts';

/** Runs a job to its end, draws its progress, and names runs that nobody carries out. @throws as `runToEnd`. */
export async function runAndDraw(
  { terminal, signal }: Context,
  { update, wait }: Progress,
  app: App,
  request: RunRequest,
  note?: Following['note'],
): Promise<RunReport> {
  for (const run of await unattendedRuns(app.warehouse.db)) {
    terminal.say(
      `Another run waits, and this command leaves it alone: ${run.id}. ${mayDo(run)}. ` +
        `review-sync worker continues it; review-sync runs end ${run.id} ends it.`,
    );
  }
  return await runToEnd(app, request, { signal, onProgress: update, onRetry: wait, note });
}

/** Starts a run for running workers. @throws ReviewSyncError if it reads the shop, and the shop is another one. */
export async function startOnly(app: App, request: RunRequest): Promise<Report> {
  if (request.job.readsShop) await requireSameShop({ shop: app.shop, db: app.warehouse.db });
  const { id, joined } = await startRun(app, request);
  const text = `${joined ? 'It is running already' : 'Enqueued'}: ${id}. Progress: review-sync status`;
  return { text, json: { run: id, joined } };
}

/** Draws the report of a run, in the same way for every command. */
export function drawRun(title: string, report: RunReport): Report {
  const counts = countsText(report.counts);
  const summary =
    `${title}: ${report.outcome}. ${counts || (report.outcome === 'done' ? 'Nothing to do.' : '')}`.trimEnd();
  const text = report.error ? `${summary}\n${report.error}` : summary;
  return { text, json: report, incomplete: report.outcome !== 'done' };
}

/** A command that runs one job to its end and reports it. @param unit of its steps. */
export function runJob(context: Context, title: string, unit: string, job: AnyRunJob): Promise<Report> {
  return withApp(context, { label: title, unit }, async (app, progress) => {
    if (job.readsShop) await requireShopQueries(app);
    return drawRun(title, await runAndDraw(context, progress, app, { job }));
  });
}
