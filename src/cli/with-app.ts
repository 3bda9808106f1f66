import { type App, openApp, openSystems, requireMigrated, type Systems } from '../app/app.ts';
import { UsageError } from '../base/errors.ts';
import { openWarehouse, type Warehouse } from '../warehouse/index.ts';
import type { Context, Report } from './command.ts';
import { openProgress, type Progress } from './ui/progress.ts';

/** The label of the progress, and the unit of what it counts, if the command shows any. */
type Shown = { label?: string; unit?: string };

/** Opens all systems for a command that starts a run, and closes them at its end. Waits are said by `progress`. */
export const withApp = <T>(context: Context, shown: Shown, work: (app: App, progress: Progress) => Promise<T>) =>
  withOpened(openApp, context, shown, work);

/** The same without the queue, for a command that starts no run. */
export const withSystems = <T>(
  context: Context,
  shown: Shown,
  work: (app: Systems, progress: Progress) => Promise<T>,
) => withOpened(openSystems, context, shown, work);

async function withOpened<T, Opened extends Systems>(
  open: (...given: Parameters<typeof openApp>) => Promise<Opened>,
  context: Context,
  { label = '', unit = '' }: Shown,
  work: (app: Opened, progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = openProgress(context.terminal, label, unit);
  const app = await open(context.config(), {
    // Without LOG_LEVEL a person at a terminal reads the error that the command ends with, not its line of the log too.
    log: await context.log(context.terminal.isTerminal ? 'fatal' : 'error'),
    onWait: ({ reason, untilMs }) => progress.wait(reason, untilMs),
    // A command carries out its own run only.
    takers: 1,
  });
  try {
    return await work(app, progress).finally(progress.stop);
  } finally {
    const closing = app[Symbol.asyncDispose]();
    // After a signal no server that hangs is waited for: the connections end with the process.
    if (context.signal.aborted) closing.catch(() => {});
    else await closing;
  }
}

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
export async function requireShopQueries({ shop }: Systems): Promise<void> {
  await shop.checkQueries().catch((error: unknown) => {
    if (error instanceof UsageError) throw error;
  });
}
