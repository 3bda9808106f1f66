import { randomBytes } from 'node:crypto';
import { answered } from './answered.ts';
import { checkQueue, isRedis, type QueueClasses, queueClasses, telemetry } from './connection.ts';
import type { AnyRunJob, RunReport } from './job.ts';

/**
 * Three queues. `scheduled` and `runs` hold runs, by cron and by command: a command's own worker takes no scheduled
 * run, which waits for a real worker. `steps` holds the steps of both.
 */
export const queueNames = {
  scheduled: 'review-sync-scheduled',
  runs: 'review-sync-runs',
  steps: 'review-sync-steps',
} as const;
export type QueueName = keyof typeof queueNames;

type BullQueue = InstanceType<QueueClasses['Queue']>;

/** What a run's job carries through its stages. */
export type RunData = {
  payload: unknown;
  startedAt?: string;
  stage?: 'adding' | 'waiting';
  state?: unknown;
  steps?: unknown[];
  planned?: number;
};
export type StepData = { runId: string; payload: unknown };

export type RunProgress = {
  state: 'waiting' | 'running' | 'ended' | 'failed' | 'lost';
  /** Undefined until the run is planned. */
  planned: number | undefined;
  ended: number;
  report?: RunReport;
  error?: string;
};

export type Queues = {
  readonly url: string;
  readonly kind: 'redis' | 'postgres';
  readonly classes: QueueClasses;
  readonly bull: Readonly<Record<QueueName, BullQueue>>;
  /** Enqueues a run and gives its id. With `id`, a run of that id that has not ended yet is joined instead. */
  enqueue(job: AnyRunJob<never>, payload: unknown, id?: string): Promise<{ id: string; joined: boolean }>;
  progress(runId: string): Promise<RunProgress>;
  /** Whether the run's job is in the queue and has not ended. */
  isAlive(runId: string): Promise<boolean>;
  counts(): Promise<Record<QueueName, Record<string, number>>>;
  close(): Promise<void>;
};

/** An hour or the newest thousand: for looking at, and so that a run planned again finds the steps it had. */
const keep = { removeOnComplete: { age: 3600, count: 1000 }, removeOnFail: { age: 7 * 86_400, count: 1000 } };

/**
 * Opens the three queues.
 *
 * @throws ReviewSyncError when the server that QUEUE_URL names does not answer.
 */
export async function openQueues(url: string): Promise<Queues> {
  await checkQueue(url);
  const classes = queueClasses(url);
  const open = (name: QueueName) => {
    const queue = new classes.Queue(queueNames[name], {
      connection: classes.connection,
      defaultJobOptions: keep,
      telemetry: telemetry(),
    });
    // Told by the call that fails; without a listener the process would end.
    queue.on('error', () => {});
    return queue;
  };
  const bull = { scheduled: open('scheduled'), runs: open('runs'), steps: open('steps') };
  await Promise.all(Object.values(bull).map((queue) => queue.waitUntilReady()));

  const findRun = async (id: string) => (await bull.runs.getJob(id)) ?? (await bull.scheduled.getJob(id));

  async function isAlive(runId: string): Promise<boolean> {
    const state = await (await findRun(runId))?.getState();
    return state !== undefined && !['completed', 'failed', 'unknown'].includes(state);
  }

  return {
    url,
    kind: isRedis(url) ? 'redis' : 'postgres',
    classes,
    bull,
    isAlive,
    async enqueue(job, payload, id = `${job.name}-${Date.now().toString(36)}-${randomBytes(3).toString('hex')}`) {
      if (await isAlive(id)) return { id, joined: true };
      // An ended run of this id would swallow the new one.
      await bull.runs.remove(id, { removeChildren: true });
      await bull.runs.add(job.name, { payload } satisfies RunData, { jobId: id });
      return { id, joined: false };
    },
    async progress(runId) {
      const job = await findRun(runId);
      if (!job) return { state: 'lost', planned: undefined, ended: 0 };
      const data = job.data as RunData;
      const state = await job.getState();
      if (state === 'completed' || state === 'failed') {
        // It may have ended after it was looked at: what it ended with is read now.
        const ended = (await findRun(runId)) ?? job;
        const { planned = 0 } = ended.data as RunData;
        return state === 'completed'
          ? { state: 'ended', planned, ended: planned, report: ended.returnvalue as RunReport }
          : { state: 'failed', planned, ended: 0, error: ended.failedReason ?? '' };
      }
      if (data.planned === undefined)
        return { state: state === 'active' ? 'running' : 'waiting', planned: undefined, ended: 0 };
      const { processed = 0, ignored = 0 } = await job.getDependenciesCount({ processed: true, ignored: true });
      return { state: 'running', planned: data.planned, ended: processed + ignored };
    },
    async counts() {
      const states = ['active', 'waiting', 'prioritized', 'waiting-children', 'delayed', 'failed'] as const;
      const of = (name: QueueName) => bull[name].getJobCounts(...states);
      const [scheduled, runs, steps] = await answered(Promise.all([of('scheduled'), of('runs'), of('steps')]));
      return { scheduled, runs, steps };
    },
    // Of a server that is gone no leave need be taken.
    close: () =>
      answered(Promise.all(Object.values(bull).map((queue) => queue.close()))).then(
        () => {},
        () => {},
      ),
  };
}
