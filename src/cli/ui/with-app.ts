import { type App, openApp } from '../../app/app.ts';
import { describeWithHint, UsageError } from '../../base/errors.ts';
import { beginRun, finishRun } from '../../warehouse/runs/runs.ts';
import type { Context } from '../command.ts';
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
  const app = await openApp(context.config(), {
    log: await context.log('error'),
    onWait: ({ reason, untilMs }) => wait(reason, untilMs),
  });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

/**
 * Stops a command before it does anything where a shop query does not match the contract (exit status 2). Errors of the
 * shop's database are left to the run, which reports them.
 *
 * @param job the run that the command would start: that it was refused is recorded, for `status`.
 */
export async function requireShopQueries({ shop, warehouse, now }: App, job?: string): Promise<void> {
  try {
    await shop.checkQueries();
  } catch (error) {
    if (!(error instanceof UsageError)) return;
    if (job !== undefined) {
      const id = `${job}-${now().getTime().toString(36)}-refused`;
      await beginRun(warehouse.db, { id, job, key: undefined, trigger: 'command', startedAt: now() });
      await finishRun(warehouse.db, id, { finishedAt: now(), outcome: 'failed', error: describeWithHint(error) });
    }
    throw error;
  }
}
