import type { App } from '../src/app.ts';
import { addCounts, type Counts } from '../src/counts.ts';
import { describeError, describeWithAdvice, IncompleteError } from '../src/errors.ts';
import type { RunInfo, RunJob, RunReport, StepsEnd } from '../src/queue/job.ts';
import { countOpenDeadLetters, lettersProblem } from '../src/warehouse/dead-letters.ts';
import { beginRun, finishRun, openRuns } from '../src/warehouse/runs.ts';
import type { DeadLetterKind } from '../src/warehouse/schema.ts';

type Given<Payload, State, StepPayload> = Omit<
  RunJob<App, Payload, State, StepPayload>,
  'begin' | 'conclude' | 'fail'
> & {
  /** Kinds of dead letters that leave this run incomplete while they are open. */
  letters: readonly DeadLetterKind[];
  /**
   * What follows when every step went through: cursors move here, never ahead of the rows. An IncompleteError makes the
   * run incomplete, and all that it brought stays.
   */
  complete(app: App, state: State, run: RunInfo): Promise<Counts>;
};

/** A run job of the usual shape: recorded in sync.runs, and incomplete when a step or a record failed (promise 8). */
export function defineRun<Payload, State, StepPayload>(
  given: Given<Payload, State, StepPayload>,
): RunJob<App, Payload, State, StepPayload> {
  return {
    ...given,
    begin: (app, run, isAlive) => begin(app, given.name, run, isAlive),
    async conclude(app, _payload, run, end) {
      const { counts: more, problem } =
        end.failures.length === 0 ? await completed(() => given.complete(app, end.state, run)) : {};
      const counts = addCounts([...end.results, more ?? {}]);
      const report = await reportOf(app, { kinds: given.letters, problem }, counts, end);
      await finishRun(app.warehouse.db, run.id, { finishedAt: app.now(), ...report });
      app.log[report.outcome === 'done' ? 'info' : 'warn'](
        { run: run.id, ...report },
        `${given.name}: ${report.outcome}`,
      );
      return report;
    },
    async fail(app, run, error) {
      const end = { finishedAt: app.now(), outcome: 'failed', counts: {}, error: describeWithAdvice(error) } as const;
      await finishRun(app.warehouse.db, run.id, end);
    },
  };
}

async function begin(
  app: App,
  job: string,
  run: RunInfo,
  isAlive: (runId: string) => Promise<boolean>,
): Promise<boolean> {
  const { db } = app.warehouse;
  for (const other of await openRuns(db, job)) {
    if (other.id === run.id) continue;
    if (!(await isAlive(other.id))) {
      await finishRun(db, other.id, { finishedAt: app.now(), outcome: 'abandoned', counts: other.counts });
    } else if (run.trigger === 'schedule') {
      app.log.warn({ job, going: other.id, since: other.startedAt }, 'not started: the run before it is still going');
      return false;
    }
  }
  const begun = await beginRun(db, { ...run, job });
  if (begun) app.log.info({ job, run: run.id }, 'run started');
  return begun;
}

async function completed(complete: () => Promise<Counts>): Promise<{ counts?: Counts; problem?: string }> {
  try {
    return { counts: await complete() };
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    return { problem: describeError(error) };
  }
}

async function reportOf(
  app: App,
  { kinds, problem }: { kinds: readonly DeadLetterKind[]; problem: string | undefined },
  counts: Counts,
  end: StepsEnd<unknown>,
): Promise<RunReport> {
  const problems: string[] = problem === undefined ? [] : [problem];
  if (end.failures.length > 0) {
    const reasons = [...new Set(end.failures)].slice(0, 3).join('; ');
    const all = end.failures.length + end.results.length;
    problems.push(`${end.failures.length} of ${all} parts failed and will be read again by the next run: ${reasons}`);
  }
  const letters = await countOpenDeadLetters(app.warehouse.db, kinds);
  if (letters > 0) {
    problems.push(lettersProblem(letters));
  }
  return problems.length === 0
    ? { outcome: 'done', counts }
    : { outcome: 'incomplete', counts, error: problems.join('. ') };
}
