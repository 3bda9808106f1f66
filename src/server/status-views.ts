import { issuesOf } from '../app/issues.ts';
import { runProgress } from '../app/run-progress.ts';
import { describeError } from '../base/errors.ts';
import { isStorable } from '../base/is-storable.ts';
import type { DayCoverage } from '../warehouse/reviews/coverage.ts';
import { coverageByDay } from '../warehouse/reviews/coverage.ts';
import { withStatementTimeout } from '../warehouse/runs/history.ts';
import { deadLettersBetween, windowsOfRun } from '../warehouse/runs/run-facts.ts';
import { findRun, type Run } from '../warehouse/runs/runs.ts';
import type { DeadLetterKind } from '../warehouse/schema.ts';
import { cached } from './cached.ts';
import type { RunView } from './page/run-page.ts';
import type { RunInProgress, View } from './page/view.ts';
import { pageTimeoutMs, readHistory } from './status-history.ts';
import type { StatusOptions } from './status-routes.ts';

/** How long what the charts show is kept, in milliseconds: they show days and hours. */
const historyMs = 30_000;
/** The same for what changes while a run is in progress. */
const currentMs = 5000;
/** Rows of one table on the page of a run. */
const mostRows = 100;

/** Reads what the pages show. All who look at the status page within some seconds see the same reading. */
export function openViews(options: StatusOptions) {
  const { warehouse, timeZone, queues, batchedJobs } = options;
  const { db } = warehouse;
  const history = cached(() => readHistory(db, timeZone, new Date()).catch(unknownOf), historyMs);
  const calendars = new Map<number, ReturnType<typeof cached<DayCoverage[]>>>();
  const progress = cached(async () => progressOf((await options.report()).runs), currentMs);

  const progressOf = async (runs: readonly Run[]): Promise<RunInProgress[]> =>
    (await runProgress(queues, db, runs)).map((one) => ({ ...one, plansInBatches: batchedJobs.includes(one.run.job) }));

  /** @param year one of the years with reviews, so that there are few of them. */
  function daysOf(year: number): Promise<DayCoverage[]> {
    const days = { timeZone, first: `${year}-01-01`, last: `${year}-12-31` };
    const calendar = calendars.get(year) ?? cached(() => coverageByDay(db, days), currentMs);
    calendars.set(year, calendar);
    return calendar.get();
  }

  return {
    async status(wanted: number): Promise<Omit<View, 'notice'>> {
      const report = await options.report();
      const years = [...new Set(report.coverage.map(({ month }) => Number(month.slice(0, 4))))].reverse();
      const year = years.includes(wanted) ? wanted : (years[0] ?? 0);
      return {
        report,
        issues: issuesOf(report),
        timeZone,
        years,
        year,
        days: years.length > 0 ? await daysOf(year) : [],
        history: await history.get(),
        progress: await progress.get(),
      };
    },

    /** Undefined where there is no such run. */
    async run(id: string): Promise<RunView | undefined> {
      if (!isStorable(id)) return undefined;
      const at = new Date();
      const view = await withStatementTimeout(db, pageTimeoutMs, async (trx) => {
        const run = await findRun(trx, id);
        if (!run) return undefined;
        const end = run.finishedAt ?? at;
        return {
          run,
          windows: await windowsOfRun(trx, id, mostRows),
          deadLetters: await deadLettersBetween(trx, deadLetterKindsOf(run.job), run.startedAt, end, mostRows),
        };
      });
      // After the transaction: with it, two pages would wait for a third connection of a pool of two.
      return view && { ...view, at, progress: (await progressOf([view.run]))[0] };
    },

    /** The next reading is a new one: a button has changed something. */
    forget(): void {
      history.forget();
    },
  };
}

const unknownOf = (error: unknown): { unknown: string } => ({ unknown: describeError(error) });

/** Kinds of dead letters that a job can leave. */
function deadLetterKindsOf(job: string): DeadLetterKind[] {
  if (job.includes('reviews')) return ['review'];
  return job === 'sync-catalog' ? ['category', 'user_grade'] : ['order', 'order_line'];
}
