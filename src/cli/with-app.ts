import { type App, openApp, openSystems, requireMigrated, type Systems } from '../app/app.ts';
import { requireSameShop } from '../app/require-same-shop.ts';
import { mayDo } from '../app/run-rights.ts';
import { countsText } from '../app/status-view.ts';
import { UsageError } from '../base/errors.ts';
import type { AnyRunJob, RunReport } from '../runs/define-run.ts';
import { type Following, runToEnd } from '../runs/run-to-end.ts';
import { type RunRequest, startRun } from '../runs/start-run.ts';
import { openWarehouse, type Warehouse } from '../warehouse/index.ts';
import { unattendedRuns } from '../warehouse/runs/runs.ts';
import type { Context, Report } from './command.ts';
import { openProgress, type Progress } from './ui/progress.ts';

type Use = {
  /** The label and the unit of the progress, if the command shows any. */
  label?: string;
  unit?: string;
  /** If a shop query breaks the contract, the command stops before it does anything (exit status 2). */
  readsShop?: boolean;
};

/** Opens all systems for a command that starts a run, and closes them at its end. `progress` shows waits. */
export const withApp = <T>(context: Context, use: Use, work: (app: App, progress: Progress) => Promise<T>) =>
  withOpened(openApp, context, use, work);

/** `withApp` without the queue, for a command that starts no run. */
export const withSystems = <T>(context: Context, use: Use, work: (app: Systems, progress: Progress) => Promise<T>) =>
  withOpened(openSystems, context, use, work);

async function withOpened<T, Opened extends Systems>(
  open: (...given: Parameters<typeof openApp>) => Promise<Opened>,
  context: Context,
  { label = '', unit = '', readsShop = false }: Use,
  work: (app: Opened, progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = openProgress(context.terminal, label, unit);
  const app = await open(context.config(), {
    // Without LOG_LEVEL, a person at a terminal sees only the command's final error, not also its log line.
    log: await context.log(context.terminal.isTerminal ? 'fatal' : 'error'),
    onWait: progress.wait,
    // A command carries out only its own run.
    takers: 1,
  });
  try {
    if (readsShop) await requireShopQueries(app);
    return await work(app, progress).finally(progress.stop);
  } finally {
    const closing = app[Symbol.asyncDispose]();
    // After a signal no server that hangs is waited for: the connections end with the process.
    if (context.signal.aborted) closing.catch(() => {});
    else await closing;
  }
}

/** Opens the warehouse alone: shop and service may be missing. @throws ReviewSyncError if it is not migrated. */
export async function inWarehouse(context: Context, work: (warehouse: Warehouse) => Promise<Report>): Promise<Report> {
  const { warehouseDatabaseUrl: url, brand, lockSeconds } = context.warehouseConfig();
  await using warehouse = await openWarehouse({ url, brand, lockSeconds, connections: 1 });
  await requireMigrated(warehouse);
  return await work(warehouse);
}

/** @throws UsageError if a shop query breaks the contract. The run reports errors of the shop's database. */
export async function requireShopQueries({ shop }: Systems): Promise<void> {
  await shop.checkQueries().catch((error: unknown) => {
    if (error instanceof UsageError) throw error;
  });
}

/** Runs a job to its end, draws its progress, and names runs that no process carries out. @throws as `runToEnd`. */
export async function runAndDraw(
  { terminal, signal }: Context,
  { update, retry }: Progress,
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
  return await runToEnd(app, request, { signal, onProgress: update, onRetry: retry, note });
}

/** Starts a run for running workers. @throws ReviewSyncError if it reads the shop, and the shop is another one. */
export async function startOnly(app: App, request: RunRequest): Promise<Report> {
  if (request.job.readsShop) await requireSameShop({ shop: app.shop, db: app.warehouse.db });
  const { id, joined } = await startRun(app, request);
  const text = `${joined ? 'It is running already' : 'Enqueued'}: ${id}. Progress: review-sync status`;
  return { text, json: { run: id, joined } };
}

export function drawRun(title: string, report: RunReport): Report {
  const counts = countsText(report.counts);
  const summary =
    `${title}: ${report.outcome}. ${counts || (report.outcome === 'done' ? 'Nothing to do.' : '')}`.trimEnd();
  const text = report.error ? `${summary}\n${report.error}` : summary;
  return { text, json: report, incomplete: report.outcome !== 'done' };
}

/** A command that runs one job to its end and reports it. @param unit the unit of its steps. */
export function runJob(context: Context, title: string, unit: string, job: AnyRunJob): Promise<Report> {
  return withApp(context, { label: title, unit, readsShop: job.readsShop }, async (app, progress) =>
    drawRun(title, await runAndDraw(context, progress, app, { job })),
  );
}
