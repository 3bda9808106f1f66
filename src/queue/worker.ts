import { setTimeout as delay } from 'node:timers/promises';
import { type Job as BullJob, UnrecoverableError, WaitingChildrenError, WaitingError } from 'bullmq';
import type { Counts } from '../counts.ts';
import { describeError, describeWithAdvice, IncompleteError, ReviewSyncError } from '../errors.ts';
import { type Logger, withRun } from '../log.ts';
import { telemetry } from './connection.ts';
import { type QueueName, type Queues, queueNames, type RunData, type StepData } from './index.ts';
import type { AnyRunJob, RunInfo, RunReport, StepJob } from './job.ts';

export type WorkerOptions<Context> = {
  queues: Queues;
  jobs: readonly AnyRunJob<Context>[];
  context: Context;
  /** Which queues to take from; a command leaves `scheduled` to real workers. */
  take: readonly QueueName[];
  /** Steps at a time. */
  concurrency: number;
  log: Logger;
  now: () => Date;
  /** Keeps that this process brought a step of the run to its end; awaited before the queue counts the step as done. */
  keepPart: (runId: string, counts: Counts) => Promise<void>;
  /** Told of each step that ended: what it brought, or undefined where it failed. */
  onStep?: ((name: string, counts: Counts | undefined, seconds: number) => void) | undefined;
  /** Told when a run ended, well or not. */
  onRun?: (() => void) | undefined;
  /** Told when the queue cannot be used; it is tried again for as long as the worker lives. */
  onTrouble?: ((error: unknown) => void) | undefined;
  /** Aborted when the time to finish what is in hand is over. */
  abort: AbortController;
};

export type RunningWorker = {
  /** Finishes what is in hand, at most `graceMs`; what is not done by then is handed back to the queue. */
  close(graceMs?: number): Promise<void>;
};

/** A dead worker's jobs are taken over after lock and check, twenty-five seconds at the most. */
const takeOver = { lockDuration: 15_000, stalledInterval: 10_000, maxStalledCount: 20 };
/** Runs only plan and conclude; while their steps are going they hold no place. */
const runsAtATime = 8;
const stepAttempts = { attempts: 3, backoff: { type: 'exponential', delay: 2000 } } as const;

/** Runs the jobs until closed. Every handler may be run twice at once: a stalled job is taken over by another worker. */
export function startWorker<Context>(options: WorkerOptions<Context>): RunningWorker {
  const { queues, log, abort } = options;
  const workers = options.take.map((name) => {
    const isSteps = name === 'steps';
    const worker = new queues.classes.Worker(
      queueNames[name],
      (job, token) =>
        handBackWhenAborted<Counts | RunReport>(job, token, abort.signal, () =>
          isSteps
            ? withRun((job.data as StepData).runId, () => runStep(options, job, abort.signal))
            : withRun(String(job.id), () => runRun(options, job, token, abort.signal)),
        ),
      {
        connection: queues.classes.connection,
        telemetry: telemetry(),
        concurrency: isSteps ? options.concurrency : runsAtATime,
        ...takeOver,
      },
    );
    const told = () => void (!isSteps && options.onRun?.());
    worker.on('completed', told).on('failed', told);
    worker.on('error', (error) => {
      log.warn({ queue: name, error: describeWithAdvice(error) }, 'the queue had an error');
      options.onTrouble?.(error);
    });
    worker.on('failed', (job, error) =>
      log.error({ job: job?.name, id: job?.id, error: describeError(error) }, 'job failed'),
    );
    worker.on('stalled', (id) => log.warn({ queue: name, id }, 'taking over a job whose worker is gone'));
    return worker;
  });

  return {
    async close(graceMs = 10_000) {
      const timer = setTimeout(() => abort.abort(), graceMs);
      try {
        // A server that is gone takes nothing back; its jobs' locks run out by themselves.
        await Promise.race([Promise.all(workers.map((worker) => worker.close())), handedBack(graceMs)]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** When everything must have been handed back. Keeps no process alive. */
const handedBack = (graceMs: number) => delay(graceMs + handBackMs, undefined, { ref: false });
const handBackMs = 5000;

async function handBackWhenAborted<T>(
  job: BullJob,
  token: string | undefined,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!signal.aborted || error instanceof WaitingChildrenError) throw error;
    await job.moveToWait(token);
    throw new WaitingError();
  }
}

async function runStep<Context>(options: WorkerOptions<Context>, job: BullJob, signal: AbortSignal): Promise<Counts> {
  const steps = options.jobs.map((one) => one.step as StepJob<Context, unknown>);
  const step = named(steps, job.name);
  const data = job.data as StepData;
  const begun = performance.now();
  const tell = (counts?: Counts) => options.onStep?.(job.name, counts, (performance.now() - begun) / 1000);
  try {
    const counts = await step.run(options.context, step.parse(data.payload), { runId: data.runId, signal });
    await keepPart(options, data.runId, counts);
    tell(counts);
    return counts;
  } catch (error) {
    if (!signal.aborted) tell();
    // What is known to be out of reach stays so: trying again would only cost time.
    if (error instanceof IncompleteError) throw new UnrecoverableError(describeError(error));
    // The queue keeps the message alone.
    throw new Error(describeWithAdvice(error), { cause: error });
  }
}

/** Only shown, so no reason to do the step again. */
async function keepPart<Context>(options: WorkerOptions<Context>, runId: string, counts: Counts): Promise<void> {
  try {
    await options.keepPart(runId, counts);
  } catch (error) {
    options.log.warn({ error: describeError(error) }, 'a step is missing in what this process is told to have done');
  }
}

async function runRun<Context>(
  options: WorkerOptions<Context>,
  job: BullJob,
  token: string | undefined,
  signal: AbortSignal,
): Promise<RunReport> {
  const definition = named(options.jobs, job.name);
  const stored = job.data as RunData;
  const startedAt = stored.startedAt ? new Date(stored.startedAt) : options.now();
  const run: RunInfo = {
    id: String(job.id),
    trigger: job.queueName === queueNames.scheduled ? 'schedule' : 'command',
    startedAt,
  };
  try {
    const payload = definition.parse(stored.payload);
    if (stored.stage === undefined && !(await definition.begin(options.context, run, options.queues.isAlive))) {
      return { outcome: 'done', counts: { skipped: 1 } };
    }
    const data = await planAndAdd(options, definition, job, run, payload, signal);
    if (await job.moveToWaitingChildren(token ?? '')) throw new WaitingChildrenError();
    const results: Counts[] = Object.values(await job.getChildrenValues());
    const failures: string[] = Object.values(await job.getIgnoredChildrenFailures());
    return await definition.conclude(options.context, payload, run, { state: data.state, results, failures });
  } catch (error) {
    if (signal.aborted || error instanceof WaitingChildrenError) throw error;
    await definition.fail(options.context, run, error);
    // The reason is recorded with the run; the job keeps words without customers' data.
    throw new UnrecoverableError(describeWithAdvice(error));
  }
}

/** Each stage is written down before the next begins, so that a crash between them repeats at most one. */
async function planAndAdd<Context>(
  options: WorkerOptions<Context>,
  definition: AnyRunJob<Context>,
  job: BullJob,
  run: RunInfo,
  payload: unknown,
  signal: AbortSignal,
): Promise<RunData> {
  let data = job.data as RunData;
  if (data.stage === undefined) {
    const { state, steps } = await definition.plan(options.context, payload, run, signal);
    data = { ...data, startedAt: run.startedAt.toISOString(), stage: 'adding', state, steps, planned: steps.length };
    await job.updateData(data);
  }
  if (data.stage === 'adding') {
    const steps = data.steps ?? [];
    for (let at = 0; at < steps.length; at += 500) {
      await options.queues.bull.steps.addBulk(
        steps.slice(at, at + 500).map((step, index) => ({
          name: definition.step.name,
          data: { runId: run.id, payload: step } satisfies StepData,
          opts: {
            jobId: `${run.id.replaceAll(':', '-')}-${at + index}`,
            parent: { id: run.id, queue: job.queueQualifiedName },
            ignoreDependencyOnFailure: true,
            priority: definition.priority,
            ...stepAttempts,
          },
        })),
      );
    }
    const { steps: _, ...rest } = data;
    data = { ...rest, stage: 'waiting' };
    await job.updateData(data);
  }
  return data;
}

function named<T extends { name: string }>(all: readonly T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (!found) {
    throw new ReviewSyncError('job', `The queue holds a job "${name}", which this version does not know`, {
      hint: 'It was enqueued by another version; run one version on all machines.',
    });
  }
  return found;
}
