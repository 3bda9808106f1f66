import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type App, openApp } from '../../app/app.ts';
import { UsageError } from '../../base/errors.ts';
import { watchLockWaits } from '../../warehouse/lock-waits.ts';
import type { Context } from '../command.ts';
import { openProgress, type Progress } from './progress.ts';

/**
 * Opens all systems for one command and closes them at its end. Waits are shown by `progress`, of a command without one
 * by lines.
 */
export function withApp<T>(
  context: Context,
  progress: Pick<Progress, 'wait'> | undefined,
  work: (app: App) => Promise<T>,
): Promise<T> {
  const { wait } = progress ?? openProgress(context.terminal, '', '');
  return untilStopped(context.signal, withSystems(context, wait, work));
}

/** How long a command that is stopped may take to say how far it came, in milliseconds. A warehouse may be locked for hours. */
const graceMs = 8000;

/** @throws the reason of the signal if the work has not ended within the grace after it. */
async function untilStopped<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const stopped = once(signal, 'abort', { signal: done.signal })
    .then(() => delay(graceMs, undefined, { signal: done.signal }))
    .then(() => Promise.reject(signal.reason));
  try {
    return await (signal.aborted ? work : Promise.race([work, stopped]));
  } finally {
    stopped.catch(() => {});
    work.catch(() => {});
    done.abort();
  }
}

async function withSystems<T>(context: Context, wait: Progress['wait'], work: (app: App) => Promise<T>): Promise<T> {
  const config = context.config();
  await using opened = new AsyncDisposableStack();
  const watching = watchLockWaits(config.warehouseDatabaseUrl, (text) => wait(text));
  opened.defer(() => watching.close());
  await using app = await openApp(config, {
    // Without LOG_LEVEL a person at a terminal reads the error that the command ends with, not its line of the log too.
    log: await context.log(context.terminal.isTerminal ? 'fatal' : 'error'),
    onWait: ({ reason, untilMs }) => wait(reason, untilMs),
  });
  return await work(app);
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
