import { once } from 'node:events';
import type { App } from '../app/app.ts';
import { requireSameShop } from '../app/require-same-shop.ts';
import { IncompleteError, ReviewSyncError } from '../base/errors.ts';
import { sleep } from '../base/timeout.ts';
import { queueProblem } from '../queue/worker.ts';
import { findRun, noteAttended, type Run } from '../warehouse/runs/runs.ts';
import type { RunReport } from './define-run.ts';
import { endInterrupted } from './end-run.ts';
import { startRunWorker } from './run-worker.ts';
import { type RunRequest, startRun } from './start-run.ts';

export type Following = {
  onProgress(ended: number, planned: number | undefined, note: string): void;
  onRetry(reason: string): void;
  signal: AbortSignal;
  /** The progress of the run so far, requested every two seconds. */
  note?: ((runId: string) => Promise<string>) | undefined;
};

/** How often to ask the queue whether the run's job has ended. */
const askEveryMs = 200;
/** How often to read the run's progress and its row: if a person ends the run, the row ends before the job. */
const lookEveryMs = 2000;
/** The command ends when the queue does not respond for this long. Running workers continue the run. */
const queueOutageMs = 120_000;

/** Waits for a run to end and shows its progress. @throws IncompleteError on an abort; ReviewSyncError if it failed. */
export async function followRun(
  app: Pick<App, 'queues' | 'warehouse'>,
  runId: string,
  { onProgress, onRetry, signal, note }: Following,
): Promise<RunReport> {
  let respondedAtMs = performance.now();
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let noted = '';
  // Ctrl-C does not wait for a queue that is down.
  const stopped = once(signal, 'abort').then(() => undefined);
  while (!signal.aborted) {
    const asked = app.queues.progress(runId).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      if (performance.now() - respondedAtMs > queueOutageMs) throw error;
      onRetry(queueProblem(error));
      return undefined;
    });
    const at = await Promise.race([asked, stopped]);
    if (signal.aborted) break;
    if (at) respondedAtMs = performance.now();
    const isOver = at !== undefined && at.state !== 'running';
    const isLook = performance.now() - lookedAtMs >= lookEveryMs;
    // If only the note cannot be read, ignore that: the run itself reports errors of the database.
    if (isOver || isLook) noted = (await note?.(runId).catch(() => undefined)) ?? noted;
    if (at) onProgress(at.ended, at.planned, noted);
    if (isOver) return recordedEnd(await findRun(app.warehouse.db, runId), at.error);
    if (isLook) {
      lookedAtMs = performance.now();
      const run = await findRun(app.warehouse.db, runId).catch(() => undefined);
      if (run?.finishedAt) return recordedEnd(run, undefined);
    }
    await sleep(askEveryMs, signal).catch(() => {});
  }
  throw interrupted();
}

/** How a run ended, as its command reports it; undefined if it has not. */
export function endOf({ outcome, counts, reason, error }: Run): RunReport | undefined {
  if (outcome === null) return undefined;
  if (outcome === 'done') return { outcome, counts };
  return { outcome: 'incomplete', counts, reason: reason ?? 'problem', error: error ?? '' };
}

/** The end of a run after its job has ended, or is gone from the queue. The row of the run says which. */
function recordedEnd(run: Run | undefined, jobError: string | undefined): RunReport {
  const report = run && endOf(run);
  if (report && run.outcome !== 'failed') return report;
  // If the queue has lost a run, a worker still attends to it, so the same command would join it again.
  const isOpen = run && !report && jobError === undefined;
  const first = `correct QUEUE_URL if a worker has another one, or end the run, review-sync runs end ${run?.id}, and `;
  const hint = `Nothing is lost; ${isOpen ? first : ''}run it again. review-sync doctor says what is broken.`;
  throw new ReviewSyncError('run', run?.error ?? jobError ?? 'the run is no longer in the queue', { hint });
}

const interrupted = () =>
  new IncompleteError('Interrupted. Finished work is kept.', {
    hint: 'Run the same command again to continue. Other workers stop too, within a few seconds.',
  });

/**
 * Starts a run and works on it in this process to its end, alone or together with running workers. An interruption ends
 * the run, even if this process only joined it: its own steps end at once, steps of other processes within seconds.
 *
 * @throws as `followRun`.
 */
export async function runToEnd(app: App, request: RunRequest, following: Following): Promise<RunReport> {
  const { signal, onRetry } = following;
  const { db } = app.warehouse;
  // Ctrl-C does not wait for a shop or a warehouse that hangs.
  if (request.job.readsShop) await Promise.race([requireSameShop({ shop: app.shop, db }), once(signal, 'abort')]);
  if (signal.aborted) throw interrupted();
  const { id, joined } = await startRun(app, request);
  if (joined) app.log.info({ run: id }, 'this run has started already; joining it');
  async function runsToCarryOut(): Promise<Run[]> {
    const run = await findRun(db, id);
    if (!run || run.finishedAt) return [];
    await noteAttended(db, [id], app.currentWait());
    return [run];
  }
  const worker = await startRunWorker(app, { jobs: [request.job], onRetry, runsToCarryOut });
  try {
    return await followRun(app, id, following);
  } finally {
    const closing = worker.close(signal.aborted ? 0 : undefined);
    if (signal.aborted) await endInterrupted(app, id);
    await closing;
  }
}
