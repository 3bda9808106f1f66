import { setTimeout as delay } from 'node:timers/promises';
import { type Job as BullJob, UnrecoverableError, WaitingChildrenError, WaitingError } from 'bullmq';
import type { Counts } from '../base/counts.ts';
import { describeError, describeWithHint, IncompleteError, ReviewSyncError } from '../base/errors.ts';
import { type Logger, withRun } from '../base/log.ts';
import { throttled, withTimeout } from '../base/timeout.ts';
import type { QueueClasses } from './connection.ts';
import type { QueueName, StepData } from './index.ts';
import { named, type RunReport, type StepJob } from './job.ts';
import { type RunOptions, runRun } from './run-stages.ts';
import { whileOpen } from './while-open.ts';

export type WorkerOptions<Context> = RunOptions<Context> & {
  /** Which queues to take from; a command leaves `scheduled` to real workers. */
  take: readonly QueueName[];
  /** Steps at a time. */
  concurrency: number;
  log: Logger;
  /** Called for each step that ended, with its counts, or undefined where it failed. */
  onStep?: ((name: string, counts: Counts | undefined, seconds: number) => void) | undefined;
  /** Called when the queue fails, or a run or a step failed and will be tried again. The worker retries until closed. */
  onRetry?: ((reason: string) => void) | undefined;
  /** Aborted when the time to finish running jobs is over. */
  abort: AbortController;
};

export type RunningWorker = {
  /** Finishes running jobs for at most `graceMs`, then returns the rest to the queue. */
  close(graceMs?: number): Promise<void>;
};

/** Runs at a time. While its steps are running, a run takes no slot. */
const runsAtATime = 8;

/** Between two questions for a job where the first one failed, in milliseconds. */
const errorDelayMs = 1000;

/** A worker that waits looks for jobs at least this often, as BullMQ does by itself where no job is delayed. */
const longestWaitSeconds = 5;

type BullWorker = InstanceType<QueueClasses['Worker']>;

/**
 * Runs jobs until closed. A handler may run twice at the same time: another worker takes over a job that seems stalled.
 *
 * @throws ReviewSyncError when the queue does not respond.
 */
export async function startWorker<Context>(options: WorkerOptions<Context>): Promise<RunningWorker> {
  const workers: BullWorker[] = [];
  const close = async (graceMs = 10_000) => {
    const timer = setTimeout(() => options.abort.abort(), graceMs);
    const closing = Promise.all(workers.map((worker) => worker.close()));
    const timeoutError = () => new ReviewSyncError('queue', 'The queue takes no jobs back');
    try {
      await withTimeout(closing, graceMs + returnJobsMs, timeoutError);
    } catch {
      // A server that is down takes no jobs back. Their locks expire by themselves.
      options.log.warn('the queue did not take all jobs back in time; another worker takes them over');
    } finally {
      clearTimeout(timer);
    }
  };
  try {
    for (const name of options.take) {
      const worker = makeWorker(options, name);
      workers.push(worker);
      await worker.waitUntilReady();
    }
    for (const worker of workers) worker.run().catch((error: unknown) => options.onRetry?.(queueProblem(error)));
  } catch (cause) {
    await close(0).catch(() => {});
    throw new ReviewSyncError('queue', 'The queue (QUEUE_URL) cannot be used', { cause });
  }
  return { close };
}

function makeWorker<Context>(options: WorkerOptions<Context>, name: QueueName): BullWorker {
  const { queues, log, abort } = options;
  const isSteps = name === 'steps';
  const worker = new queues.classes.Worker(
    queues.names[name],
    (job, token) =>
      returnWhenAborted<Counts | RunReport>(job, token, abort.signal, () =>
        isSteps
          ? withRun((job.data as StepData).runId, () => runStep(options, job, abort.signal))
          : withRun(String(job.id), () => runRun(options, job, token, abort.signal)),
      ),
    {
      connection: queues.classes.connection,
      ...queues.classes.telemetry,
      concurrency: isSteps ? options.concurrency : runsAtATime,
      autorun: false,
      // A job is taken over after its lock has expired (600 of 1000) and a worker has looked for expired locks (400 of
      // 1000).
      lockDuration: options.takeOverSeconds * 600,
      stalledInterval: options.takeOverSeconds * 400,
      maxStalledCount: 20,
    },
  );
  // BullMQ asks for the next job again at once, thousands of times a second, unless the connection is refused: a Redis that
  // is full and a Postgres that takes no connections answer with other errors.
  const { moveToActive } = worker as unknown as { moveToActive(...given: unknown[]): Promise<BullJob | undefined> };
  const takeNext = (...given: unknown[]) =>
    moveToActive.apply(worker, given).catch(async (error: unknown) => {
      await delay(errorDelayMs);
      throw error;
    });
  Object.defineProperty(worker, 'moveToActive', { value: takeNext });
  // On Postgres, BullMQ would wait up to an hour after a wait that failed: nobody is notified when a delayed job is
  // due, and the question when that is may fail too while a server restarts.
  Object.defineProperty(worker, 'maximumBlockTimeout', { value: longestWaitSeconds });
  // A server that is down fails several times a second.
  const logError = throttled(10_000, (text) => log.warn({ queue: name, error: text }, 'queue error'));
  worker.on('error', (error) => {
    logError(describeWithHint(error));
    options.onRetry?.(queueProblem(error));
  });
  worker.on('stalled', (id) => log.warn({ queue: name, id }, 'taking over a job of a worker that is gone'));
  worker.on('failed', (job, error) => {
    const willRetry = job?.finishedOn === undefined;
    const facts = { job: job?.name, id: job?.id, error: describeError(error) };
    if (willRetry) {
      log.warn(facts, 'job failed; it will be retried');
      options.onRetry?.(`a step of the run failed; trying again: ${describeError(error)}`);
    } else {
      log.error(facts, 'job failed');
    }
  });
  return worker;
}

export const queueProblem = (error: unknown) => `the queue cannot be used; trying again: ${describeWithHint(error)}`;

/** Time to return aborted jobs to the queue. */
const returnJobsMs = 5000;

async function returnWhenAborted<T>(
  job: BullJob,
  token: string | undefined,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!signal.aborted || error instanceof WaitingChildrenError) throw error;
    await job.moveToWait(token);
    throw new WaitingError();
  }
}

async function runStep<Context>(options: WorkerOptions<Context>, job: BullJob, signal: AbortSignal): Promise<Counts> {
  const steps = options.jobs.map((one) => one.step as StepJob<Context, unknown>);
  const step = named(steps, job.name);
  const data = job.data as StepData;
  const startedMs = performance.now();
  const report = (counts?: Counts) => options.onStep?.(job.name, counts, (performance.now() - startedMs) / 1000);
  const work = async (watched: AbortSignal) => {
    const at = { runId: data.runId, signal: watched };
    const counts = await step.run(options.context, step.parse(data.payload), at);
    report(counts);
    return counts;
  };
  try {
    return await whileOpen<Counts>(options, data.runId, signal, work, () => ({}));
  } catch (error) {
    if (!signal.aborted) report();
    // An IncompleteError is permanent: a retry would fail in the same way.
    if (error instanceof IncompleteError) throw new UnrecoverableError(describeError(error));
    // The queue keeps the message only.
    throw new Error(describeWithHint(error), { cause: error });
  }
}
