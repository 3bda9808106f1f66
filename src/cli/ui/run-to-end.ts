import { jobs } from '../../../jobs/index.ts';
import { type App, stepsAtATime } from '../../app/app.ts';
import { countsText } from '../../app/status-view.ts';
import { type Alarm, openAlarm } from '../../base/alarm.ts';
import { describeError, describeWithHint, IncompleteError, ReviewSyncError } from '../../base/errors.ts';
import { explainError } from '../../base/hints.ts';
import type { QueueName } from '../../queue/index.ts';
import type { AnyRunJob, RunReport } from '../../queue/job.ts';
import { type RunningWorker, startWorker, type WorkerOptions } from '../../queue/worker.ts';
import { findRun } from '../../warehouse/runs/runs.ts';
import type { Report } from '../command.ts';
import type { Progress } from './progress.ts';

/** How often a command looks whether its run has ended in another process. */
const pollMs = 200;

/** Starts a worker in this process. Commands leave the scheduled runs to `worker`. */
export function workerOf(
  app: App,
  take: readonly QueueName[],
  listeners: Pick<WorkerOptions<App>, 'onStep' | 'onRun' | 'onQueueError' | 'onRetry'> = {},
): Promise<RunningWorker> {
  const { queues, log, now, abort } = app;
  return startWorker({
    queues,
    jobs,
    context: app,
    take,
    concurrency: stepsAtATime,
    takeOverSeconds: app.config.takeOverSeconds,
    log,
    now,
    abort,
    ...listeners,
  });
}

export type Following = {
  progress: Progress;
  signal: AbortSignal;
  /** What the run has brought so far. */
  note?: (runId: string) => Promise<string>;
  /** Rings when a run has ended in this process. */
  alarm?: Alarm;
  /** How often to look at the run, in milliseconds, where no alarm rings. */
  everyMs?: number;
};

/** The command ends when the queue does not respond for this long. Running workers continue the run. */
const queueOutageMs = 120_000;

/** Waits for a run to end and shows its progress. Any worker may do the work. */
export async function follow(
  app: Pick<App, 'queues' | 'warehouse'>,
  runId: string,
  { progress, signal, note, alarm = openAlarm(), everyMs = pollMs }: Following,
): Promise<RunReport> {
  const onQueueError = showQueueError(progress);
  let respondedAtMs = performance.now();
  for (;;) {
    const at = await app.queues.progress(runId).catch((error: unknown) => {
      if (performance.now() - respondedAtMs > queueOutageMs || signal.aborted) throw error;
      onQueueError(error);
      return undefined;
    });
    if (at !== undefined) {
      respondedAtMs = performance.now();
      // Where only the note cannot be read, nothing is missing: the run itself reports errors of the database.
      progress.update(at.ended, at.planned, await note?.(runId).catch(() => ''));
      if (at.state === 'ended' && at.report) return at.report;
      if (at.state === 'ended' || at.state === 'failed' || at.state === 'lost') {
        return await recordedReport(app, runId, at.error);
      }
    }
    if (signal.aborted) {
      throw new IncompleteError('Interrupted. Finished work is kept.', {
        hint: 'Run the same command again to continue; running workers continue by themselves.',
      });
    }
    await alarm.wait(everyMs);
  }
}

/**
 * The report of a run whose job failed or was removed. The warehouse has it, even where only the end of the job could
 * not be written.
 *
 * @param failure why the job failed; undefined where it was removed.
 * @throws ReviewSyncError where the run failed, or had not ended.
 */
async function recordedReport(
  app: Pick<App, 'warehouse'>,
  runId: string,
  failure: string | undefined,
): Promise<RunReport> {
  const run = await findRun(app.warehouse.db, runId);
  if (run?.outcome !== 'done' && run?.outcome !== 'incomplete') {
    throw new ReviewSyncError('run', failure ?? run?.error ?? 'the run is no longer in the queue', {
      hint: 'Nothing is lost; run it again. npx review-sync doctor says what is broken.',
    });
  }
  const { outcome, counts, reason, error } = run;
  return { outcome, counts, ...(reason && { reason }), ...(error !== null && { error }) };
}

/** Shows why the queue fails, once for each reason: a full disk, a server that is down. */
function showQueueError({ wait }: Progress): (error: unknown) => void {
  let shown: string | undefined;
  return (error) => {
    const reason = explainError(error)?.what ?? describeError(error);
    if (reason === shown) return;
    shown = reason;
    wait(`the queue cannot be used; trying again: ${describeWithHint(error)}`, undefined);
  };
}

/** Shows that a failed run or step is retried, once for each reason. */
function showRetry({ wait }: Progress): (reason: string) => void {
  let shown: string | undefined;
  return (reason) => {
    if (reason !== shown) wait(`a step of the run failed; trying again: ${reason}`, undefined);
    shown = reason;
  };
}

/** A run to enqueue. */
type RunRequest = { job: AnyRunJob<App>; payload: unknown; key?: string };

/** Enqueues a run for running workers. */
export async function enqueueOnly(app: App, { job, payload, key }: RunRequest): Promise<Report> {
  const { id, joined } = await app.queues.enqueue(job, payload, key);
  const text = `${joined ? 'It is running already' : 'Enqueued'}: ${id}. Progress: npx review-sync status`;
  return { text, json: { run: id, joined } };
}

/** Enqueues a run and works on it in this process to its end, alone or together with running workers. */
export async function runToEnd(app: App, run: RunRequest, following: Following): Promise<RunReport> {
  const [ended] = await runAllToEnd(app, [run], following);
  if (ended?.status === 'fulfilled') return ended.value;
  throw ended?.reason;
}

/** The same for several runs, which go on beside each other. What stops one of them does not stop the others. */
export async function runAllToEnd(
  app: App,
  runs: readonly RunRequest[],
  following: Following,
): Promise<PromiseSettledResult<RunReport>[]> {
  const { progress } = following;
  const ids: string[] = [];
  for (const { job, payload, key } of runs) {
    const { id, joined } = await app.queues.enqueue(job, payload, key);
    if (joined) app.log.info({ run: id }, 'this run has started already; joining it');
    ids.push(id);
  }
  const followed = progressOfAll(progress, runs.length).map((own) => ({
    ...following,
    progress: own,
    alarm: openAlarm(),
  }));
  const worker = await workerOf(app, ['runs', 'steps'], {
    onRun: () => {
      for (const { alarm } of followed) alarm.ring();
    },
    onQueueError: showQueueError(progress),
    onRetry: showRetry(progress),
  });
  try {
    return await Promise.allSettled(followed.map((one, index) => follow(app, ids[index] ?? '', one)));
  } finally {
    progress.stop();
    await worker.close();
  }
}

/**
 * What each of several runs reports its progress to. Their sum is shown: it has a total once all of them are planned.
 */
function progressOfAll(progress: Progress, count: number): Progress[] {
  const runs = Array.from({ length: count }, () => ({ ended: 0, planned: Number.NaN }));
  const sum = (key: 'ended' | 'planned') => runs.reduce((all, run) => all + run[key], 0);
  return runs.map((run) => ({
    ...progress,
    update(ended, planned = Number.NaN, note) {
      Object.assign(run, { ended, planned });
      const total = sum('planned');
      progress.update(sum('ended'), Number.isNaN(total) ? undefined : total, note);
    },
  }));
}

/** Draws the report of a run, in the same way for every command. */
export function drawRun(title: string, report: RunReport): Report {
  const counts = countsText(report.counts);
  const summary =
    `${title}: ${report.outcome}. ${counts || (report.outcome === 'done' ? 'Nothing to do.' : '')}`.trimEnd();
  const text = report.error ? `${summary}\n${report.error}` : summary;
  return { text, json: report, incomplete: report.outcome !== 'done' };
}
