import type { App } from '../src/app/app.ts';
import { requireSameService } from '../src/app/require-same-service.ts';
import { addCounts, type Conclusion, type Counts, counted } from '../src/base/counts.ts';
import { mask } from '../src/base/mask.ts';
import type { RunInfo, RunJob, RunReason, RunReport, StepsEnd } from '../src/queue/job.ts';
import { recount } from '../src/warehouse/bi/recount.ts';
import { countOpenDeadLetters } from '../src/warehouse/dead-letters.ts';
import { warehouseNow } from '../src/warehouse/index.ts';
import { beginRun, endOfRun, finishRun, openRuns } from '../src/warehouse/runs/runs.ts';
import type { DeadLetterKind } from '../src/warehouse/schema.ts';

type Completing<Payload, State> = {
  payload: Payload;
  state: State;
  run: RunInfo;
  failures: readonly string[];
  signal: AbortSignal;
};

type Definition<Payload, State, StepPayload> = Omit<
  RunJob<App, Payload, State, StepPayload>,
  'begin' | 'conclude' | 'fail'
> & {
  /** Open dead letters of these kinds make the run incomplete. */
  deadLetters: readonly DeadLetterKind[];
  /** Of them only those that failed since then; where it is absent or returns undefined, all. */
  deadLettersSince?(state: State, payload: Payload): Date | undefined;
  /**
   * Called after all steps succeeded. Cursors move here, never ahead of the rows.
   *
   * @param at.failures the errors of failed steps. Empty unless `completesAlways`.
   */
  complete(app: App, at: Completing<Payload, State>): Promise<Conclusion>;
  /** Called when the run ends, after `complete`. Its counts replace those of the steps. @param counts of all steps. */
  conclusion?(app: App, run: RunInfo, counts: Counts): Promise<Conclusion>;
  /** `complete` is called even where steps failed: a window that cannot be read must not delay anything else. */
  completesAlways?: true;
};

/** A run job that is recorded in sync.runs and ends incomplete when a step or a record failed (promise 8). */
export function defineRun<Payload, State, StepPayload>(
  definition: Definition<Payload, State, StepPayload>,
): RunJob<App, Payload, State, StepPayload> {
  return {
    ...definition,
    begin: (app, run, isAlive) => begin(app, definition.name, run, isAlive),
    async plan(app, payload, run, signal) {
      await requireSameService(app.warehouse.db, app.config.api);
      return definition.plan(app, payload, run, signal);
    },
    async conclude(app, payload, run, end, signal) {
      const at = { payload, run, state: end.state, failures: end.failures, signal };
      const isComplete = end.failures.length === 0 || definition.completesAlways;
      const completed = isComplete ? await definition.complete(app, at) : undefined;
      const ofSteps = addCounts([...end.results, completed?.counts ?? {}]);
      const concluded = await definition.conclusion?.(app, run, ofSteps);
      const counts = { ...ofSteps, ...concluded?.counts };
      const problems = [completed?.problem, concluded?.problem].flatMap((one) => (one ? [mask(one)] : []));
      const since = definition.deadLettersSince?.(end.state, payload);
      const withinMs = since && app.now().getTime() - since.getTime();
      const deadLetters = await countOpenDeadLetters(app.warehouse.db, definition.deadLetters, withinMs);
      const report = reportOf({ deadLetters, problems }, counts, end);
      await recount(app.warehouse.db);
      await finishRun(app.warehouse.db, run.id, { finishedAt: app.now(), ...report });
      app.log[report.outcome === 'done' ? 'info' : 'warn'](
        { run: run.id, ...report },
        `${definition.name}: ${report.outcome}`,
      );
      return report;
    },
    async fail(app, run, reason) {
      const end = { finishedAt: app.now(), outcome: 'failed', error: reason } as const;
      await finishRun(app.warehouse.db, run.id, end);
    },
  };
}

/** How a run ended, as its command reports it; undefined where it has not. */
export async function endOf(app: App, runId: string): Promise<RunReport | undefined> {
  const end = await endOfRun(app.warehouse.db, runId);
  if (!end) return undefined;
  const { outcome, counts, reason, error } = end;
  if (outcome === 'done') return { outcome, counts };
  return { outcome: 'incomplete', counts, reason: reason ?? 'problem', error: error ?? '' };
}

/** Clocks of two machines differ by less than this; a run that began later than that has a wrong date. */
const clockErrorMs = 3_600_000;

async function begin(
  app: App,
  job: string,
  run: RunInfo,
  isAlive: (runId: string) => Promise<boolean>,
): Promise<boolean> {
  const { db } = app.warehouse;
  // Not the clock of this machine: where that is behind, it would stop the runs of all others.
  const now = await warehouseNow(db);
  for (const other of await openRuns(db)) {
    if (other.id === run.id) continue;
    // A clock was ahead when the run began, and its job is due by that clock: waiting for it would stop the schedule
    // until then.
    const isOfTheFuture = other.startedAt.getTime() > now.getTime() + clockErrorMs;
    if (isOfTheFuture) {
      const error = 'it began under a clock that was ahead. Run it again';
      await finishRun(db, other.id, { finishedAt: app.now(), outcome: 'abandoned', error });
    } else if (!(await isAlive(other.id))) {
      const error = 'its job is not in the queue of QUEUE_URL. Nothing is lost; run it again';
      await finishRun(db, other.id, { finishedAt: app.now(), outcome: 'failed', error });
    } else if (other.job === job && run.trigger === 'schedule') {
      app.log.warn({ job, running: other.id, since: other.startedAt }, 'not started: the run before it has not ended');
      return false;
    }
  }
  // The warehouse may have been restored since: what this process remembers of it ends with the run before.
  app.warehouse.knownProducts.clear();
  // It starts now, not when its job was taken: the run before it may have ended in between.
  const begun = await beginRun(db, { ...run, job, startedAt: app.now() });
  if (begun) app.log.info({ job, run: run.id }, 'run started');
  return begun;
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
    problems.push(`${counted(deadLetters, 'record')} could not be synced; see them with: npx review-sync dead-letters`);
  }
  return reason === undefined
    ? { outcome: 'done', counts }
    : { outcome: 'incomplete', counts, reason, error: problems.join('. ') };
}
