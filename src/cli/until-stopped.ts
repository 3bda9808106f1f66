import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { watchLockWaits } from '../warehouse/lock-waits.ts';
import type { Command, Context } from './command.ts';
import type { Surroundings } from './program.ts';

/** Whether a command finishes what servers of its own have in hand before it ends. */
const isServer = ({ isSilent, hasServers }: Command) => isSilent === true || hasServers === true;

/** How long a command that is stopped may take to say how far it came, in milliseconds. A warehouse may be locked for hours. */
export const graceMs = (command: Command): number => (isServer(command) ? 20_000 : 2000);

/**
 * Does the work of a command in view of a person: says for which lock it waits in the warehouse, and gives it up if it has
 * not ended soon after a signal.
 *
 * @throws the reason of the signal if the work has not ended within the grace after it.
 */
export async function untilStopped<T>(
  { signal, environment, writeError }: Pick<Surroundings, 'signal' | 'writeError'> & Pick<Context, 'environment'>,
  command: Command,
  work: () => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const stopped = once(signal, 'abort', { signal: done.signal })
    .then(() => delay(graceMs(command), undefined, { signal: done.signal }))
    .then(() => Promise.reject(signal.reason));
  // `serve` and `worker` log such waits; the others use no warehouse of a user.
  const url = isServer(command) ? undefined : environment.WAREHOUSE_DATABASE_URL?.trim();
  const watching = url && watchLockWaits(url, (text) => writeError(`waiting: ${text}\n`));
  const working = work();
  try {
    return await (signal.aborted ? working : Promise.race([working, stopped]));
  } finally {
    stopped.catch(() => {});
    working.catch(() => {});
    done.abort();
    const closing = watching ? watching.close() : undefined;
    // After a signal no server that hangs is waited for: the connections end with the process.
    if (!signal.aborted) await closing;
  }
}
