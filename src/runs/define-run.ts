import type { App } from '../app/app.ts';
import { requireSameService } from '../app/require-same-service.ts';
import { addCounts, type Conclusion, type Counts, counted } from '../base/counts.ts';
import { mask } from '../base/mask.ts';
import { recount } from '../warehouse/bi/recount.ts';
import { type DeadLetterKind, type DeadLettersAtEnd, deadLettersAtEnd } from '../warehouse/dead-letters.ts';
import { finishRun, type Run, type RunReason } from '../warehouse/runs/runs.ts';
import type { RunJob, RunReport, StepsEnd } from './job.ts';

type Definition<State, StepPayload> = Omit<RunJob<State, StepPayload>, 'conclude'> & {
  /** Open dead letters of these kinds make the run incomplete. */
  deadLetters: readonly DeadLetterKind[];
  /** Only dead letters that failed since then count; if it is absent or returns undefined, all. */
  deadLettersSince?(state: State, run: Run): Date | undefined;
  /**
   * Called after all steps succeeded. Cursors move here, never ahead of the rows.
   *
   * @param at.failures the errors of failed steps. Empty unless `completesAlways`.
   */
  complete(
    app: App,
    at: { state: State; run: Run; failures: readonly string[]; signal: AbortSignal },
  ): Promise<Conclusion>;
  /** Called when the run ends, after `complete`. Its counts replace those of the steps. */
  conclusion?(end: RunAtEnd): Promise<Conclusion>;
  /** `complete` is called even where steps failed: a window that cannot be read must not delay anything else. */
  completesAlways?: true;
};

/** `counts`: of all steps. `open`: dead letters that are open. */
export type RunAtEnd = { app: App; run: Run; counts: Counts; open: DeadLettersAtEnd };

/** A run job that is recorded in sync.runs and ends incomplete when a step or a record failed (promise 8). */
export function defineRun<State, StepPayload>(definition: Definition<State, StepPayload>): RunJob<State, StepPayload> {
  return {
    ...definition,
    async plan(app, run, signal) {
      await requireSameService(app.warehouse.db, app.config.api);
      // The warehouse may have been restored since: what this process remembers of it ends with the run before.
      app.warehouse.knownProducts.clear();
      return definition.plan(app, run, signal);
    },
    async conclude(app, run, end, signal) {
      const at = { run, state: end.state, failures: end.failures, signal };
      const isComplete = end.failures.length === 0 || definition.completesAlways;
      const completed = isComplete ? await definition.complete(app, at) : undefined;
      const ofSteps = addCounts([...end.results, completed?.counts ?? {}]);
      const since = definition.deadLettersSince?.(end.state, run);
      const open = await deadLettersAtEnd(app.warehouse.db, definition.deadLetters, run.startedAt, since);
      const concluded = await definition.conclusion?.({ app, run, counts: ofSteps, open });
      const counts = { ...ofSteps, ...concluded?.counts };
      const problems = [completed?.problem, concluded?.problem].flatMap((one) => (one ? [mask(one)] : []));
      const report = reportOf({ deadLetters: open.counted, problems }, counts, end);
      await recount(app.warehouse.db);
      await finishRun(app.warehouse.db, run.id, report);
      app.log[report.outcome === 'done' ? 'info' : 'warn'](
        { run: run.id, ...report },
        `${definition.name}: ${report.outcome}`,
      );
      return report;
    },
  };
}

function reportOf(
  { deadLetters, problems: found }: { deadLetters: number; problems: readonly string[] },
  counts: Counts,
  end: StepsEnd<unknown>,
): RunReport {
  const problems: string[] = [...found];
  let reason: RunReason | undefined = found.length === 0 ? undefined : 'problem';
  if (end.failures.length > 0) {
    const reasons = [...new Set(end.failures)].slice(0, 3).join('; ');
    const all = end.failures.length + end.results.length;
    reason = 'steps-failed';
    problems.push(`${end.failures.length} of ${all} steps failed; the next run repeats them: ${reasons}`);
  }
  if (deadLetters > 0) {
    reason ??= 'dead-letters';
    problems.push(`${counted(deadLetters, 'record')} could not be synced; see them with: review-sync dead-letters`);
  }
  return reason === undefined
    ? { outcome: 'done', counts }
    : { outcome: 'incomplete', counts, reason, error: problems.join('. ') };
}
