import { describeError, hintOf } from '../base/errors.ts';
import { addresses } from '../base/hints.ts';
import { isRedis } from '../queue/connection.ts';
import type { Queues, RunProgress } from '../queue/index.ts';
import { nextRun } from '../queue/next-run.ts';
import { type PlannedRun, plannedRuns } from '../queue/schedules.ts';
import { inboxState } from '../warehouse/changed-reviews.ts';
import { groupDeadLetters } from '../warehouse/dead-letters.ts';
import { fieldDrift } from '../warehouse/field-shapes.ts';
import { warehouseNow } from '../warehouse/index.ts';
import { waitingForGrades, waitingLines } from '../warehouse/orders/due-orders.ts';
import { absenceSummary } from '../warehouse/orders/known-orders.ts';
import { orderQueriesState } from '../warehouse/orders/order-queries.ts';
import { countAbsent } from '../warehouse/reviews/absent-reviews.ts';
import { coverageByDay, type DayCoverage, openGaps, spanTotals } from '../warehouse/reviews/coverage.ts';
import { type Cursor, dailyCounts, type Flow, readCursor } from '../warehouse/runs/cursors.ts';
import { isAttended, isUnattended, lastRuns, newestEnded, openRuns, type Run } from '../warehouse/runs/runs.ts';
import { sessionState } from '../warehouse/service-session.ts';
import type { App } from './app.ts';
import { isWhole } from './config.ts';
import { serviceOf } from './require-same-service.ts';
import { systemsOf } from './run-rights.ts';

export type RunInProgress = {
  run: Run;
  /** Undefined if the queue does not have the run, or cannot be read. */
  steps: Pick<RunProgress, 'planned' | 'ended'> | undefined;
  /** Whether a process carries it out. */
  isAttended: boolean;
  /** Reviews in the spans that it has read and proven so far. */
  reviews: number;
};

/** Shown runs in progress. More than a handful is a queue full of commands. */
const mostInProgress = 5;

type StatusSource = Pick<App, 'warehouse' | 'config' | 'now'> & { queues: Queues | Error | undefined };

/** The state of everything, from columns and counts. `status`, the page, the metrics and the alerts format this. */
export type StatusReport = Awaited<ReturnType<typeof statusReport>>;

/**
 * Reads the state of everything, without shop and service. A queue that is down is reported in `queue.error`.
 *
 * @param source.queues an error if the queue could not be opened; undefined if shop and service are not configured,
 *   because the queue's name depends on the client id.
 * @throws the errors of the warehouse.
 */
export async function statusReport({ warehouse: { db }, config, now, queues }: StatusSource) {
  const at = now();
  const days = await coverageByDay(db);
  // Read the clock before the runs. If the queue hangs, `attendedAt` would otherwise look as old as the wait for it.
  const warehouseAt = await warehouseNow(db);
  const open = await openRuns(db);
  const runs = await lastRuns(db, 20);
  const { progress, ...ofQueue } = await readQueue(queues, config.queueUrl, open);
  const running = runs.filter(({ finishedAt }) => finishedAt === null).slice(0, mostInProgress);
  // A process that takes jobs of the run's queue notes that it carries the run out, even if the job is gone from it.
  const isGone = ({ id }: Run) => ['lost', 'failed'].includes(progress.get(id)?.state ?? '');
  return {
    at,
    flows: [
      flowOf('orders', await readCursor(db, 'orders'), config, at),
      flowOf('reviews', await readCursor(db, 'reviews'), config, at),
    ],
    // Limits of lag, dead letters and waiting lines. Beyond these, an alert is posted.
    alertLagMinutes: config.alerts.lagMinutes,
    alertDeadLetters: config.alerts.deadLetters,
    alertWaitingDays: config.alerts.waitingDays,
    ...coverageOf(days),
    runs,
    /** The newest open runs. */
    inProgress: await Promise.all(
      running.map(async (run): Promise<RunInProgress> => {
        const { reviews } = await spanTotals(db, run.id);
        const { state = 'lost', planned, ended = 0 } = progress.get(run.id) ?? {};
        const steps = state === 'lost' ? undefined : { planned, ended };
        return { run, steps, isAttended: isAttended(run, warehouseAt) && !isGone(run), reviews };
      }),
    ),
    /** The newest ended run of each job. */
    newest: await newestEnded(db),
    deadLetters: await groupDeadLetters(db),
    /** Pushed orders that the shop no longer shows. */
    absentOrders: await absenceSummary(db),
    orderDeletes: config.orderDeletes,
    /** Order lines that wait until their product id is known. */
    waiting: await waitingLines(db),
    /** Orders that wait for the id of their member grade. */
    waitingForGrades: await waitingForGrades(db),
    /** Whether the present shop queries have read all orders. */
    orderQueries: await orderQueriesState(db),
    openGaps: await openGaps(db),
    /** Reviews that a reconcile did not find and that are not yet confirmed to be deleted. */
    suspectedGone: await countAbsent(db),
    webhooks: await inboxState(db),
    /** The session with the service: holds, and refused tokens. */
    session: await sessionState(db, serviceOf(config.api)),
    drift: await fieldDrift(db),
    daily: await dailyCounts(db, at),
    ...ofQueue,
    /** Open runs that no process carries out, with the steps that wait, if the queue says how many. */
    leftRuns: open
      .filter((run) => isGone(run) || isUnattended(run, warehouseAt))
      .map((run) => ({ ...run, stepsLeft: stepsLeft(progress.get(run.id)) })),
    /** The zone and systems of this process; undefined if only the warehouse is configured. */
    systems: isWhole(config) ? systemsOf(config) : undefined,
  };
}

/**
 * `steps`: unfinished steps of open runs. `error`: why the queue cannot be read, with a hint; the other fields are then
 * unknown. `progress`: the progress of the open runs, by id.
 */
type QueueStatus = {
  queue: { kind: 'redis' | 'postgres'; steps?: number; error?: string; hint?: string };
  scheduled: PlannedRun[];
  progress: ReadonlyMap<string, RunProgress>;
};

async function readQueue(queues: Queues | Error | undefined, url: string, open: readonly Run[]): Promise<QueueStatus> {
  const kind = isRedis(url) ? 'redis' : 'postgres';
  const nothing = { scheduled: [], progress: new Map<string, RunProgress>() };
  if (!queues) return { queue: { kind }, ...nothing };
  try {
    if (queues instanceof Error) throw queues;
    const progress = new Map<string, RunProgress>();
    for (const { id } of open) progress.set(id, await queues.progress(id));
    const steps = [...progress.values()].reduce((sum, one) => sum + (stepsLeft(one) ?? 0), 0);
    return { queue: { kind, steps }, scheduled: await plannedRuns(queues), progress };
  } catch (error) {
    const hint = hintOf(error, addresses.queue) ?? 'start its server';
    return { queue: { kind, error: describeError(error), hint }, ...nothing };
  }
}

/** Steps that have not ended; undefined if the queue does not say how many are planned. */
const stepsLeft = (progress: RunProgress | undefined): number | undefined =>
  progress?.planned === undefined ? undefined : progress.planned - progress.ended;

/** How far a flow has come. `schedules`: an empty pattern is no schedule. */
export function flowOf(
  flow: Flow,
  cursor: Cursor | undefined,
  { schedules, scheduleTimeZone: timeZone }: { schedules: Readonly<Record<Flow, string>>; scheduleTimeZone: string },
  now: Date,
) {
  const pattern = schedules[flow];
  // Everything up to readTo has been read, however old the newest change is.
  const readTo = cursor && new Date(cursor.readTo);
  const dueAt = readTo && pattern !== '' ? nextRun({ pattern, timeZone }, readTo.getTime()) : undefined;
  const secondsSince = (at: Date) => Math.round((now.getTime() - at.getTime()) / 1000);
  return {
    flow,
    watermark: cursor ? new Date(cursor.at).toISOString() : null,
    /** Seconds since the last run that read everything began. */
    lagSeconds: readTo ? secondsSince(readTo) : null,
    /** Whether SCHEDULE_ORDERS or SCHEDULE_REVIEWS has a pattern. */
    isScheduled: pattern !== '',
    /** Seconds since the run after that one was due by the schedule. Null: it is not due yet, or has no schedule. */
    overdueSeconds: dueAt && dueAt < now ? secondsSince(dueAt) : null,
  };
}

/** Coverage by month, and by day of the last twelve months. `firstHole`: the first of a month's `holes`, or null. */
export function coverageOf(all: readonly DayCoverage[]) {
  const months = [...Map.groupBy(all, ({ day }) => day.slice(0, 7))];
  const coverage = months.map(([month, days]) => {
    const holes = days.filter(({ isHole }) => isHole);
    const readDays = days.filter(({ isRead }) => isRead).length;
    const reviews = days.reduce((sum, day) => sum + day.reviews, 0);
    return { month, days: days.length, readDays, holes: holes.length, reviews, firstHole: holes[0]?.day ?? null };
  });
  return { coverage, coverageDays: months.slice(-12).flatMap(([, days]) => days) };
}
