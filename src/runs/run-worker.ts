import { type App, stepsAtATime } from '../app/app.ts';
import type { Counts } from '../base/counts.ts';
import { describeWithHint, IncompleteError, ReviewSyncError } from '../base/errors.ts';
import { withRun } from '../base/log.ts';
import { openOutage } from '../base/outage.ts';
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
import { findRun, noteLeft, type Run } from '../warehouse/runs/runs.ts';
import { type AnyRunJob, named, type StepJob } from './job.ts';
import { type StepData, takeRun } from './stages.ts';
import { openRunSeats, openStepSlots, type RunSeats, type StepSlots } from './step-slots.ts';

export type RunWorkerOptions = Pick<TakeOptions, 'onRetry'> & {
  jobs: readonly AnyRunJob[];
  /** Steps at a time, over all runs of the brand. */
  concurrency?: number;
  /**
   * The open runs that this process carries out. Read every `everyMs` milliseconds, so that the worker soon
   * aborts the steps of a run that has ended. Eight steps of 500 orders would otherwise send 4,000 orders after Ctrl-C.
   */
  runsToCarryOut(): Promise<readonly OpenRun[]>;
  /** What the brands of this process share; absent without brands. */
  shared?: SharedWork | undefined;
  /** Milliseconds from one look to the next. */
  everyMs?: number | undefined;
  /** Starts the run of a job that is due by its schedule. Absent: this process takes no scheduled run. */
  startDue?: (jobName: string, dueId: string) => Promise<void>;
  /** Called for each step that ended, with its counts, or undefined if it failed. */
  onStep?: ((name: string, counts: Counts | undefined, seconds: number) => void) | undefined;
};

/** What the workers of all brands of a process share. */
export type SharedWork = { seats: RunSeats; due: DueTaker };

export type RunningWorker = {
  /** Finishes running jobs for at most `graceMs`, then returns the rest to the queue. */
  close(graceMs?: number): Promise<void>;
};

type OpenRun = Pick<Run, 'id' | 'job'>;

/** A run that this process carries out. `stop` aborts its work when the run has ended elsewhere. */
type Carried = { taker: JobTaker; stop: AbortController };

const lookEveryMs = 1000;

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
export async function startRunWorker(app: App, options: RunWorkerOptions): Promise<RunningWorker> {
  const { queues, log, warehouseOutage, abort, config } = app;
  const { onRetry, concurrency = stepsAtATime } = options;
  app.fieldShapes.begin();
  const queueOutage = openOutage(log, 'queue');
  const { takeOverSeconds } = config;
  const taking = { queues, log, takeOverSeconds, concurrency, queueOutage, onRetry, abort: abort.signal };
  const carried = openCarriedRuns(app, options, taking);

  async function look(): Promise<void> {
    const open = await options.runsToCarryOut().catch((error: unknown) => {
      onRetry?.(`the runs cannot be looked at; trying again: ${describeWithHint(error)}`);
      warehouseOutage.failed(error);
    });
    if (!open) return;
    warehouseOutage.worked();
    await carried.follow(open).catch((error: unknown) => {
      onRetry?.(queueProblem(error));
      queueOutage.failed(error);
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
      const timer = setTimeout(() => abort.abort(), graceMs);
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
function openCarriedRuns(app: App, options: RunWorkerOptions, taking: TakeOptions) {
  const { queues, warehouse } = app;
  const { shared } = options;
  const carried = new Map<string, Carried>();
  const ending = new Set<Promise<void>>();
  const slots = openStepSlots(taking.concurrency);
  const seats = shared?.seats ?? openRunSeats(takersAtATime - 1);

  async function carry({ id: runId, job: jobName }: OpenRun): Promise<void> {
    const runsOfBrand = carried.size + ending.size;
    const isLive = !shared || options.jobs.find(({ name }) => name === jobName)?.priority === 1;
    if (!seats.take(shared ? runsOfBrand : 0, isLive)) return;
    try {
      const stop = new AbortController();
      const { name } = await queues.ofRun(runId);
      const taker = await takeJobs(taking, name, (job) =>
        withRun(runId, () => handle(app, options, slots, runId, job, stop.signal)),
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
    async follow(open: readonly OpenRun[]): Promise<void> {
      for (const [runId, one] of carried) if (!open.some(({ id }) => id === runId)) letGo(runId, one);
      for (const run of open) if (!carried.has(run.id)) await carry(run);
    },
    /** Takes no more jobs, and waits for those in hand. */
    async close(): Promise<void> {
      const closing = [...carried].map(async ([runId, { taker }]) => {
        await taker.close().finally(() => seats.leave());
        const run = await findRun(warehouse.db, runId).catch(() => undefined);
        if (run?.finishedAt) await queues.drop(runId).catch(() => {});
      });
      await Promise.all([...closing, ...ending]);
      await noteLeft(warehouse.db, [...carried.keys()]);
    },
  };
}

/** Starts the runs that are due by their schedule, if this process does. @param onStarted called after each. */
async function takeDueRuns(
  { shared, startDue }: RunWorkerOptions,
  taking: TakeOptions,
  onStarted: () => void,
): Promise<JobTaker | undefined> {
  if (!startDue) return undefined;
  const start = async (jobName: string, dueId: string) => {
    await startDue(jobName, dueId);
    onStarted();
  };
  try {
    if (shared) return await shared.due.take(taking.queues, start);
    const { name } = taking.queues.scheduled;
    return await takeJobs({ ...taking, concurrency: 1 }, name, (job) => start(job.name, String(job.id)));
  } catch (cause) {
    throw new ReviewSyncError('queue', 'The queue (QUEUE_URL) cannot be used', { cause });
  }
}

/** Time to return aborted jobs to the queue. */
const returnJobsMs = 3000;

/** Carries a job of a run out. Those of a run that has ended, or has no row, do nothing. @returns what the queue keeps. */
async function handle(
  app: App,
  options: RunWorkerOptions,
  slots: StepSlots,
  runId: string,
  job: QueueJob,
  stopped: AbortSignal,
): Promise<Counts> {
  const run = await findRun(app.warehouse.db, runId);
  if (!run || run.finishedAt) return {};
  const definition = named(options.jobs, run.job);
  const signal = AbortSignal.any([app.abort.signal, stopped]);
  try {
    if (job.id !== runId) {
      const step = named([definition.step], job.name);
      return await slots(definition.priority, () => takeStep(app, options, step, job, run, signal));
    }
    await takeRun({ app, definition, job, run, signal });
  } catch (error) {
    if (!stopped.aborted || error instanceof WaitingChildrenError) throw error;
  }
  return {};
}

async function takeStep(
  app: App,
  { onStep }: RunWorkerOptions,
  step: StepJob<unknown>,
  job: QueueJob,
  run: Run,
  signal: AbortSignal,
): Promise<Counts> {
  signal.throwIfAborted();
  const startedMs = performance.now();
  const report = (counts?: Counts) => onStep?.(step.name, counts, (performance.now() - startedMs) / 1000);
  try {
    const counts = await step.run(app, step.parse((job.data as StepData).payload), { run, signal });
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
