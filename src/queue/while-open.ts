import { repeat } from '../base/timeout.ts';
import type { RunReport } from './job.ts';

/** How a run ended; undefined where it has not. */
export type EndOf = (runId: string) => Promise<RunReport | undefined>;

/**
 * Does `work` for a run, and stops it when the run has ended elsewhere: somebody stopped the run, or another worker
 * concluded it. Where the run has ended before, nothing is done.
 *
 * @param work gets a signal that aborts with `signal`, and within a second of the end of the run. Work that ignores it
 *   goes on to its own end.
 * @param instead the result in place of work that was not done or was stopped. @param end how the run ended.
 */
export async function whileOpen<T>(
  { endOf }: { endOf: EndOf },
  runId: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  instead: (end: RunReport) => T,
): Promise<T> {
  let end = await endOf(runId);
  if (end) return instead(end);
  const stop = new AbortController();
  const watch = repeat(lookForEndMs, async () => {
    end ??= await endOf(runId).catch(() => undefined);
    if (end) stop.abort();
  });
  try {
    return await work(AbortSignal.any([signal, stop.signal]));
  } catch (error) {
    if (end) return instead(end);
    throw error;
  } finally {
    void watch.close();
  }
}

/**
 * How often to look whether the run has ended, in milliseconds. A worker has eight steps of 500 orders in hand: it would
 * send 4,000 orders after Ctrl-C if it finished them.
 */
const lookForEndMs = 1000;
