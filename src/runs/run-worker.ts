import type { Counts } from '../base/counts.ts';
import { describeWithHint, IncompleteError, ReviewSyncError } from '../base/errors.ts';
import { withRun } from '../base/log.ts';
import { type Outage, openOutage } from '../base/outage.ts';
import { repeat, withTimeout } from '../base/timeout.ts';
import { takersAtATime } from '../queue/connection.ts';
import {
  type DueTaker,
  type JobTaker,
  type QueueJob,
  queueProblem,
  type TakeOptions,
  takeJobs,
  UnrecoverableError,
  WaitingChildrenError,
} from '../queue/worker.ts';
import { type AnyRunJob, named, type RunInfo, type RunReport, type StepJob } from './job.ts';
import { type StepData, takeRun } from './stages.ts';
import { openRunSeats, openStepSlots, type RunSeats, type StepSlots, withOwnSlots } from './step-slots.ts';

/** A run's row: what it is, and how it ended. */
export type RunState = { job: string; run: RunInfo; end: RunReport | undefined };

export type RunWorkerOptions<Context> = Pick<TakeOptions, 'queues' | 'takeOverSeconds' | 'log' | 'onRetry'> & {
  jobs: readonly AnyRunJob<Context>[];
  context: Context;
  /** Steps at a time, over all runs. */
  concurrency: number;
  /**
   * The ids of the open runs that this process carries out. Read every `everyMs` milliseconds, so that the worker soon
   * aborts the steps of a run that has ended. Eight steps of 500 orders would otherwise send 4,000 orders after Ctrl-C.
   */
  runsToCarryOut(): Promise<readonly string[]>;
  warehouseOutage: Outage;
  /** What the brands of this process share; absent without brands. */
  shared?: SharedWork | undefined;
  /** Whether a run keeps the brand up to date. Other runs, such as backfills, may take only half of the seats. */
  isLive?(runId: string): boolean;
  /** Milliseconds from one look to the next. */
  everyMs?: number | undefined;
  /** Called with the runs that this process has carried out, once it takes no more jobs. */
  onLeft?: ((runIds: readonly string[]) => Promise<void>) | undefined;
  /** The row of a run; undefined if it has none. The jobs of a run without a row do nothing. */
  findRun(runId: string): Promise<RunState | undefined>;
  /** Starts the run of a job that is due by its schedule. Absent: this process takes no scheduled run. */
  startDue?: (jobName: string, dueId: string) => Promise<void>;
  /** Called for each step that ended, with its counts, or undefined if it failed. */
  onStep?: ((name: string, counts: Counts | undefined, seconds: number) => void) | undefined;
  /** Aborted when the time to finish running jobs is over. */
  abort: AbortController;
};

/** What the workers of all brands of a process share. */
export type SharedWork = { slots: StepSlots; seats: RunSeats; due: DueTaker };

export type RunningWorker = {
  /** Finishes running jobs for at most `graceMs`, then returns the rest to the queue. */
  close(graceMs?: number): Promise<void>;
};

/** A run that this process carries out. `stop` aborts its work when the run has ended elsewhere. */
type Carried = { taker: JobTaker; stop: AbortController };

const lookEveryMs = 1000;

/** Steps at a time that each brand may run even if the other brands fill all shared slots. */
const slotsOfABrand = 2;

/**
 * Carries runs out until closed. Takes jobs only from the queues of `runsToCarryOut`, so the jobs of other runs stay in
 * their queues, and a run without a row is never touched.
 *
 * 1. Every `everyMs` milliseconds, read which runs are open. Take the jobs of new ones; stop the work of ended ones.
 * 2. If `startDue` is given, start the runs that are due by their schedule.
 * 3. `close`: take no more jobs, finish those in hand, and return the rest to the queue.
 *
 * @throws ReviewSyncError when the queue does not respond.
 */
export async function startRunWorker<Context>(options: RunWorkerOptions<Context>): Promise<RunningWorker> {
  const { log, warehouseOutage, onRetry } = options;
  const taking = { ...options, queueOutage: openOutage(log, 'queue'), abort: options.abort.signal };
  const carried = openCarriedRuns(options, taking);

  async function look(): Promise<void> {
    const open = await options.runsToCarryOut().catch((error: unknown) => {
      onRetry?.(`the runs cannot be looked at; trying again: ${describeWithHint(error)}`);
      warehouseOutage.failed(error);
    });
    if (!open) return;
    warehouseOutage.worked();
    await carried.follow(open).catch((error: unknown) => {
      onRetry?.(queueProblem(error));
      taking.queueOutage.failed(error);
    });
  }
  let looking = Promise.resolve();
  const lookNext = () => {
    looking = looking.then(look);
    return looking;
  };
  // Do not await `lookNext`: it closes takers, and a taker may wait for this job.
  const due = await takeDueRuns(options, taking, () => void lookNext());
  const watch = repeat(options.everyMs ?? lookEveryMs, lookNext);

  return {
    async close(graceMs = 10_000) {
      const timer = setTimeout(() => options.abort.abort(), graceMs);
      const closeAll = async () => {
        await Promise.all([due?.close(), watch.close()]);
        await looking;
        await carried.close();
      };
      try {
        await withTimeout(closeAll(), graceMs + returnJobsMs, () => new Error('The queue takes no jobs back'));
      } catch {
        // A server that is down takes no jobs back. Their locks expire by themselves.
        log.warn('the queue did not take all jobs back in time; another worker takes them over');
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** The runs whose jobs this process takes, each in a seat. */
function openCarriedRuns<Context>(options: RunWorkerOptions<Context>, taking: TakeOptions) {
  const { queues, shared } = options;
  const carried = new Map<string, Carried>();
  const ending = new Set<Promise<void>>();
  const slots = shared ? withOwnSlots(slotsOfABrand, shared.slots) : openStepSlots(options.concurrency);
  const seats = shared?.seats ?? openRunSeats(takersAtATime - 1);

  async function carry(runId: string): Promise<void> {
    const runsOfBrand = carried.size + ending.size;
    const isLive = !shared || (options.isLive?.(runId) ?? true);
    if (!seats.take(shared ? runsOfBrand : 0, isLive)) return;
    try {
      const stop = new AbortController();
      const { name } = await queues.ofRun(runId);
      const taker = await takeJobs(taking, name, (job) =>
        withRun(runId, () => handle(options, slots, runId, job, stop.signal)),
      );
      carried.set(runId, { taker, stop });
    } catch (error) {
      seats.leave();
      throw error;
    }
  }

  function letGo(runId: string, { taker, stop }: Carried): void {
    carried.delete(runId);
    stop.abort();
    // If another process still has a job of the run, the drop fails here, and that process drops the queue.
    const end: Promise<void> = taker
      .close()
      .then(() => queues.drop(runId))
      .catch(() => {})
      .finally(() => {
        ending.delete(end);
        seats.leave();
      });
    ending.add(end);
  }

  return {
    /** Stops the work of runs that are not open any more, and takes the jobs of new ones. @throws the queue's error. */
    async follow(open: readonly string[]): Promise<void> {
      for (const [runId, one] of carried) if (!open.includes(runId)) letGo(runId, one);
      for (const runId of open) if (!carried.has(runId)) await carry(runId);
    },
    /** Takes no more jobs, and waits for those in hand. */
    async close(): Promise<void> {
      const closing = [...carried].map(async ([runId, { taker }]) => {
        await taker.close().finally(() => seats.leave());
        if ((await options.findRun(runId).catch(() => undefined))?.end) await queues.drop(runId).catch(() => {});
      });
      await Promise.all([...closing, ...ending]);
      await options.onLeft?.([...carried.keys()]);
    },
  };
}

/** Starts the runs that are due by their schedule, if this process does. @param onStarted called after each. */
async function takeDueRuns<Context>(
  { queues, shared, startDue }: RunWorkerOptions<Context>,
  taking: TakeOptions,
  onStarted: () => void,
): Promise<JobTaker | undefined> {
  if (!startDue) return undefined;
  const start = async (jobName: string, dueId: string) => {
    await startDue(jobName, dueId);
    onStarted();
  };
  try {
    if (shared) return await shared.due.take(queues, start);
    const { name } = queues.scheduled;
    return await takeJobs({ ...taking, concurrency: 1 }, name, (job) => start(job.name, String(job.id)));
  } catch (cause) {
    throw new ReviewSyncError('queue', 'The queue (QUEUE_URL) cannot be used', { cause });
  }
}

/** Time to return aborted jobs to the queue. */
const returnJobsMs = 3000;

/** The result that the queue stores for a job of a run that has no row. */
const nothing: Counts = {};

async function handle<Context>(
  options: RunWorkerOptions<Context>,
  slots: StepSlots,
  runId: string,
  job: QueueJob,
  stopped: AbortSignal,
): Promise<Counts | RunReport> {
  const { abort, queues, context, takeOverSeconds } = options;
  const found = await options.findRun(runId);
  if (found === undefined || found.end) return found?.end ?? nothing;
  const definition = named(options.jobs, found.job);
  const signal = AbortSignal.any([abort.signal, stopped]);
  const { run } = found;
  const endOfRun = async () => (await options.findRun(runId))?.end;
  try {
    if (job.id !== runId) {
      const step = named([definition.step], job.name);
      return await slots(definition.priority, () => takeStep(options, step, job, run, signal));
    }
    const token = job.token ?? '';
    return await takeRun({ queues, context, takeOverSeconds, definition, job, token, run, endOfRun, signal });
  } catch (error) {
    if (!stopped.aborted || error instanceof WaitingChildrenError) throw error;
    return (await endOfRun()) ?? nothing;
  }
}

async function takeStep<Context>(
  { context, onStep }: RunWorkerOptions<Context>,
  step: StepJob<Context, unknown>,
  job: QueueJob,
  run: RunInfo,
  signal: AbortSignal,
): Promise<Counts> {
  signal.throwIfAborted();
  const startedMs = performance.now();
  const report = (counts?: Counts) => onStep?.(step.name, counts, (performance.now() - startedMs) / 1000);
  try {
    const counts = await step.run(context, step.parse((job.data as StepData).payload), { run, signal });
    report(counts);
    return counts;
  } catch (error) {
    if (!signal.aborted) report();
    // An IncompleteError is permanent: a retry would fail in the same way.
    if (error instanceof IncompleteError) throw new UnrecoverableError(describeWithHint(error));
    // The queue keeps the message only.
    throw new Error(describeWithHint(error), { cause: error });
  }
}
