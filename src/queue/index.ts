import { ReviewSyncError } from '../base/errors.ts';
import { isRedis, type QueueClasses, queueClasses, respondsInTime } from './connection.ts';
import { settings } from './next-run.ts';

/** A queue of BullMQ. */
export type BullQueue = InstanceType<QueueClasses['Queue']>;

/** The progress of a run in the queue. */
export type RunProgress = {
  /** `running`: not ended yet, perhaps still waiting for a worker. `lost`: the queue does not have it. */
  state: 'running' | 'ended' | 'failed' | 'lost';
  /** Steps planned so far; undefined until the run is planned. */
  planned: number | undefined;
  ended: number;
  /** Why the run's job failed. */
  error?: string;
};

/**
 * One queue in which cron puts a job for each due run, and one queue for each open run, with the run's own job and its
 * steps. So a process takes only the jobs of the runs that it should carry out.
 */
export type Queues = Awaited<ReturnType<typeof openQueues>>;

/** A run that fails because of a broken connection is retried for fifteen seconds: its stages are safe to repeat. */
export const runAttempts = { attempts: 5, backoff: { type: 'exponential', delay: 1000 } } as const;

/** How long closing waits for the server, in milliseconds: nothing depends on it. */
const closeMs = 2000;

/** Run queues that a process keeps open. On Redis each queue has a connection. */
const mostOpen = 20;

/** The start of BullMQ's ids for scheduled jobs. The schedule's key and the scheduled time follow. */
export const dueIds = 'repeat:';

/** The connections to the server of QUEUE_URL and the open queues, which the brands of a process share. */
export type QueueServer = Awaited<ReturnType<typeof openQueueServer>>;

/** BullMQ reads schedules one by one, and all brands ask for them. Calls during a reading share the next reading. */
function sharedReading<T>(read: (queue: BullQueue) => Promise<T>): (queue: BullQueue) => Promise<T> {
  const readings = new WeakMap<BullQueue, { now: Promise<T>; next?: Promise<T> }>();
  return function get(queue): Promise<T> {
    const reading = readings.get(queue);
    if (reading) {
      const next = () => get(queue);
      reading.next ??= reading.now.then(next, next);
      return reading.next;
    }
    const now = read(queue).finally(() => readings.delete(queue));
    readings.set(queue, { now });
    return now;
  };
}

/**
 * @param takers queues that jobs are taken from at a time.
 * @throws ReviewSyncError when the server of QUEUE_URL does not respond.
 */
export async function openQueueServer(url: string, takers?: number) {
  const classes = await queueClasses(url, undefined, takers);
  const open = async (name: string): Promise<BullQueue> => {
    const queue = new classes.Queue(`review-sync-${name}`, {
      connection: classes.connection,
      // BullMQ would write its version and its default number of events for each queue that is opened.
      skipMetasUpdate: true,
      settings,
      ...classes.telemetry,
    });
    // The failing call reports the error. Without a listener the process would end.
    queue.on('error', () => {});
    try {
      await queue.waitUntilReady();
    } catch (error) {
      await queue.close().catch(() => {});
      if (!(error instanceof Error && error.name === 'SchemaMigrationRequiredError')) throw error;
      const what = 'The queue (QUEUE_URL) lacks its tables, or has those of another version';
      throw new ReviewSyncError('queue-tables', what, { hint: 'Run: review-sync migrate' });
    }
    return queue;
  };
  // In the order of use, the last used queue last.
  const opened = new Map<string, Promise<BullQueue>>();
  const kept = new Map<string, Promise<BullQueue>>();

  async function closeAll(): Promise<void> {
    const all = await Promise.allSettled([...kept.values(), ...opened.values()]);
    await Promise.all(all.map((one) => one.status === 'fulfilled' && one.value.close()));
    await classes.close();
  }
  // The server may be down already.
  const close = () => respondsInTime(closeAll(), closeMs).catch(() => {});
  return {
    url,
    classes,
    /** The queue of this name, opened at its first use. @param isKept it stays open. */
    queue(name: string, isKept = false): Promise<BullQueue> {
      const known = isKept ? kept : opened;
      const queue = known.get(name) ?? open(name);
      known.delete(name);
      known.set(name, queue);
      // If the server is down, the next call opens the queue again.
      queue.catch(() => known.get(name) === queue && known.delete(name));
      const [oldest] = opened;
      if (oldest && opened.size > mostOpen) {
        opened.delete(oldest[0]);
        void oldest[1].then((one) => one.close()).catch(() => {});
      }
      return queue;
    },
    /** The schedules of a queue, as of now or later. */
    schedulers: sharedReading((queue) => queue.getJobSchedulers()),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * The parts of the queues' names. `installation`: another installation on the same server must not take these runs,
 * because it would carry them out on its own shop. `brand`, `deployment`: one queue has the due runs of all brands of a
 * deployment, under their own names, so that one connection waits for all of them.
 */
export type QueueNames = { installation: string; brand?: string | undefined; deployment?: string };

/**
 * Opens the queues.
 *
 * @param shared the server of the process, which stays open. Undefined: the queues open their own server.
 * @param takers for their own server, see `openQueueServer`.
 * @throws ReviewSyncError when the server of QUEUE_URL does not respond, or lacks our tables (code `queue-tables`).
 */
export async function openQueues(url: string, names: QueueNames, shared?: QueueServer, takers?: number) {
  const { installation, brand, deployment } = names;
  const server = shared ?? (await openQueueServer(url, takers));
  const scheduled = await server
    .queue(`scheduled-${deployment ?? installation}`, true)
    .catch(async (error: unknown) => {
      if (!shared) await server.close();
      throw error;
    });
  const ofRun = (runId: string) => server.queue(`run-${runId}-${installation}`);
  const close = async () => {
    if (!shared) await server.close();
  };

  return {
    url,
    kind: isRedis(url) ? ('redis' as const) : ('postgres' as const),
    classes: server.classes,
    /** False if the warehouse could not say which queues are ours. */
    areOurs: installation !== '',
    /** Runs that are due by their schedule, under `prefix` and the name of the job. */
    scheduled,
    prefix: brand === undefined ? '' : `${brand}/`,
    /** The schedules of all that share the queue. */
    schedulers: () => server.schedulers(scheduled),
    /** The queue of a run, opened at its first use. */
    ofRun,
    /** Puts the run's own job into the run's queue. Does nothing if the job is there. */
    add: (jobName: string, runId: string) =>
      respondsInTime(ofRun(runId).then((queue) => queue.add(jobName, {}, { jobId: runId, ...runAttempts }))),
    progress: (runId: string) => respondsInTime(ofRun(runId).then((queue) => progressOf(queue, runId))),
    /** Whether the run's job is in the queue and has not ended. */
    isAlive: (runId: string) => respondsInTime(ofRun(runId).then((queue) => isAliveIn(queue, runId))),
    /**
     * Removes a run's queue with everything in it. BullMQ refuses if a process holds a job of the queue. The connection
     * stays open like others: a pending request about the run would wait endlessly for a closed queue.
     */
    drop: (runId: string) => respondsInTime(ofRun(runId).then((queue) => queue.obliterate({ force: false }))),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Whether the job is in the queue and has not ended. */
export async function isAliveIn(queue: BullQueue, id: string): Promise<boolean> {
  const state = await (await queue.getJob(id))?.getState();
  return state !== undefined && !['completed', 'failed', 'unknown'].includes(state);
}

async function progressOf(queue: BullQueue, runId: string): Promise<RunProgress> {
  const job = await queue.getJob(runId);
  if (!job) return { state: 'lost', planned: undefined, ended: 0 };
  const state = await job.getState();
  const { planned } = job.data as { planned?: number };
  if (state === 'completed') return { state: 'ended', planned, ended: planned ?? 0 };
  if (state === 'failed') {
    // The job may have failed after it was read.
    const failed = (await queue.getJob(runId)) ?? job;
    return { state: 'failed', planned, ended: 0, error: failed.failedReason ?? '' };
  }
  if (planned === undefined) return { state: 'running', planned, ended: 0 };
  const { processed = 0, ignored = 0 } = await job.getDependenciesCount({ processed: true, ignored: true });
  return { state: 'running', planned, ended: processed + ignored };
}
