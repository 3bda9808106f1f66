import { type App, stepsAtATime } from '../app/app.ts';
import type { Counts } from '../base/counts.ts';
import { describeWithHint, IncompleteError } from '../base/errors.ts';
import { addresses } from '../base/hints.ts';
import { withRun } from '../base/log.ts';
import { openOutage } from '../base/outage.ts';
import { repeat, withTimeout } from '../base/timeout.ts';
import { takersAtATime } from '../queue/connection.ts';
import {
  type JobTaker,
  type QueueJob,
  queueProblem,
  type TakeOptions,
  takeJobs,
  UnrecoverableError,
  WaitingChildrenError,
} from '../queue/worker.ts';
import { findRun, noteLeft, type Run } from '../warehouse/runs/runs.ts';
import { type AnyRunJob, named, type StepJob } from './define-run.ts';
import { type HeldRun, type StepData, takeRun } from './stages.ts';
import { openRunSeats, openStepSlots, type RunSeats, type StepSlots } from './step-slots.ts';

export type RunWorkerOptions = Pick<TakeOptions, 'onRetry'> & {
  jobs: readonly AnyRunJob[];
  /** Steps at a time over all runs of the brand. */
  concurrency?: number;
  /**
   * The open runs that this process carries out. Read every `everyMs` milliseconds, so that the worker soon
   * aborts the steps of a run that has ended. Eight steps of 500 orders would otherwise send 4,000 orders after Ctrl-C.
   */
  runsToCarryOut(): Promise<readonly OpenRun[]>;
  /** Seats that all brands of this process share. Default: the seats of one brand. */
  seats?: RunSeats | undefined;
  everyMs?: number | undefined;
  /** Starts the due scheduled runs, until closed. Absent: this process starts none. */
  takeDue?: (taking: TakeOptions) => Promise<JobTaker>;
  /** Called for each step that ended, with its counts, or undefined if it failed. */
  onStep?: ((name: string, counts: Counts | undefined, seconds: number) => void) | undefined;
};

/** `close` finishes running jobs for at most `graceMs`, then returns the rest to the queue. */
export type RunningWorker = { close(graceMs?: number): Promise<void> };

type OpenRun = Pick<Run, 'id' | 'job'>;

/** A run that this process carries out. `stop` aborts its work when the run has ended elsewhere. */
type Carried = { taker: JobTaker; stop: AbortController };

const lookEveryMs = 1000;

const returnJobsMs = 3000;

/**
 * Carries runs out until closed. Takes jobs only from the queues of `runsToCarryOut`, so never touches a run without a
 * row.
 *
 * @throws ReviewSyncError when the queue does not respond.
 */
export async function startRunWorker(app: App, options: RunWorkerOptions): Promise<RunningWorker> {
  const { queues, log, warehouseOutage, abort, config } = app;
  const { onRetry, concurrency = stepsAtATime } = options;
  const { takeOverSeconds } = config;
  const queueOutage = openOutage(log, 'queue');
  const taking = { queues, log, takeOverSeconds, concurrency, queueOutage, onRetry, abort: abort.signal };
  app.fieldShapes.begin();
  const carried = openCarriedRuns(app, options, taking);

  async function look(): Promise<void> {
    const open = await options.runsToCarryOut().catch((error: unknown) => {
      const why = describeWithHint(error, addresses.warehouse);
      onRetry?.(`the warehouse cannot be used; trying again: ${why}`);
      warehouseOutage.failed(error);
    });
    if (!open) return;
    warehouseOutage.worked();
    await carried.follow(open).catch((error: unknown) => {
      onRetry?.(queueProblem(error));
      queueOutage.failed(error);
    });
  }
  const due = await options.takeDue?.(taking);
  const watch = repeat(options.everyMs ?? lookEveryMs, look);

  return {
    async close(graceMs = 10_000) {
      const timer = setTimeout(() => abort.abort(), graceMs);
      const closing = Promise.all([due?.close(), watch.close()]).then(() => carried.close());
      // A server that is down takes no jobs back. Their locks expire by themselves.
      await withTimeout(closing, graceMs + returnJobsMs, () => new Error('The queue takes no jobs back'))
        .catch(() => log.warn('the queue did not take all jobs back in time; another worker takes them over'))
        .finally(() => clearTimeout(timer));
    },
  };
}

/** The runs that this process takes jobs of, each in a seat. */
function openCarriedRuns(app: App, options: RunWorkerOptions, taking: TakeOptions) {
  const { queues, warehouse } = app;
  const carried = new Map<string, Carried>();
  const ending = new Set<Promise<void>>();
  const slots = openStepSlots(taking.concurrency);
  // One of the takers belongs to the queue `scheduled`.
  const { seats = openRunSeats(takersAtATime - 1, takersAtATime - 1) } = options;

  async function carry({ id: runId, job: jobName }: OpenRun): Promise<void> {
    const isLive = options.jobs.find(({ name }) => name === jobName)?.priority === 1;
    if (!seats.take(carried.size + ending.size, isLive)) return;
    try {
      const stop = new AbortController();
      const { name } = await queues.ofRun(runId);
      const taker = await takeJobs(taking, name, (job) =>
        withRun(runId, () => handle({ app, options, slots, runId, stopped: stop.signal }, job)),
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
    /** Stops the work of runs that are no longer open, and takes the jobs of new runs. @throws the queue's error. */
    async follow(open: readonly OpenRun[]): Promise<void> {
      for (const [runId, one] of carried) if (!open.some(({ id }) => id === runId)) letGo(runId, one);
      for (const run of open) if (!carried.has(run.id)) await carry(run);
    },
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

/** Dependencies of a run's jobs. `stopped` aborts when the run has ended elsewhere. */
type Carrying = { app: App; options: RunWorkerOptions; slots: StepSlots; runId: string; stopped: AbortSignal };

/** Carries out a job of a run. If the run has ended, or has no row, does nothing. @returns the counts for the queue. */
async function handle({ app, options, slots, runId, stopped }: Carrying, job: QueueJob): Promise<Counts> {
  const run = await findRun(app.warehouse.db, runId);
  if (!run || run.finishedAt) return {};
  const definition = named(options.jobs, run.job);
  const held: HeldRun = { app, definition, job, run, signal: AbortSignal.any([app.abort.signal, stopped]) };
  try {
    if (job.id !== runId) return await slots(definition.priority, () => takeStep(held, options.onStep));
    await takeRun(held);
  } catch (error) {
    if (!stopped.aborted || error instanceof WaitingChildrenError) throw error;
  }
  return {};
}

async function takeStep(
  { app, definition, job, run, signal }: HeldRun,
  onStep: RunWorkerOptions['onStep'],
): Promise<Counts> {
  const step: StepJob<unknown> = named([definition.step], job.name);
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
    // The queue keeps only the message.
    throw new Error(describeWithHint(error), { cause: error });
  }
}
