import type { Counts } from '../counts.ts';

export type RunInfo = Readonly<{
  /** The run's id, the same after a crash. */
  id: string;
  trigger: 'schedule' | 'command';
  /** When the run's job was first taken up. */
  startedAt: Date;
}>;

export type RunReport = { outcome: 'done' | 'incomplete'; counts: Counts; error?: string };

/** A part of a run, small enough to lose: it is run again elsewhere, even while an earlier attempt is still going. */
export type StepJob<Context, Payload> = Readonly<{
  name: string;
  parse(payload: unknown): Payload;
  run(context: Context, payload: Payload, at: { runId: string; signal: AbortSignal }): Promise<Counts>;
}>;

/**
 * A run: it plans steps, waits until all of them have ended, and concludes. Each of the three may be run again after a
 * crash. Payloads hold keys and dates, never customers' data.
 */
export type RunJob<Context, Payload, State, StepPayload> = Readonly<{
  name: string;
  /** Which of the configured cron schedules starts it; without it, only commands do. */
  schedule?: 'catalog' | 'orders' | 'reviews' | 'reconcile';
  step: StepJob<Context, StepPayload>;
  /** Steps of a run with a higher number wait for those with a lower one. */
  priority: number;
  parse(payload: unknown): Payload;
  /** False: the run must not start, one of its kind is still going. */
  begin(context: Context, run: RunInfo, isAlive: (runId: string) => Promise<boolean>): Promise<boolean>;
  plan(context: Context, payload: Payload, run: RunInfo, signal: AbortSignal): Promise<Plan<State, StepPayload>>;
  conclude(context: Context, payload: Payload, run: RunInfo, end: StepsEnd<State>): Promise<RunReport>;
  fail(context: Context, run: RunInfo, error: unknown): Promise<void>;
}>;

export type Plan<State, StepPayload> = { state: State; steps: StepPayload[] };

/** How the steps ended: what each brought, and why those failed that did. */
export type StepsEnd<State> = { state: State; results: Counts[]; failures: string[] };

/** A run job of any payload, for lists of jobs. Its payloads are checked by `parse` when they come out of the queue. */
// biome-ignore lint/suspicious/noExplicitAny: the list is heterogeneous; each job is checked where it is defined
export type AnyRunJob<Context> = RunJob<Context, any, any, any>;
