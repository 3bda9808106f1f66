import { type Job as BullJob, UnrecoverableError, WaitingChildrenError } from 'bullmq';
import type { Counts } from '../base/counts.ts';
import { describeWithHint } from '../base/errors.ts';
import { isTransient } from '../base/lost-connections.ts';
import type { AddingRun, Queues, RunData, StepData } from './index.ts';
import { type AnyRunJob, named, type RunInfo, type RunReport } from './job.ts';
import { type EndOf, whileOpen } from './while-open.ts';

export type RunOptions<Context> = {
  queues: Queues;
  jobs: readonly AnyRunJob<Context>[];
  context: Context;
  now: () => Date;
  /**
   * What the queue still has of a run that has ended does nothing: somebody stopped the run, or the worker that ended it
   * crashed before it could say so to the queue.
   */
  endOf: EndOf;
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
  const run = runInfo(job, options);
  const held: Held<Context> = { options, definition, job, token: token ?? '', run };
  try {
    const isNew = (job.data as RunData).stage === undefined;
    if (isNew && !(await definition.begin(options.context, run, options.queues.isAlive))) {
      return { outcome: 'done', counts: { skipped: 1 } };
    }
    for (;;) {
      const data = job.data as RunData;
      // Before `whileOpen` looks: a step of a run that has ended does nothing, and must not count as one that succeeded.
      if (data.stage === 'waiting' && (await job.moveToWaitingChildren(held.token))) throw new WaitingChildrenError();
      const stage = (watched: AbortSignal) => takeStage(held, data, watched);
      const report = await whileOpen<RunReport | undefined>(options, run.id, signal, stage, (end) => end);
      if (report) return report;
    }
  } catch (error) {
    if (signal.aborted || error instanceof WaitingChildrenError) throw error;
    if (isTransient(error) && !isLastAttempt(job)) throw new Error(describeWithHint(error), { cause: error });
    await definition.fail(options.context, run, describeWithHint(error));
    // The reason is recorded with the run; the job keeps words without customers' data.
    throw new UnrecoverableError(describeWithHint(error));
  }
}

/**
 * Takes a run through the stage that `data` says. Each stage is written down before the next begins, so that a crash
 * between them repeats at most one.
 *
 * @returns how the run ended; undefined where another stage follows.
 */
async function takeStage<Context>(
  held: Held<Context>,
  data: RunData,
  signal: AbortSignal,
): Promise<RunReport | undefined> {
  const { options, definition, job, run } = held;
  const { context } = options;
  if (data.stage === 'adding') return addSteps(held, data);
  const payload = definition.parse(data.payload);
  if (data.stage === undefined) {
    const { state, steps } = await definition.plan(context, payload, run, signal);
    const at = { startedAt: run.startedAt.toISOString(), state, planned: steps.length, before: 0, succeeded: 0 };
    return writeDown(held, { ...data, ...at, stage: 'adding', steps });
  }
  const results = Object.values(await job.getChildrenValues<Counts>());
  const { planned, before, succeeded } = data;
  const isDown = planned > before && results.length === succeeded;
  const next = isDown ? undefined : await definition.next?.(context, payload, data.state);
  if (next) {
    const of = { planned: planned + next.steps.length, before: planned, succeeded: results.length };
    return writeDown(held, { ...data, ...next, ...of, stage: 'adding' });
  }
  const failures = Object.values(await job.getIgnoredChildrenFailures());
  const lost = Array.from({ length: planned - results.length - failures.length }, () => lostStep);
  const end = { state: data.state, results, failures: [...failures, ...lost] };
  return definition.conclude(context, payload, run, end, signal);
}

const lostStep = 'the queue has lost the step';

/**
 * Writes the stage down, unless the job was taken over while this process was frozen: then the plan is the other
 * worker's.
 *
 * @throws Error where the lock of the job is lost.
 */
async function writeDown<Context>({ options, job, token }: Held<Context>, data: RunData): Promise<undefined> {
  const isLocked = await job.extendLock(token, options.takeOverSeconds * 600);
  if (isLocked !== 1) throw new Error('another worker took this run over');
  await job.updateData(data);
}

/**
 * Adds the steps of a batch at once, unless an interrupted attempt did: a step that has ended meanwhile must not be
 * added again. Postgres adds all or none. On Redis some may be missing, where the process died or a command of the
 * pipeline was interrupted: those count as lost, and the run is incomplete. BullMQ allows no colon in an id; the ids of
 * scheduled runs have some. `timestamp`: such an id comes twice where a clock is set back, and the queue may still have
 * the steps of the first.
 */
async function addSteps<Context>(held: Held<Context>, { steps, ...data }: RunData & AddingRun): Promise<undefined> {
  const { options, definition, job, run } = held;
  const parent = { id: run.id, queue: job.queueQualifiedName };
  const opts = { parent, ignoreDependencyOnFailure: true, priority: definition.priority, ...stepAttempts };
  const added = steps.map((payload, index) => ({
    name: definition.step.name,
    data: { runId: run.id, payload } satisfies StepData,
    opts: { ...opts, jobId: `${run.id.replaceAll(':', '-')}-${job.timestamp}-${data.before + index}` },
  }));
  const { processed = 0, unprocessed = 0, ignored = 0 } = await job.getDependenciesCount();
  if (processed + unprocessed + ignored <= data.before) await options.queues.bull.steps.addBulk(added);
  return writeDown(held, { ...data, stage: 'waiting' });
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
