import { setTimeout as sleep } from 'node:timers/promises';

/** Waits, in milliseconds; throws the signal's reason when it aborts. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    await sleep(delayMs, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
