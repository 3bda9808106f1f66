import type { App } from '../app/app.ts';
import type { Counts } from '../base/counts.ts';
import { describeWithHint } from '../base/errors.ts';
import { isTransient } from '../base/lost-connections.ts';
import { type QueueJob, UnrecoverableError, WaitingChildrenError } from '../queue/worker.ts';
import { findRun, finishRun, type Run } from '../warehouse/runs/runs.ts';
import type { AnyRunJob } from './define-run.ts';

/** Data of a run's job: the run is not planned yet, adds the steps of a batch, or waits for them. */
export type RunData = { stage?: undefined } | AddingRun | (PlannedRun & { stage: 'waiting' });

type AddingRun = PlannedRun & { stage: 'adding'; steps: unknown[] };

type PlannedRun = {
  /** The state for the job's `next` and `conclude`: how far reading has come. */
  state?: unknown;
  /** Steps of all batches so far. */
  planned: number;
  /** Steps of the batches before the last one, and the number that succeeded. */
  before: number;
  succeeded: number;
};

export type StepData = { payload: unknown };

/** A run that this worker holds. `signal` aborts when the worker stops, or the run has ended elsewhere. */
export type HeldRun = { app: App; definition: AnyRunJob; job: QueueJob; run: Run; signal: AbortSignal };

const tokenOf = (job: QueueJob) => job.token ?? '';

/** The run's job keeps the results of successful steps. */
const stepOptions = { attempts: 3, backoff: { type: 'exponential', delay: 2000 }, removeOnComplete: true } as const;

/**
 * Takes a run as far as it can from the stage of its job: plan; for each batch, add the steps, wait for them and plan
 * the next batch; conclude. If a stage runs twice, as after a crash, it has the same result.
 *
 * @throws WaitingChildrenError while steps are running. When the last step has ended, the queue calls again.
 * @throws UnrecoverableError if the run failed permanently. The failure is then recorded.
 */
export async function takeRun(held: HeldRun): Promise<void> {
  const { app, job, run, signal } = held;
  try {
    for (;;) {
      const data = job.data as RunData;
      const isWaiting = data.stage === 'waiting';
      if (isWaiting && (await job.moveToWaitingChildren(tokenOf(job)))) throw new WaitingChildrenError();
      signal.throwIfAborted();
      // If the run has ended, its steps do nothing, and must not count as done. Before the first batch, `handle` has
      // checked.
      const hadSteps = isWaiting && data.planned > 0;
      if (hadSteps && (await findRun(app.warehouse.db, run.id))?.finishedAt) return;
      if (await takeStage(held, data)) return;
    }
  } catch (error) {
    if (signal.aborted || error instanceof WaitingChildrenError) throw error;
    if (isTransient(error) && !isLastAttempt(job)) throw new Error(describeWithHint(error), { cause: error });
    await finishRun(app.warehouse.db, run.id, { outcome: 'failed', error: describeWithHint(error) });
    // The run records the reason. The job keeps a text without customer data.
    throw new UnrecoverableError(describeWithHint(error));
  }
}

/** Takes a run through the stage in `data`, and saves the next stage. @returns whether the run has ended. */
async function takeStage(held: HeldRun, data: RunData): Promise<boolean> {
  const { app, definition, job, run, signal } = held;
  if (data.stage === 'adding') return addSteps(held, data);
  if (data.stage === undefined) {
    const { state, steps } = await definition.plan(app, run, signal);
    return writeDown(held, { state, planned: steps.length, before: 0, succeeded: 0, stage: 'adding', steps });
  }
  const results = Object.values(await job.getChildrenValues<Counts>());
  const { planned, before, succeeded } = data;
  const isDown = planned > before && results.length === succeeded;
  const next = isDown ? undefined : await definition.next?.(app, run, data.state);
  if (next) {
    const of = { planned: planned + next.steps.length, before: planned, succeeded: results.length };
    return writeDown(held, { ...next, ...of, stage: 'adding' });
  }
  const failures = Object.values(await job.getIgnoredChildrenFailures());
  const lost = Array.from({ length: planned - results.length - failures.length }, () => lostStep);
  const end = { state: data.state, results, failures: [...failures, ...lost] };
  await definition.conclude(app, run, end, signal);
  return true;
}

const lostStep = 'the queue has lost the step';

/** Saves the stage. @throws Error if another worker took the job over while this process was frozen. */
async function writeDown({ app, job }: HeldRun, data: RunData): Promise<false> {
  // In milliseconds, like the worker's `lockDuration`.
  const isLocked = await job.extendLock(tokenOf(job), app.config.takeOverSeconds * 600);
  if (isLocked !== 1) throw new Error('another worker took this run over');
  await job.updateData(data);
  return false;
}

/**
 * Adds the steps of a batch at once, unless an interrupted attempt added them: a step that has ended meanwhile must not
 * be added again. Postgres adds all steps or none. On Redis, steps may be missing if the process died or a command of
 * the pipeline was interrupted. Missing steps count as lost, and the run is incomplete.
 */
async function addSteps(held: HeldRun, { steps, ...data }: AddingRun): Promise<false> {
  const { app, definition, job, run } = held;
  const opts = {
    parent: { id: String(job.id), queue: job.queueQualifiedName },
    ignoreDependencyOnFailure: true,
    ...stepOptions,
  };
  const added = steps.map((payload, index) => ({
    name: definition.step.name,
    data: { payload } satisfies StepData,
    opts: { ...opts, jobId: `${run.id}-${data.before + index}` },
  }));
  const { processed = 0, unprocessed = 0, ignored = 0 } = await job.getDependenciesCount();
  if (processed + unprocessed + ignored <= data.before) await (await app.queues.ofRun(run.id)).addBulk(added);
  return writeDown(held, { ...data, stage: 'waiting' });
}

const isLastAttempt = (job: QueueJob) => job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
