import { type Issue, issuesOf } from '../app/issues.ts';
import type { StatusReport } from '../app/status-report.ts';
import { describeError } from '../base/errors.ts';
import { dayOf, secondOf } from '../base/time/span.ts';
import { withTimeout } from '../base/timeout.ts';
import type { Db } from '../warehouse/index.ts';
import { coverageByDay, type DayCoverage } from '../warehouse/reviews/coverage.ts';
import { windowTotals } from '../warehouse/reviews/export-windows.ts';
import {
  deadLettersByDay,
  lagSpans,
  ordersByDay,
  reviewsByDay,
  withStatementTimeout,
} from '../warehouse/runs/history.ts';
import type { Run } from '../warehouse/runs/runs.ts';
import { cached } from './cached.ts';
import type { MeasuredApp } from './measured-app.ts';
import { type History, lagSpanCount, lagSpanSeconds } from './page/charts.ts';

/** A run in progress. */
export type RunInProgress = {
  run: Run;
  /** Undefined where the queue cannot say; `unknown` is why. */
  steps: { planned: number | undefined; ended: number } | undefined;
  unknown: string | undefined;
  /** Spans of reviews that it has read and proven so far. */
  read: { windows: number; reviews: number; requests: number };
};

/** Everything that the status page shows. */
export type View = {
  report: StatusReport;
  issues: readonly Issue[];
  /** The service's zone, in which days and months begin. */
  timeZone: string;
  /** Years with reviews, the newest first, and the year whose days are shown. */
  years: readonly number[];
  year: number;
  days: readonly DayCoverage[];
  /** What the charts show, or why it could not be read. */
  history: History | { unknown: string };
  progress: readonly RunInProgress[];
};

/** How long what the charts show is kept, in milliseconds: they show days and hours. */
const historyMs = 30_000;
/** A statement of the page takes milliseconds. One that takes this long is cut off, and the page says so. */
const statementMs = 5000;
/** Runs in progress that are looked at. More than a handful is a queue full of commands. */
const mostInProgress = 5;
const queueTimeoutMs = 2000;
/** Days that the charts show. */
const dayCount = 30;

/** Reads what the status page shows, of a year's coverage. All who look at the status page within some seconds see the same charts. */
export function openViews({ app, reports }: MeasuredApp) {
  const { db } = reports.warehouse;
  const { timeZone } = app.config.api;
  const unknownOf = (error: unknown) => ({ unknown: describeError(error) });
  const history = cached(() => readHistory(db, timeZone, new Date()).catch(unknownOf), historyMs);

  const progressOf = (runs: readonly Run[]): Promise<RunInProgress[]> => {
    const open = runs.filter(({ finishedAt }) => finishedAt === null).slice(0, mostInProgress);
    return Promise.all(
      open.map(async (run) => {
        const known = { run, read: await windowTotals(db, run.id) };
        try {
          const late = () => new Error('the queue did not respond in time');
          const { planned, ended, state } = await withTimeout(app.queues.progress(run.id), queueTimeoutMs, late);
          const isLost = state === 'lost';
          const unknown = isLost ? 'its job is no longer in the queue' : undefined;
          return { ...known, steps: isLost ? undefined : { planned, ended }, unknown };
        } catch (error) {
          return { ...known, steps: undefined, unknown: describeError(error) };
        }
      }),
    );
  };

  return async (wanted: number): Promise<View> => {
    const report = await reports.get();
    const years = [...new Set(report.coverage.map(({ month }) => Number(month.slice(0, 4))))].reverse();
    const year = years.includes(wanted) ? wanted : (years[0] ?? 0);
    const days = { timeZone, first: `${year}-01-01`, last: `${year}-12-31` };
    return {
      report,
      issues: issuesOf(report),
      timeZone,
      years,
      year,
      days: years.length > 0 ? await coverageByDay(db, days) : [],
      history: await history.get(),
      progress: await progressOf(report.runs),
    };
  };
}

/** Reads what the charts show: the last 30 days in the zone, and the lag of a week. */
export async function readHistory(db: Db, timeZone: string, now: Date): Promise<History> {
  const days = { ...lastDays(now, timeZone, dayCount), timeZone };
  const spanMs = lagSpanSeconds * 1000;
  const from = new Date(Math.floor(now.getTime() / spanMs) * spanMs - (lagSpanCount - 1) * spanMs);
  return withStatementTimeout(db, statementMs, async (trx) => ({
    at: now,
    reviews: await reviewsByDay(trx, days),
    orders: await ordersByDay(trx, days),
    deadLetters: await deadLettersByDay(trx, days),
    coverage: await coverageByDay(trx, days),
    lag: { from, spans: await lagSpans(trx, from, lagSpanSeconds) },
  }));
}

/** The last days in the zone as `yyyy-mm-dd`, today included. */
export function lastDays(now: Date, timeZone: string, count: number): { first: string; last: string } {
  const last = dayOf(secondOf(now), timeZone);
  const first = new Date(Date.parse(last) - (count - 1) * 86_400_000);
  return { first: first.toISOString().slice(0, 10), last };
}
