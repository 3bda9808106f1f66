import type { App } from '../app/app.ts';
import { requireSameService } from '../app/require-same-service.ts';
import { addCounts, type Conclusion, type Counts, counted } from '../base/counts.ts';
import { ReviewSyncError } from '../base/errors.ts';
import { mask } from '../base/mask.ts';
import { recount } from '../warehouse/bi/recount.ts';
import { type DeadLetterKind, type DeadLettersAtEnd, deadLettersAtEnd } from '../warehouse/dead-letters.ts';
import { finishRun, type Run, type RunReason, type Trigger } from '../warehouse/runs/runs.ts';

export type RunReport = { outcome: 'done' | 'incomplete'; counts: Counts; reason?: RunReason; error?: string };

/**
 * A part of a run that is small enough to repeat. Another worker may run it while an earlier attempt is still running.
 * Its payload comes from the queue, and has keys only. `run`, the row of sync.runs, says what the step may do.
 */
export type StepJob<Payload> = Readonly<{
  name: string;
  parse(payload: unknown): Payload;
  run(app: App, payload: Payload, at: { run: Run; signal: AbortSignal }): Promise<Counts>;
}>;

/**
 * A run: it plans a batch of steps, waits until all of them have ended, plans the next batch as long as there is one,
 * and concludes. Each part may be repeated after a crash.
 */
export type RunJob<State, StepPayload> = Readonly<{
  name: string;
  /** The configured cron schedule that starts it. Without one, only commands start it. */
  schedule?: 'catalog' | 'orders' | 'reviews' | 'reconcile';
  /** Why the run exists. A backfill command may name another trigger. */
  trigger: Trigger;
  /** Steps with a higher number wait for steps with a lower number. 1: the run keeps a flow up to date. */
  priority: number;
  /** Whether its steps read the shop. If so, only a process with the same shop carries the run out. */
  readsShop: boolean;
  step: StepJob<StepPayload>;
  plan(app: App, run: Run, signal: AbortSignal): Promise<Plan<State, StepPayload>>;
  /**
   * Plans the next batch after the steps of the last one have ended. Undefined: the run concludes. Without `next`, a
   * run has one batch. If no step of a batch succeeded, a system is down, and `next` is not called. After a crash it
   * may be called again with the same state: what it saves must only move forward, and the batch that it first returned
   * may be lost.
   */
  next?(app: App, run: Run, state: State): Promise<Plan<State, StepPayload> | undefined>;
  conclude(app: App, run: Run, end: StepsEnd<State>, signal: AbortSignal): Promise<RunReport>;
}>;

type Plan<State, StepPayload> = { state: State; steps: StepPayload[] };

/** How the steps ended: the counts of each, and the errors of those that failed. */
export type StepsEnd<State> = { state: State; results: Counts[]; failures: string[] };

/** A run job of any payload, for lists of jobs. `parse` checks payloads of steps when they come out of the queue. */
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

type Definition<State, StepPayload> = Omit<RunJob<State, StepPayload>, 'conclude'> & {
  /** Open dead letters of these kinds make the run incomplete. */
  deadLetters: readonly DeadLetterKind[];
  /** Only dead letters that failed since this date count. Absent or undefined: all count. */
  deadLettersSince?(state: State, run: Run): Date | undefined;
  /** Called after all steps succeeded. Cursors move here, never ahead of the rows. */
  complete(app: App, at: { state: State; run: Run; failures: string[]; signal: AbortSignal }): Promise<Conclusion>;
  /** `complete` is called even if steps failed: an unreadable window must not delay anything else. */
  completesAlways?: true;
  /** Called after `complete`, however the run ended. Its counts replace those of the steps. */
  sumUp?(end: RunAtEnd): Promise<Conclusion>;
};

/** `counts`: the counts of all steps. `open`: open dead letters. */
export type RunAtEnd = { app: App; run: Run; counts: Counts; open: DeadLettersAtEnd };

/**
 * A run job that is recorded in sync.runs and ends incomplete if a step or a record failed (promise 8). To conclude it:
 *
 * 1. `complete` moves the cursors, unless a step failed.
 * 2. Count the open dead letters. `sumUp` corrects the counts of the run, and reports other problems.
 * 3. Bring the views of `bi` up to date, and record how the run ended.
 */
export function defineRun<State, StepPayload>(definition: Definition<State, StepPayload>): RunJob<State, StepPayload> {
  const { name, deadLetters: kinds, completesAlways = false } = definition;
  return {
    ...definition,
    async plan(app, run, signal) {
      await requireSameService(app.warehouse.db, app.config.api);
      // The warehouse may have been restored since the last run, so this process forgets what it remembers of it.
      app.warehouse.knownProducts.clear();
      return definition.plan(app, run, signal);
    },
    async conclude(app, run, { state, results, failures }, signal) {
      const { db } = app.warehouse;
      const isComplete = failures.length === 0 || completesAlways;
      const completed = isComplete ? await definition.complete(app, { run, state, failures, signal }) : undefined;
      const counts = addCounts([...results, completed?.counts ?? {}]);
      const open = await deadLettersAtEnd(db, kinds, run.startedAt, definition.deadLettersSince?.(state, run));
      const summedUp = await definition.sumUp?.({ app, run, counts, open });
      const problems = [completed?.problem, summedUp?.problem].flatMap((one) => (one ? [mask(one)] : []));
      const steps = { failures, ended: results.length + failures.length };
      const report = { counts: { ...counts, ...summedUp?.counts }, ...reportOf(problems, steps, open.counted) };
      await recount(db);
      await finishRun(db, run.id, report);
      app.log[report.outcome === 'done' ? 'info' : 'warn']({ run: run.id, ...report }, `${name}: ${report.outcome}`);
      return report;
    },
  };
}

/** @param problems problems other than failed steps and dead letters. */
function reportOf(
  problems: readonly string[],
  { failures, ended }: { failures: readonly string[]; ended: number },
  deadLetters: number,
): Omit<RunReport, 'counts'> {
  const texts = [...problems];
  if (failures.length > 0) {
    const errors = [...new Set(failures)].slice(0, 3).join('; ');
    texts.push(`${failures.length} of ${ended} steps failed; the next run repeats them: ${errors}`);
  }
  if (deadLetters > 0)
    texts.push(`${counted(deadLetters, 'record')} could not be synced; see them with: review-sync dead-letters`);
  if (texts.length === 0) return { outcome: 'done' };
  const reason = failures.length > 0 ? 'steps-failed' : problems.length > 0 ? 'problem' : 'dead-letters';
  return { outcome: 'incomplete', reason, error: texts.reduce(joined) };
}

const joined = (before: string, text: string) => `${before}${before.endsWith('.') ? '' : '.'} ${text}`;
