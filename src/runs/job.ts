import type { App } from '../app/app.ts';
import type { Counts } from '../base/counts.ts';
import { ReviewSyncError } from '../base/errors.ts';
import type { Run, RunReason, Trigger } from '../warehouse/runs/runs.ts';

export type RunReport = { outcome: 'done' | 'incomplete'; counts: Counts; reason?: RunReason; error?: string };

/**
 * A part of a run that is small enough to repeat. Another worker may run it while an earlier attempt is still running.
 * Its payload comes from the queue, and holds keys: what the step may do is in `run`, the row of sync.runs.
 */
export type StepJob<Payload> = Readonly<{
  name: string;
  parse(payload: unknown): Payload;
  run(app: App, payload: Payload, at: { run: Run; signal: AbortSignal }): Promise<Counts>;
}>;

/**
 * A run: it plans a batch of steps, waits until all of them have ended, plans the next batch as long as there is one,
 * and concludes. Each of these may be repeated after a crash. Signals abort when the worker stops or the run has
 * ended.
 */
export type RunJob<State, StepPayload> = Readonly<{
  name: string;
  /** The configured cron schedule that starts it. Without one, only commands start it. */
  schedule?: 'catalog' | 'orders' | 'reviews' | 'reconcile';
  /** Why it exists. The command of a backfill may name another one. */
  trigger: Trigger;
  /** Steps of a run with a higher number wait for those with a lower one. 1: the run keeps a flow up to date. */
  priority: number;
  /** Whether its steps read the shop: then a process carries it out only if its shop is the same one. */
  readsShop: boolean;
  step: StepJob<StepPayload>;
  plan(app: App, run: Run, signal: AbortSignal): Promise<Plan<State, StepPayload>>;
  /**
   * Plans the next batch of steps once all steps of the batch before it have ended; undefined: nothing remains, and the
   * run concludes. Without it a run has one batch. It is not called after a batch without a step that succeeded: a
   * system is down then. It may be called again with the same state after a crash: what it saves only moves forward, and the
   * batch it returned first may be lost.
   */
  next?(app: App, run: Run, state: State): Promise<Plan<State, StepPayload> | undefined>;
  conclude(app: App, run: Run, end: StepsEnd<State>, signal: AbortSignal): Promise<RunReport>;
}>;

type Plan<State, StepPayload> = { state: State; steps: StepPayload[] };

/** How the steps ended: the counts of each, and the errors of those that failed. */
export type StepsEnd<State> = { state: State; results: Counts[]; failures: string[] };

/** A run job of any payload, for lists of jobs. Payloads of steps are checked by `parse` when they come out of the queue. */
// biome-ignore lint/suspicious/noExplicitAny: the list is heterogeneous; each job is checked where it is defined
export type AnyRunJob = RunJob<any, any>;

/** @throws ReviewSyncError if no job or step of the list has this name. */
export function named<T extends { name: string }>(all: readonly T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (!found) {
    throw new ReviewSyncError('job', `The queue holds a job "${name}", which this version does not know`, {
      hint: 'It was enqueued by another version; run one version on all machines.',
    });
  }
  return found;
}
