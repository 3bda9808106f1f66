import { type Job as BullJob, UnrecoverableError, WaitingChildrenError } from 'bullmq';
import type { Counts } from '../base/counts.ts';
import { describeWithHint } from '../base/errors.ts';
import { isTransient } from '../base/lost-connections.ts';
import type { AddingRun, Queues, RunData, StepData, WaitingRun } from './index.ts';
import { type AnyRunJob, named, type RunInfo, type RunReport } from './job.ts';

export type RunOptions<Context> = {
  queues: Queues;
  jobs: readonly AnyRunJob<Context>[];
  context: Context;
  now: () => Date;
  /**
   * How a run ended; undefined where it has not. What the queue still has of a run that has ended does nothing: somebody
   * stopped the run, or the worker that ended it crashed before it could say so to the queue.
   */
  endOf: (runId: string) => Promise<RunReport | undefined>;
  /** Another worker takes over what a dead one had in hand, after so many seconds at most. */
  takeOverSeconds: number;
};

const stepAttempts = { attempts: 3, backoff: { type: 'exponential', delay: 2000 } } as const;

/** A run in the hands of this process. `token`: proves to the queue that the job is ours. */
type Held<Context> = {
  options: RunOptions<Context>;
  definition: AnyRunJob<Context>;
  job: BullJob;
  token: string;
  run: RunInfo;
};

/**
 * Takes a run from the stage that its job is in as far as it can: begin, plan, then for each batch add the steps, wait
 * for them and plan the next batch; finally conclude. A stage is repeated after a crash or a broken connection, so each
 * stage gives the same result when it runs twice.
 *
 * @throws WaitingChildrenError while steps are going: the queue calls again when the last of them has ended.
 * @throws UnrecoverableError when the run failed for good, which is then recorded.
 */
export async function runRun<Context>(
  options: RunOptions<Context>,
  job: BullJob,
  token: string | undefined,
  signal: AbortSignal,
): Promise<RunReport> {
  const definition = named(options.jobs, job.name);
  const stored = job.data as RunData;
  const run = runInfo(job, options);
  const held: Held<Context> = { options, definition, job, token: token ?? '', run };
  try {
    const ended = await options.endOf(run.id);
    if (ended) return ended;
    const payload = definition.parse(stored.payload);
    if (stored.stage === undefined && !(await definition.begin(options.context, run, options.queues.isAlive))) {
      return { outcome: 'done', counts: { skipped: 1 } };
    }
    let data = stored.stage === undefined ? await planFirst(held, payload, signal) : stored;
    let isInterrupted = stored.stage === 'adding';
    for (;;) {
      if (data.stage === 'adding') data = await addSteps(held, data, isInterrupted);
      isInterrupted = false;
      if (await job.moveToWaitingChildren(held.token)) throw new WaitingChildrenError();
      const endedMeanwhile = await options.endOf(run.id);
      if (endedMeanwhile) return endedMeanwhile;
      const results = Object.values(await job.getChildrenValues<Counts>());
      const { planned, before, succeeded } = data;
      const isDown = planned > before && results.length === succeeded;
      const next = isDown ? undefined : await definition.next?.(options.context, payload, data.state);
      if (next === undefined) {
        const failures = Object.values(await job.getIgnoredChildrenFailures());
        const lost = Array.from({ length: planned - results.length - failures.length }, () => lostStep);
        const end = { state: data.state, results, failures: [...failures, ...lost] };
        return await definition.conclude(options.context, payload, run, end);
      }
      const of = { planned: planned + next.steps.length, before: planned, succeeded: results.length };
      data = { ...data, ...next, ...of, stage: 'adding' };
      await writeDown(held, data);
    }
  } catch (error) {
    if (signal.aborted || error instanceof WaitingChildrenError) throw error;
    if (isTransient(error) && !isLastAttempt(job)) throw new Error(describeWithHint(error), { cause: error });
    await definition.fail(options.context, run, describeWithHint(error));
    // The reason is recorded with the run; the job keeps words without customers' data.
    throw new UnrecoverableError(describeWithHint(error));
  }
}

const lostStep = 'the queue has lost the step';

/** Each stage is written down before the next begins, so that a crash between them repeats at most one. */
async function planFirst<Context>(
  held: Held<Context>,
  payload: unknown,
  signal: AbortSignal,
): Promise<RunData & AddingRun> {
  const { options, definition, job, run } = held;
  const { state, steps } = await definition.plan(options.context, payload, run, signal);
  const at = { startedAt: run.startedAt.toISOString(), state, planned: steps.length, before: 0, succeeded: 0 };
  const data: RunData & AddingRun = { ...(job.data as RunData), ...at, stage: 'adding', steps };
  await writeDown(held, data);
  return data;
}

/**
 * Writes the stage down, unless the job was taken over while this process was frozen: then the plan is the other
 * worker's.
 *
 * @throws Error where the lock of the job is lost.
 */
async function writeDown<Context>({ options, job, token }: Held<Context>, data: RunData): Promise<void> {
  const isLocked = await job.extendLock(token, options.takeOverSeconds * 600);
  if (isLocked !== 1) throw new Error('another worker took this run over');
  await job.updateData(data);
}

/** Adds the steps of a batch. Those that an interrupted attempt added already are left out. */
async function addSteps<Context>(
  held: Held<Context>,
  { steps, ...data }: RunData & AddingRun,
  isInterrupted: boolean,
): Promise<RunData & WaitingRun> {
  const { options, definition, job, run } = held;
  const ids = jobIdsOf(run, data.before, data.planned);
  const known = isInterrupted ? await addedSteps(job) : new Set<string>();
  const missing = steps.flatMap((step, index) => {
    const jobId = ids[index] ?? '';
    if (known.has(jobId)) return [];
    const parent = { id: run.id, queue: job.queueQualifiedName };
    const opts = { jobId, parent, ignoreDependencyOnFailure: true, priority: definition.priority, ...stepAttempts };
    return [{ name: definition.step.name, data: { runId: run.id, payload: step } satisfies StepData, opts }];
  });
  for (let at = 0; at < missing.length; at += 500) {
    await options.queues.bull.steps.addBulk(missing.slice(at, at + 500));
  }
  const waiting: RunData & WaitingRun = { ...data, stage: 'waiting' };
  await writeDown(held, waiting);
  return waiting;
}

/**
 * Ids of the run's steps from one number up to another. BullMQ allows no colon in an id; the ids of scheduled runs have
 * some.
 */
const jobIdsOf = (run: RunInfo, from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `${run.id.replaceAll(':', '-')}-${from + index}`);

/** BullMQ names a dependency `<prefix>:<queue>:<job id>`. */
const childId = (key: string) => key.slice(key.lastIndexOf(':') + 1);

/**
 * Ids of the steps that an interrupted attempt added. They must not be added again: a step that failed meanwhile would
 * never end a second time, and one whose job was removed by retention would be run again. The run's own job remembers
 * all of them.
 */
async function addedSteps(job: BullJob): Promise<Set<string>> {
  const { processed = {}, unprocessed = [], ignored = {}, failed = [] } = await job.getDependencies();
  const keys = [...Object.keys(processed), ...unprocessed, ...Object.keys(ignored), ...failed];
  return new Set(keys.map(childId));
}

/** Whether the queue will not try the job again when it fails now. */
const isLastAttempt = (job: BullJob) => job.attemptsMade + 1 >= (job.opts.attempts ?? 1);

function runInfo(job: BullJob, { queues, now }: Pick<RunOptions<unknown>, 'queues' | 'now'>): RunInfo {
  const data = job.data as RunData;
  return {
    id: String(job.id),
    key: data.key,
    trigger: job.queueName === queues.names.scheduled ? 'schedule' : 'command',
    startedAt: data.stage === undefined ? now() : new Date(data.startedAt),
  };
}
