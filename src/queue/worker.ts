import { setTimeout as delay } from 'node:timers/promises';
import { type Job as BullJob, UnrecoverableError, WaitingChildrenError, WaitingError } from 'bullmq';
import type { Counts } from '../base/counts.ts';
import { describeError, describeWithHint, IncompleteError, ReviewSyncError } from '../base/errors.ts';
import { type Logger, withRun } from '../base/log.ts';
import { withTimeout } from '../base/timeout.ts';
import type { QueueClasses } from './connection.ts';
import { type QueueName, queueNames, type StepData } from './index.ts';
import { named, type RunReport, type StepJob } from './job.ts';
import { type RunOptions, runInfo, runRun } from './run-stages.ts';

export type WorkerOptions<Context> = RunOptions<Context> & {
  /** Which queues to take from; a command leaves `scheduled` to real workers. */
  take: readonly QueueName[];
  /** Steps at a time. */
  concurrency: number;
  /** Another worker takes over the jobs of a dead one after this many seconds at most. */
  takeOverSeconds: number;
  log: Logger;
  /** Called for each step that ended, with its counts, or undefined where it failed. */
  onStep?: ((name: string, counts: Counts | undefined, seconds: number) => void) | undefined;
  /** Called when a run ended, whatever its outcome. */
  onRun?: (() => void) | undefined;
  /** Called when the queue fails. The worker retries until it is closed. */
  onQueueError?: ((error: unknown) => void) | undefined;
  /** Called when a run or a step failed and will be retried. */
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

/** A worker that waits looks for jobs at least this often, as BullMQ does by itself where no job is delayed. */
const longestWaitSeconds = 5;

type BullWorker = InstanceType<QueueClasses['Worker']>;

/**
 * Runs jobs until closed. A handler may run twice at the same time: another worker takes over a job that seems stalled.
 *
 * @throws ReviewSyncError when the queue does not respond for a minute.
 */
export async function startWorker<Context>(given: WorkerOptions<Context>): Promise<RunningWorker> {
  const workers: BullWorker[] = [];
  const options = { ...given, recordings: new Set<Promise<void>>() };
  const close = async (graceMs = 10_000) => {
    const timer = setTimeout(() => options.abort.abort(), graceMs);
    const closing = Promise.all(workers.map((worker) => worker.close())).then(() => Promise.all(options.recordings));
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
    for (const name of options.take) workers.push(await openWorker(options, name));
    for (const worker of workers) worker.run().catch((error: unknown) => options.onQueueError?.(error));
  } catch (error) {
    await close(0).catch(() => {});
    throw error;
  }
  return { close };
}

/** `recordings`: ends of runs that are being recorded, which BullMQ does not wait for. */
type OpenWorkerOptions<Context> = WorkerOptions<Context> & { recordings: Set<Promise<void>> };

/** A BullMQ worker whose first connection failed never becomes ready, so each attempt opens a new one. */
async function openWorker<Context>(options: OpenWorkerOptions<Context>, name: QueueName): Promise<BullWorker> {
  options.queues.classes.addListener();
  for (let attempt = 1; ; attempt += 1) {
    const worker = makeWorker(options, name);
    try {
      await worker.waitUntilReady();
      return worker;
    } catch (cause) {
      await worker.close(true).catch(() => {});
      options.onQueueError?.(cause);
      if (attempt === openAttemptsAtMost)
        throw new ReviewSyncError('queue', 'The queue (QUEUE_URL) cannot be used', { cause });
      await delay(betweenOpeningsMs);
    }
  }
}
const openAttemptsAtMost = 60;
const betweenOpeningsMs = 1000;

function makeWorker<Context>(options: OpenWorkerOptions<Context>, name: QueueName): BullWorker {
  const { queues, log, abort } = options;
  const isSteps = name === 'steps';
  const worker = new queues.classes.Worker(
    queueNames[name],
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
  // On Postgres, BullMQ would wait up to an hour after a wait that failed: nobody is notified when a delayed job is
  // due, and the question when that is may fail too while a server restarts.
  Object.defineProperty(worker, 'maximumBlockTimeout', { value: longestWaitSeconds });
  const logError = throttled((text) => log.warn({ queue: name, error: text }, 'queue error'));
  worker.on('error', (error) => {
    logError(describeWithHint(error));
    options.onQueueError?.(error);
  });
  worker.on('stalled', (id) => log.warn({ queue: name, id }, 'taking over a job of a worker that is gone'));
  worker.on('completed', () => void (!isSteps && options.onRun?.()));
  worker.on('failed', (job, error) => {
    const willRetry = job?.finishedOn === undefined;
    const facts = { job: job?.name, id: job?.id, error: describeError(error) };
    if (willRetry) {
      log.warn(facts, 'job failed; it will be retried');
      options.onRetry?.(describeError(error));
    } else {
      log.error(facts, 'job failed');
    }
    if (!isSteps && !willRetry) options.onRun?.();
    if (!isSteps && !willRetry && job) {
      const recording = recordFailure(options, job, error).finally(() => options.recordings.delete(recording));
      options.recordings.add(recording);
    }
  });
  return worker;
}

/** Records the end of a run that the queue gave up because its workers died repeatedly. */
async function recordFailure<Context>(options: WorkerOptions<Context>, job: BullJob, error: Error): Promise<void> {
  try {
    await named(options.jobs, job.name).fail(options.context, runInfo(job, options.now()), describeError(error));
  } catch (cause) {
    // The next run to begin marks it as abandoned.
    options.log.warn(
      { job: job.name, id: job.id, error: describeError(cause) },
      'the end of the run could not be recorded',
    );
  }
}

/** Passes the same text on at most once in ten seconds: a server that is down fails several times a second. */
function throttled(write: (text: string) => void): (text: string) => void {
  let [last, lastAtMs] = ['', Number.NEGATIVE_INFINITY];
  return (text) => {
    const nowMs = performance.now();
    if (text === last && nowMs - lastAtMs < repeatAfterMs) return;
    [last, lastAtMs] = [text, nowMs];
    write(text);
  };
}
const repeatAfterMs = 10_000;

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
  try {
    const counts = await step.run(options.context, step.parse(data.payload), { runId: data.runId, signal });
    report(counts);
    return counts;
  } catch (error) {
    if (!signal.aborted) report();
    // An IncompleteError is permanent: a retry would fail in the same way.
    if (error instanceof IncompleteError) throw new UnrecoverableError(describeError(error));
    // The queue keeps the message only.
    throw new Error(describeWithHint(error), { cause: error });
  }
}
