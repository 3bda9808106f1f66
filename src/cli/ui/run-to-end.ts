import { endOf } from '../../../jobs/define-run.ts';
import { jobs } from '../../../jobs/index.ts';
import { settingsOf } from '../../../jobs/payload.ts';
import { type App, stepsAtATime } from '../../app/app.ts';
import { countsText } from '../../app/status-view.ts';
import { IncompleteError, ReviewSyncError } from '../../base/errors.ts';
import { sleep, withTimeout } from '../../base/timeout.ts';
import type { QueueName } from '../../queue/index.ts';
import type { AnyRunJob, RunReport } from '../../queue/job.ts';
import { queueProblem, type RunningWorker, startWorker, type WorkerOptions } from '../../queue/worker.ts';
import { beginRun, finishRun } from '../../warehouse/runs/runs.ts';
import type { Context, Report } from '../command.ts';
import { lineEveryMs, openProgress, type Progress } from './progress.ts';
import { requireShopQueries, withApp } from './with-app.ts';

/** A run to enqueue. `key`: what it is about. `replaces`: a run of the key that has not ended is stopped, not joined. */
export type RunRequest = { job: AnyRunJob<App>; payload: object; key?: string; replaces?: boolean };

/** Starts a worker in this process. Commands leave the scheduled runs to `worker`. */
export function workerOf(
  app: App,
  take: readonly QueueName[],
  listeners: Pick<WorkerOptions<App>, 'onStep' | 'onRetry'> = {},
): Promise<RunningWorker> {
  const { queues, log, now, abort } = app;
  const { takeOverSeconds } = app.config;
  const options = { queues, jobs, context: app, take, concurrency: stepsAtATime, takeOverSeconds, log, now, abort };
  return startWorker({ ...options, endOf: (runId) => endOf(app, runId), ...listeners });
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
 * @throws IncompleteError where the command is stopped.
 * @throws ReviewSyncError where the run failed, or the queue has lost it.
 */
export async function follow(
  app: Pick<App, 'queues'>,
  runId: string,
  { progress, signal, note }: Following,
): Promise<RunReport> {
  let respondedAtMs = performance.now();
  let [noted, notedAtMs] = ['', Number.NEGATIVE_INFINITY];
  while (!signal.aborted) {
    const at = await app.queues.progress(runId).catch((error: unknown) => {
      if (performance.now() - respondedAtMs > queueOutageMs) throw error;
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
    await sleep(lookEveryMs, signal).catch(() => {});
  }
  throw interrupted();
}

const interrupted = () =>
  new IncompleteError('Interrupted. Finished work is kept.', {
    hint: 'Run the same command again to continue. Other workers stop too, within a few seconds.',
  });

/**
 * Enqueues a run, or joins the one of the same key that has not ended. One that has been stopped is not joined, though
 * its steps may be in the queue until a worker looks at them. A backfill of orders joins none: what that one has read may
 * be older than a correction of the queries, and Ctrl-C must leave nothing that mails.
 */
async function enqueue(app: App, request: RunRequest): Promise<{ id: string; joined: boolean }> {
  const { job, key, replaces = false } = request;
  const payload = { ...request.payload, settings: settingsOf(app) };
  const run = await app.queues.enqueue(job, payload, key);
  if (!run.joined || (!replaces && !(await endOf(app, run.id)))) return run;
  await abandon(app, run.id, request, 'the same command was run again, which reads everything again');
  await app.queues.forgetKey(run.id);
  return app.queues.enqueue(job, payload, key);
}

/** Enqueues a run for running workers. */
export async function enqueueOnly(app: App, request: RunRequest): Promise<Report> {
  const { id, joined } = await enqueue(app, request);
  const text = `${joined ? 'It is running already' : 'Enqueued'}: ${id}. Progress: npx review-sync status`;
  return { text, json: { run: id, joined } };
}

/**
 * Enqueues a run and works on it in this process to its end, alone or together with running workers. An interruption
 * ends the run, one that it joined too: the steps of this process at once, those of others within seconds.
 *
 * @throws as `follow`; IncompleteError also where the command was stopped before, as between the two runs of a reconcile.
 */
export async function runToEnd(app: App, request: RunRequest, following: Following): Promise<RunReport> {
  const { progress, signal } = following;
  if (signal.aborted) throw interrupted();
  const { id, joined } = await enqueue(app, request);
  if (joined) app.log.info({ run: id }, 'this run has started already; joining it');
  const worker = await workerOf(app, ['runs', 'steps'], { onRetry: progress.wait });
  try {
    return await follow(app, id, following);
  } finally {
    progress.stop();
    const closing = worker.close(signal.aborted ? 0 : undefined);
    if (signal.aborted) await endInterrupted(app, id, request).finally(() => closing);
    await closing;
  }
}

async function endInterrupted(app: App, id: string, request: RunRequest): Promise<void> {
  try {
    const error = 'a command was stopped by Ctrl-C, SIGTERM or the end of its terminal. Run it again to continue';
    await abandon(app, id, request, error);
  } catch (cause) {
    const message = 'Interrupted, but the run could not be ended: the next worker or command continues it';
    throw new ReviewSyncError('run', message, { cause });
  }
}

/**
 * Ends a run in the warehouse, unless it has ended, whether a worker has begun it or not. The queue may be away.
 *
 * @throws ReviewSyncError where the warehouse does not respond within five seconds: a person waits.
 */
function abandon(app: App, id: string, { job, key }: RunRequest, error: string): Promise<void> {
  const { warehouse, now } = app;
  const end = async () => {
    await beginRun(warehouse.db, { id, job: job.name, key, trigger: 'command', startedAt: now() });
    await finishRun(warehouse.db, id, { finishedAt: now(), outcome: 'abandoned', error });
  };
  const late = () => new ReviewSyncError('warehouse', 'The warehouse did not respond within 5 seconds');
  return withTimeout(end(), 5000, late);
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
