import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * How long a test waits for what usually takes a moment, in milliseconds: 20 s, longer in proportion where more
 * processes wait for the machine than it has cores. A limit finds what hangs; how fast the machine is must not decide.
 */
export function patienceMs(seconds = 20): number {
  return seconds * 1000 * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}

/**
 * Waits until the condition holds, and returns what it saw.
 *
 * @param seconds fails after so long on an idle machine, see `patienceMs`.
 */
export async function until<T>(look: () => Promise<T | undefined | false>, seconds = 20): Promise<T> {
  const startedMs = performance.now();
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.5, 250)) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > patienceMs(seconds)) {
      throw new Error(`the condition did not hold within ${Math.round(waitedMs / 1000)} s: ${look.toString()}`);
    }
    await delay(pauseMs);
  }
}
