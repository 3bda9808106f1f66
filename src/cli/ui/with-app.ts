import { type App, openApp } from '../../app/app.ts';
import { requireMigrated } from '../../app/status-source.ts';
import { UsageError } from '../../base/errors.ts';
import { openWarehouse, type Warehouse } from '../../warehouse/index.ts';
import type { Context, Report, Work } from '../command.ts';
import { openProgress, type Progress } from './progress.ts';

/**
 * Opens all systems for one command and closes them at its end. Waits are shown by `progress`, of a command without one
 * by lines.
 */
export async function withApp<T>(
  context: Context,
  progress: Pick<Progress, 'wait'> | undefined,
  work: (app: App) => Promise<T>,
): Promise<T> {
  const { wait } = progress ?? openProgress(context.terminal, '', '');
  await using app = await openApp(context.config(), {
    // Without LOG_LEVEL a person at a terminal reads the error that the command ends with, not its line of the log too.
    log: await context.log(context.terminal.isTerminal ? 'fatal' : 'error'),
    onWait: ({ reason, untilMs }) => wait(reason, untilMs),
    // A command carries out its own run only.
    takers: 1,
  });
  return await work(app);
}

/** The same for a command that shows its progress. @param unit of what it counts. */
export function withProgress<T>(
  context: Context,
  label: string,
  unit: string,
  work: (app: App, progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = openProgress(context.terminal, label, unit);
  return withApp(context, progress, (app) => work(app, progress)).finally(() => progress.stop());
}

/** The work of a command with all systems that shows no progress. */
export const inApp =
  (work: (app: App, context: Context) => Promise<Report>): Work =>
  (context) =>
    withApp(context, undefined, (app) => work(app, context));

/**
 * Opens the warehouse alone: shop and service may be missing.
 *
 * @throws ReviewSyncError if the warehouse does not respond or is not migrated.
 */
export async function inWarehouse(context: Context, work: (warehouse: Warehouse) => Promise<Report>): Promise<Report> {
  const { warehouseDatabaseUrl: url, brand, lockSeconds } = context.warehouseConfig();
  await using warehouse = await openWarehouse({ url, brand, lockSeconds, connections: 1 });
  await requireMigrated(warehouse);
  return await work(warehouse);
}

/**
 * Stops a command before it does anything if a shop query does not match the contract (exit status 2). Errors of the
 * shop's database are left to the run, which reports them.
 */
export async function requireShopQueries({ shop }: App): Promise<void> {
  await shop.checkQueries().catch((error: unknown) => {
    if (error instanceof UsageError) throw error;
  });
}
