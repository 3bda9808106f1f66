import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for `work`, but no longer than `timeoutMs`. The work is not cancelled: a later result is ignored.
 *
 * @param timeoutError makes the error to throw; it may first find out why there is no result.
 */
export async function withTimeout<T>(
  work: Promise<T>,
  timeoutMs: number,
  timeoutError: () => Error | Promise<Error>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => void Promise.resolve().then(timeoutError).then(reject, reject), timeoutMs);
  });
  try {
    return await Promise.race([work, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits `delayMs` milliseconds. Throws the signal's reason when the signal aborts. */
export async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await delay(delayMs, undefined, { signal }).catch(() => {});
  signal.throwIfAborted();
}

/** Runs `work` now, and `everyMs` milliseconds after each end. `work` must not throw. `close` waits for its end. */
export function repeat(everyMs: number, work: () => Promise<void>): { close(): Promise<void> } {
  const closing = new AbortController();
  const ended = (async () => {
    while (!closing.signal.aborted) {
      await work();
      await sleep(everyMs, closing.signal).catch(() => {});
    }
  })();
  return {
    async close() {
      closing.abort();
      await ended;
    },
  };
}
