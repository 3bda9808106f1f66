import { randomBytes } from 'node:crypto';
import { isRedis, type QueueClasses, queueClasses, respondsInTime } from './connection.ts';
import type { AnyRunJob, RunReport } from './job.ts';

/**
 * Three queues. `scheduled` holds the runs that cron starts, `runs` those that commands start: the worker inside a
 * command takes no scheduled run. `steps` holds the steps of both.
 */
export type QueueName = 'scheduled' | 'runs' | 'steps';

type BullQueue = InstanceType<QueueClasses['Queue']>;

/**
 * Data of a run's job: a run that is not planned yet, one that adds the steps of a batch, or one that waits for them.
 */
export type RunData = { payload: unknown; key?: string } & ({ stage?: undefined } | AddingRun | WaitingRun);

/** `steps`: the payloads of the batch that is being added. */
export type AddingRun = PlannedRun & { stage: 'adding'; steps: unknown[] };
export type WaitingRun = PlannedRun & { stage: 'waiting' };

type PlannedRun = {
  startedAt: string;
  /** What the job's `plan` or `next` wants to know again. */
  state?: unknown;
  /** Steps of all batches so far. */
  planned: number;
  /** Steps of the batches before the last one, and how many of them succeeded. */
  before: number;
  succeeded: number;
};
export type StepData = { runId: string; payload: unknown };

export type JobProgress = {
  /** `running`: not ended yet, so it may still wait for a worker. `lost`: the queue does not have it. */
  state: 'running' | 'ended' | 'failed' | 'lost';
  /** Undefined until the run is planned. */
  planned: number | undefined;
  ended: number;
  report?: RunReport;
  error?: string;
};

export type Queues = AsyncDisposable & {
  readonly url: string;
  readonly kind: 'redis' | 'postgres';
  readonly classes: QueueClasses;
  /** As the server has them. */
  readonly names: Readonly<Record<QueueName, string>>;
  readonly bull: Readonly<Record<QueueName, BullQueue>>;
  /**
   * Enqueues a run and returns its id, which is unique.
   *
   * @param key what the run is about. Where a run of the same key has not ended, its id is returned and `joined` is
   *   true. The queue decides this atomically: of several commands at the same moment, one starts the run and the
   *   others join it.
   */
  enqueue(job: AnyRunJob<never>, payload: unknown, key?: string): Promise<{ id: string; joined: boolean }>;
  progress(runId: string): Promise<JobProgress>;
  /** From now on no other run joins this one. */
  forgetKey(runId: string): Promise<void>;
  /** Whether the run's job is in the queue and has not ended. */
  isAlive(runId: string): Promise<boolean>;
  counts(): Promise<Record<QueueName, Record<string, number>>>;
  close(): Promise<void>;
};

/** Steps of all batches so far; undefined until the run is planned. */
const plannedOf = (data: RunData) => (data.stage === undefined ? undefined : data.planned);

/** A run that fails because of a broken connection is retried for fifteen seconds: its stages are safe to repeat. */
export const runAttempts = { attempts: 5, backoff: { type: 'exponential', delay: 1000 } } as const;

/**
 * How long finished jobs of steps and of commands' runs stay visible. Nothing depends on it: their ids are unique, and the
 * job of a run holds the results of its steps. Those of scheduled runs are gone at once (schedules.ts).
 */
const retention = { removeOnComplete: { age: 3600, count: 1000 }, removeOnFail: { age: 7 * 86_400, count: 1000 } };

/**
 * Opens the three queues.
 *
 * @param installation goes into their names: another installation on the same server must not take these runs, which
 *   it would carry out on its own shop.
 * @throws ReviewSyncError when the server of QUEUE_URL does not respond.
 */
export async function openQueues(url: string, installation: string): Promise<Queues> {
  const classes = await queueClasses(url);
  const nameOf = (name: QueueName) => `review-sync-${name}-${installation}`;
  const names = { scheduled: nameOf('scheduled'), runs: nameOf('runs'), steps: nameOf('steps') };
  const open = async (name: QueueName) => {
    const queue = new classes.Queue(names[name], {
      connection: classes.connection,
      defaultJobOptions: retention,
      // BullMQ would write its version and its default number of events for each queue that is opened.
      skipMetasUpdate: true,
      ...classes.telemetry,
    });
    // The failing call reports the error. Without a listener the process would end.
    queue.on('error', () => {});
    await queue.waitUntilReady();
    return queue;
  };
  // One after the other, so that all three use one connection.
  const bull = { scheduled: await open('scheduled'), runs: await open('runs'), steps: await open('steps') };

  const findRun = async (id: string) => (await bull.runs.getJob(id)) ?? (await bull.scheduled.getJob(id));

  async function closeAll(): Promise<void> {
    await Promise.all(Object.values(bull).map((queue) => queue.close()));
    await classes.close();
  }
  // The server may be down already.
  const close = () => respondsInTime(closeAll()).catch(() => {});

  async function isAlive(runId: string): Promise<boolean> {
    const state = await (await findRun(runId))?.getState();
    return state !== undefined && !['completed', 'failed', 'unknown'].includes(state);
  }

  async function progress(runId: string): Promise<JobProgress> {
    const job = await findRun(runId);
    if (!job) return { state: 'lost', planned: undefined, ended: 0 };
    const state = await job.getState();
    if (state === 'completed' || state === 'failed') {
      // The run may have ended after the job was read, so read the result again.
      const ended = (await findRun(runId)) ?? job;
      const planned = plannedOf(ended.data as RunData) ?? 0;
      return state === 'completed'
        ? { state: 'ended', planned, ended: planned, report: ended.returnvalue as RunReport }
        : { state: 'failed', planned, ended: 0, error: ended.failedReason ?? '' };
    }
    const planned = plannedOf(job.data as RunData);
    if (planned === undefined) return { state: 'running', planned, ended: 0 };
    const { processed = 0, ignored = 0 } = await job.getDependenciesCount({ processed: true, ignored: true });
    return { state: 'running', planned, ended: processed + ignored };
  }

  return {
    url,
    kind: isRedis(url) ? 'redis' : 'postgres',
    classes,
    names,
    bull,
    isAlive,
    async enqueue(job, payload, key) {
      const jobId = `${job.name}-${Date.now().toString(36)}-${randomBytes(6).toString('hex')}`;
      const data: RunData = { payload, ...(key !== undefined && { key }) };
      const once = key === undefined ? {} : { deduplication: { id: key } };
      const added = await respondsInTime(bull.runs.add(job.name, data, { jobId, ...runAttempts, ...once }));
      return { id: String(added.id), joined: added.id !== jobId };
    },
    progress: (runId) => respondsInTime(progress(runId)),
    async forgetKey(runId) {
      await respondsInTime(findRun(runId).then((job) => job?.removeDeduplicationKey()));
    },
    async counts() {
      const states = ['active', 'waiting', 'prioritized', 'waiting-children', 'delayed', 'failed'] as const;
      const of = (name: QueueName) => bull[name].getJobCounts(...states);
      const [scheduled, runs, steps] = await respondsInTime(Promise.all([of('scheduled'), of('runs'), of('steps')]));
      return { scheduled, runs, steps };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
