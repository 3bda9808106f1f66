import { jobs } from '../../../jobs/index.ts';
import { type App, stepsAtATime } from '../../app/app.ts';
import { countsText } from '../../app/status-view.ts';
import { IncompleteError, ReviewSyncError } from '../../base/errors.ts';
import { sleep } from '../../base/timeout.ts';
import type { QueueName } from '../../queue/index.ts';
import type { AnyRunJob, RunReport } from '../../queue/job.ts';
import { queueProblem, type RunningWorker, startWorker, type WorkerOptions } from '../../queue/worker.ts';
import { finishRun } from '../../warehouse/runs/runs.ts';
import type { Context, Report } from '../command.ts';
import { lineEveryMs, openProgress, type Progress } from './progress.ts';
import { requireShopQueries, withApp } from './with-app.ts';

/** A run to enqueue. `key`: what it is about; a run of the same key that has not ended is joined. */
export type RunRequest = { job: AnyRunJob<App>; payload: unknown; key?: string };

/** Starts a worker in this process. Commands leave the scheduled runs to `worker`. */
export function workerOf(
  app: App,
  take: readonly QueueName[],
  listeners: Pick<WorkerOptions<App>, 'onStep' | 'onRetry'> = {},
): Promise<RunningWorker> {
  const { queues, log, now, abort } = app;
  const { takeOverSeconds } = app.config;
  const options = { queues, jobs, context: app, take, concurrency: stepsAtATime, takeOverSeconds, log, now, abort };
  return startWorker({ ...options, ...listeners });
}

export type Following = {
  progress: Progress;
  signal: AbortSignal;
  /** What the run has brought so far: asked for every two seconds, as often as a log gets a line. */
  note?: (runId: string) => Promise<string>;
};

/** How often to look whether the run has ended, in milliseconds. */
const lookEveryMs = 200;

/** The command ends when the queue does not respond for this long. Running workers continue the run. */
const queueOutageMs = 120_000;

/**
 * Waits for a run to end and shows its progress. Any worker may do the work.
 *
 * @throws ReviewSyncError where the run failed, or the queue has lost it.
 */
export async function follow(
  app: Pick<App, 'queues'>,
  runId: string,
  { progress, signal, note }: Following,
): Promise<RunReport> {
  let respondedAtMs = performance.now();
  let [noted, notedAtMs] = ['', Number.NEGATIVE_INFINITY];
  for (;;) {
    const at = await app.queues.progress(runId).catch((error: unknown) => {
      if (performance.now() - respondedAtMs > queueOutageMs || signal.aborted) throw error;
      progress.wait(queueProblem(error));
      return undefined;
    });
    if (at !== undefined) {
      respondedAtMs = performance.now();
      if (note && (at.report || performance.now() - notedAtMs >= lineEveryMs)) {
        // Where only the note cannot be read, nothing is missing: the run itself reports errors of the database.
        noted = await note(runId).catch(() => '');
        notedAtMs = performance.now();
      }
      progress.update(at.ended, at.planned, noted);
      if (at.report) return at.report;
      if (at.state !== 'running') {
        throw new ReviewSyncError('run', at.error ?? 'the run is no longer in the queue', {
          hint: 'Nothing is lost; run it again. npx review-sync doctor says what is broken.',
        });
      }
    }
    if (signal.aborted) {
      throw new IncompleteError('Interrupted. Finished work is kept.', {
        hint: 'Run the same command again to continue. A worker that has part of it in hand goes on by itself.',
      });
    }
    await sleep(lookEveryMs, signal).catch(() => {});
  }
}

/** Enqueues a run for running workers. */
export async function enqueueOnly(app: App, { job, payload, key }: RunRequest): Promise<Report> {
  const { id, joined } = await app.queues.enqueue(job, payload, key);
  const text = `${joined ? 'It is running already' : 'Enqueued'}: ${id}. Progress: npx review-sync status`;
  return { text, json: { run: id, joined } };
}

/**
 * Enqueues a run and works on it in this process to its end, alone or together with running workers. An interruption
 * ends the steps of this process at once. Where no worker is at the run either, it leaves the queue: the next command,
 * whatever it is, would continue it, with the contact that it may send.
 */
export async function runToEnd(app: App, { job, payload, key }: RunRequest, following: Following): Promise<RunReport> {
  const { progress } = following;
  const { id, joined } = await app.queues.enqueue(job, payload, key);
  if (joined) app.log.info({ run: id }, 'this run has started already; joining it');
  const worker = await workerOf(app, ['runs', 'steps'], { onRetry: progress.wait });
  try {
    return await follow(app, id, following);
  } finally {
    progress.stop();
    const isInterrupted = following.signal.aborted;
    await worker.close(isInterrupted ? 0 : undefined);
    if (isInterrupted && !joined && (await app.queues.withdraw(id))) {
      const end = { finishedAt: app.now(), outcome: 'abandoned' } as const;
      await finishRun(app.warehouse.db, id, end, { onlyOpen: true });
    }
  }
}

/** Draws the report of a run, in the same way for every command. */
export function drawRun(title: string, report: RunReport): Report {
  const counts = countsText(report.counts);
  const summary =
    `${title}: ${report.outcome}. ${counts || (report.outcome === 'done' ? 'Nothing to do.' : '')}`.trimEnd();
  const text = report.error ? `${summary}\n${report.error}` : summary;
  return { text, json: report, incomplete: report.outcome !== 'done' };
}

/** A command that runs one job to its end and reports it. @param unit of its steps. */
export function runJob(
  context: Context,
  title: string,
  unit: string,
  job: AnyRunJob<App>,
  readsShop: boolean,
): Promise<Report> {
  const progress = openProgress(context.terminal, title, unit);
  return withApp(context, progress, async (app) => {
    if (readsShop) await requireShopQueries(app);
    return drawRun(title, await runToEnd(app, { job, payload: {} }, { progress, signal: context.signal }));
  });
}
