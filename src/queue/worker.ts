import { DelayedError, type Job, WaitingChildrenError, WaitingError } from 'bullmq';
import { describeError, describeWithHint } from '../base/errors.ts';
import { addresses } from '../base/hints.ts';
import type { Logger } from '../base/log.ts';
import type { Outage } from '../base/outage.ts';
import { patchWorker } from './bullmq-patch.ts';
import type { QueueClasses } from './connection.ts';
import type { BullQueue, Queues } from './index.ts';
import { nextRun, settings } from './next-run.ts';

/** Errors that a handler may throw. Waiting: the run waits for its steps. Unrecoverable: the job is not retried. */
export { UnrecoverableError, WaitingChildrenError } from 'bullmq';
/** A job that this process holds. */
export type QueueJob = Job;

export type TakeOptions = {
  queues: Queues;
  /** Jobs at a time. */
  concurrency: number;
  /** Another worker takes over the jobs of a dead worker after at most this many seconds. */
  takeOverSeconds: number;
  log: Logger;
  /** Shared by all takers of this process. */
  queueOutage: Outage;
  /** Called when the queue fails, or a job failed and will be tried again. The worker retries until closed. */
  onRetry?: ((reason: string) => void) | undefined;
  /** Aborted when the time to finish running jobs is over. The jobs then go back to the queue. */
  abort: AbortSignal;
};

export type JobTaker = {
  /** Takes no further job, and waits for running jobs. */
  close(): Promise<void>;
};

/**
 * Takes jobs of one queue until closed. A handler may run twice at the same time: another worker takes over a job that
 * seems stalled.
 *
 * @param handle gets the job, and the token that proves our claim to the queue.
 * @throws the queue's error if it does not respond.
 */
export async function takeJobs(
  options: TakeOptions,
  queueName: string,
  handle: (job: QueueJob, token: string) => Promise<unknown>,
): Promise<JobTaker> {
  const { queues, log, queueOutage, abort } = options;
  const worker: InstanceType<QueueClasses['Worker']> = new queues.classes.Worker(
    queueName,
    (job, token = '') => returnWhenAborted(job, token, abort, () => handle(job, token)),
    {
      connection: queues.classes.connection,
      ...queues.classes.telemetry,
      settings,
      concurrency: options.concurrency,
      autorun: false,
      // A job is taken over after its lock has expired (600 of 1000) and a worker has looked for expired locks (400 of
      // 1000).
      lockDuration: options.takeOverSeconds * 600,
      stalledInterval: options.takeOverSeconds * 400,
      maxStalledCount: 20,
    },
  );
  patchWorker(worker, () => queueOutage.worked());
  // Locks of jobs that have just ended, or that another worker has taken over. BullMQ reports each as an error, too.
  let lostLocks = 0;
  worker.on('lockRenewalFailed', (ids) => {
    lostLocks += ids.length;
  });
  worker.on('error', (error) => {
    // A lost lock, or an error with a numeric code of BullMQ, comes from a queue that responds. It is no outage.
    const isLostLock = lostLocks > 0;
    if (isLostLock) lostLocks -= 1;
    // Once aborted, nothing is tried again.
    if (isLostLock || typeof (error as { code?: unknown }).code === 'number' || abort.aborted) return;
    queueOutage.failed(error);
    options.onRetry?.(queueProblem(error));
  });
  worker.on('stalled', (id) => log.warn({ queue: queueName, id }, 'taking over a job of a worker that is gone'));
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
  try {
    await worker.waitUntilReady();
  } catch (error) {
    await worker.close().catch(() => {});
    throw error;
  }
  worker.run().catch((error: unknown) => options.onRetry?.(queueProblem(error)));
  return { close: () => worker.close() };
}

/** Starts a run that is due. `dueId`: the id of the scheduled time. */
type StartDue = (jobName: string, dueId: string) => Promise<void>;

/** Due runs to start at a time. A start costs no work here: it waits for the brand's warehouse. */
const dueAtATime = 64;

/** How long to leave a due run to other processes, in milliseconds: the time that it has been due, 1 s to 60 s. */
const leftMs = (dueForMs: number) => Math.min(60_000, Math.max(1000, dueForMs));

export type DueTaker = ReturnType<typeof openDueTaker>;

/**
 * Takes the due runs of all brands with one connection to the queue. If the warehouse of a brand does not respond, the
 * first due run of each of its jobs waits, and later ones are dropped with a warning. Other brands are not delayed. Due
 * runs of a brand that this process does not serve go back to the queue for another process.
 */
export function openDueTaker(options: Omit<TakeOptions, 'queues' | 'concurrency'>) {
  const starts = new Map<string, StartDue>();
  const starting = new Set<string>();
  const left = new Set<string>();
  let taker: Promise<JobTaker> | undefined;
  async function start(scheduled: BullQueue, job: QueueJob, token: string): Promise<void> {
    const { name, id } = job;
    const [brand = '', jobName = ''] = name.split('/');
    const own = starts.get(brand);
    if (!own) {
      if (!left.has(brand)) options.log.warn({ brand }, 'its due runs are left to processes that serve the brand');
      left.add(brand);
      await leave(scheduled, job, token);
      options.log.warn({ brand, job: jobName }, 'due, and dropped: no process that serves the brand took it');
      return;
    }
    if (starting.has(name)) {
      options.log.warn({ brand, job: jobName }, 'due, and not started: the run before it is still being started');
      return;
    }
    starting.add(name);
    await own(jobName, String(id)).finally(() => starting.delete(name));
  }
  return {
    /** @throws the queue's error if it does not respond. */
    async take(queues: Queues, own: StartDue): Promise<JobTaker> {
      const brand = queues.prefix.slice(0, -1);
      const { scheduled } = queues;
      starts.set(brand, own);
      left.delete(brand);
      taker ??= takeJobs({ ...options, queues, concurrency: dueAtATime }, scheduled.name, (job, token) =>
        start(scheduled, job, token),
      );
      await taker.catch((error: unknown) => {
        taker = undefined;
        throw error;
      });
      return { close: async () => void starts.delete(brand) };
    },
    async close(): Promise<void> {
      await (await taker?.catch(() => undefined))?.close();
    },
  };
}

/**
 * Gives a due run back to the queue. Returns if its job no longer has a schedule, or is due again: the run is dropped.
 * @throws DelayedError after it was given back, as BullMQ expects.
 */
async function leave(scheduled: BullQueue, job: QueueJob, token: string): Promise<void> {
  const dueAtMs = job.opts.prevMillis ?? job.timestamp;
  const schedule = await scheduled.getJobScheduler(job.name);
  const now = Date.now();
  const { pattern, tz: timeZone = '' } = schedule ?? {};
  if (!pattern || nextRun({ pattern, timeZone }, dueAtMs).getTime() <= now) return;
  await job.moveToDelayed(now + leftMs(now - dueAtMs), token);
  throw new DelayedError();
}

export const queueProblem = (error: unknown) =>
  `the queue cannot be used; trying again: ${describeWithHint(error, addresses.queue)}`;

async function returnWhenAborted<T>(job: Job, token: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!signal.aborted || error instanceof WaitingChildrenError || error instanceof DelayedError) throw error;
    await job.moveToWait(token);
    throw new WaitingError();
  }
}
