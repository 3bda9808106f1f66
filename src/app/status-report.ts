import { describeError } from '../base/errors.ts';
import { isRedis } from '../queue/connection.ts';
import type { Queues } from '../queue/index.ts';
import { type PlannedRun, plannedRuns } from '../queue/schedules.ts';
import { type InboxState, inboxState } from '../warehouse/changed-reviews.ts';
import { type DeadLetterGroup, groupDeadLetters } from '../warehouse/dead-letters.ts';
import {
  type WaitingForGrades,
  type WaitingLines,
  waitingForGrades,
  waitingLines,
} from '../warehouse/orders/due-orders.ts';
import {
  type AbsenceSummary,
  absenceSummary,
  type MissedChanges,
  missedChanges,
} from '../warehouse/orders/known-orders.ts';
import { countAbsent } from '../warehouse/reviews/absent-reviews.ts';
import { coverageByMonth, type MonthCoverage } from '../warehouse/reviews/coverage.ts';
import { type Lateness, lateness } from '../warehouse/reviews/export-windows.ts';
import { type OpenGap, openGaps } from '../warehouse/reviews/open-gaps.ts';
import { type Cursor, type Flow, readCursor } from '../warehouse/runs/cursors.ts';
import { type DailyCounts, dailyCounts } from '../warehouse/runs/daily-counts.ts';
import { lastRuns, newestEnded, type Run } from '../warehouse/runs/runs.ts';
import { type ChangedQuery, changedShopQueries } from '../warehouse/shop-queries.ts';
import type { App } from './app.ts';

type FlowStatus = { flow: Flow; watermark: string | null; lagSeconds: number | null };

type QueueStatus = {
  kind: 'redis' | 'postgres';
  /** Jobs by queue and state; empty where the queue cannot be read. */
  jobs: Record<string, Record<string, number>>;
  /** Why the queue cannot be read. */
  error?: string;
};

/** The state of everything, from columns and counts. `status`, the page, the metrics and the alerts format this. */
export type StatusReport = {
  /** When the report was made. */
  at: Date;
  flows: FlowStatus[];
  /** A lag above this is worth an alert. */
  alertLagMinutes: number;
  coverage: MonthCoverage[];
  queue: QueueStatus;
  /** The newest runs. */
  runs: Run[];
  /** The newest run of each job that has ended. */
  newest: Run[];
  deadLetters: DeadLetterGroup[];
  /** Changed orders of the last thirty days that only a rescan found. */
  missedOrders: MissedChanges;
  /** Pushed orders that the shop no longer shows. */
  absentOrders: AbsenceSummary;
  /** ORDER_DELETES: whether those are deleted at the service. */
  orderDeletes: 'off' | 'send';
  /** Order lines that wait until the service is known to have their product. */
  waiting: WaitingLines;
  /** Orders whose member grade the service is not known to have. */
  waitingForGrades: WaitingForGrades;
  /** Lines that wait longer than this are worth an alert. */
  alertWaitingDays: number;
  /** Spans of reviews that could not be read or proven, the oldest date first. */
  openGaps: OpenGap[];
  /**
   * Reviews of the last thirty days that the service showed late. Those found by reconcile-reviews the lookback had
   * missed.
   */
  late: Lateness[];
  /** Reviews that a reconcile did not find and that are not yet confirmed to be deleted. */
  suspectedGone: number;
  webhooks: InboxState;
  /** Records of each flow by day. */
  daily: DailyCounts[];
  /** Shop queries that changed since orders were pushed. */
  changedQueries: ChangedQuery[];
  /** Empty where the queue cannot be read. */
  scheduled: PlannedRun[];
};

/** What a report is read from. `queues` is an error where the queue could not be opened. */
export type StatusSource = Pick<App, 'warehouse' | 'config' | 'now'> & { queues: Queues | Error };

/**
 * Reads the state of everything. Changes nothing. Neither shop nor service is used; a queue that is down is reported in
 * `queue.error`.
 *
 * @throws the errors of the warehouse.
 */
export async function statusReport({ warehouse, config, now, queues }: StatusSource): Promise<StatusReport> {
  const { db } = warehouse;
  const at = now();
  return {
    at,
    flows: await Promise.all(
      (['orders', 'reviews'] as const).map(async (flow) => flowOf(flow, await readCursor(db, flow), at)),
    ),
    alertLagMinutes: config.alerts.lagMinutes,
    coverage: await coverageByMonth(db, config.api.timeZone),
    runs: await lastRuns(db, 20),
    newest: await newestEnded(db),
    deadLetters: await groupDeadLetters(db),
    missedOrders: await missedChanges(db, new Date(at.getTime() - 30 * 86_400_000)),
    absentOrders: await absenceSummary(db),
    orderDeletes: config.orderDeletes,
    waiting: await waitingLines(db),
    waitingForGrades: await waitingForGrades(db),
    alertWaitingDays: config.alerts.waitingDays,
    openGaps: await openGaps(db),
    late: await lateness(db, new Date(at.getTime() - 30 * 86_400_000)),
    suspectedGone: await countAbsent(db),
    webhooks: await inboxState(db),
    daily: await dailyCounts(db, at),
    changedQueries: await changedShopQueries(db),
    ...(await readQueue(queues, config.queueUrl)),
  };
}

async function readQueue(queues: Queues | Error, url: string): Promise<Pick<StatusReport, 'queue' | 'scheduled'>> {
  const kind = isRedis(url) ? 'redis' : 'postgres';
  try {
    if (queues instanceof Error) throw queues;
    return { queue: { kind, jobs: await queues.counts() }, scheduled: await plannedRuns(queues) };
  } catch (error) {
    return { queue: { kind, jobs: {}, error: describeError(error) }, scheduled: [] };
  }
}

function flowOf(flow: Flow, cursor: Cursor | undefined, now: Date): FlowStatus {
  if (!cursor) return { flow, watermark: null, lagSeconds: null };
  const instant = (text: string) => new Date(text.replace(' ', 'T').replace(/\+00$/, 'Z'));
  const at = instant(cursor.at);
  // Everything up to readTo has been read, however old the newest change is. A cursor may lack readTo.
  const lagMs = now.getTime() - instant(cursor.readTo ?? cursor.at).getTime();
  return {
    flow,
    watermark: Number.isNaN(at.getTime()) ? cursor.at : at.toISOString(),
    lagSeconds: Number.isNaN(lagMs) ? null : Math.round(lagMs / 1000),
  };
}
