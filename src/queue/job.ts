import type { Counts } from '../base/counts.ts';
import { ReviewSyncError } from '../base/errors.ts';

export type RunInfo = Readonly<{
  /** Unique id. It stays the same after a crash. */
  id: string;
  /** What the run is about: the range of a backfill. Runs of the same key continue or replace each other. */
  key: string | undefined;
  trigger: 'schedule' | 'command';
  /** When a worker first took the job. sync.runs has the moment at which the run began. */
  startedAt: Date;
}>;

/** Why a run is incomplete. Where several reasons apply, the first of this list. */
export type RunReason = 'steps-failed' | 'problem' | 'dead-letters';

export type RunReport = { outcome: 'done' | 'incomplete'; counts: Counts; reason?: RunReason; error?: string };

/**
 * A part of a run that is small enough to repeat. Another worker may run it while an earlier attempt is still running.
 */
export type StepJob<Context, Payload> = Readonly<{
  name: string;
  parse(payload: unknown): Payload;
  run(context: Context, payload: Payload, at: { runId: string; signal: AbortSignal }): Promise<Counts>;
}>;

/**
 * A run: it plans a batch of steps, waits until all of them have ended, plans the next batch as long as there is one,
 * and concludes. Each of these may be repeated after a crash. Signals abort when the worker stops or the run has
 * ended. Payloads hold keys and dates, never customers' data.
 */
export type RunJob<Context, Payload, State, StepPayload> = Readonly<{
  name: string;
  /** The configured cron schedule that starts it. Without one, only commands start it. */
  schedule?: 'catalog' | 'orders' | 'reviews' | 'reconcile';
  step: StepJob<Context, StepPayload>;
  /** Steps of a run with a higher number wait for those with a lower one. */
  priority: number;
  parse(payload: unknown): Payload;
  /** Returns false where the run must not start, because a run of its kind has not ended. */
  begin(context: Context, run: RunInfo, isAlive: (runId: string) => Promise<boolean>): Promise<boolean>;
  plan(context: Context, payload: Payload, run: RunInfo, signal: AbortSignal): Promise<Plan<State, StepPayload>>;
  /**
   * Plans the next batch of steps once all steps of the batch before it have ended; undefined: nothing remains, and the
   * run concludes. Without it a run has one batch. It is not called after a batch of which no step succeeded: a system
   * is down then. It may be called again with the same state after a crash: what it saves only moves forward, and the
   * batch it returned first may be lost.
   */
  next?(context: Context, payload: Payload, state: State): Promise<Plan<State, StepPayload> | undefined>;
  conclude(
    context: Context,
    payload: Payload,
    run: RunInfo,
    end: StepsEnd<State>,
    signal: AbortSignal,
  ): Promise<RunReport>;
  /** Records that the run failed. Does nothing where the run has ended already. */
  fail(context: Context, run: RunInfo, reason: string): Promise<void>;
}>;

type Plan<State, StepPayload> = { state: State; steps: StepPayload[] };

/** How the steps ended: the counts of each, and the errors of those that failed. */
export type StepsEnd<State> = { state: State; results: Counts[]; failures: string[] };

/** A run job of any payload, for lists of jobs. Its payloads are checked by `parse` when they come out of the queue. */
// biome-ignore lint/suspicious/noExplicitAny: the list is heterogeneous; each job is checked where it is defined
export type AnyRunJob<Context> = RunJob<Context, any, any, any>;

/** @throws ReviewSyncError where no job or step of the list has this name. */
export function named<T extends { name: string }>(all: readonly T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (!found) {
    throw new ReviewSyncError('job', `The queue holds a job "${name}", which this version does not know`, {
      hint: 'It was enqueued by another version; run one version on all machines.',
    });
  }
  return found;
}
