import {
  intersection,
  isoOf,
  parseInstant,
  partBefore,
  type Second,
  without,
  writableDates,
} from '../base/time/span.ts';
import type { Db } from '../warehouse/index.ts';
import { coveredSpans } from '../warehouse/reviews/export-windows.ts';
import { dueGaps, openGap, openGaps } from '../warehouse/reviews/open-gaps.ts';
import { advanceCursor, pullBackCursor, readCursor } from '../warehouse/runs/cursors.ts';
import { planWindows, type Window, windowLimits } from './read/window.ts';
import {
  type BoundsDeps,
  captureOverview,
  findFirst,
  newestOf,
  type Overview,
  overviewErrorSeconds,
  reviewSpans,
} from './review-bounds.ts';

const day = 86_400;
/** The watermark stays at least this far behind both clocks, in seconds. */
const lag = 60;
/** A watermark older than this is no clock that is off, but a service where nothing happens. */
const quietDays = 30;

export type SyncPlan = {
  windows: Window[];
  /** The earlier of the service's clock and ours when the run began; ours where they differ by more than a day. */
  readTo: Second;
  /** See `Clocks`. */
  serviceOffBy?: Second | undefined;
  /** How far the next run may rely on this one. */
  nextWatermark: Second;
};

/**
 * The windows of an incremental run: on the updated axis from the watermark minus an overlap to a day ahead, so that it
 * does not matter whether the `Date` header comes from the clock that dates reviews; and the open gaps that are due.
 * Without a watermark, everything: on the created axis, where an import of years does not lie on one day.
 *
 * @param options.allGaps also those that were tried a short while ago.
 */
export async function planSyncReviews(
  deps: BoundsDeps,
  options: { overlapMinutes: number; allGaps: boolean },
): Promise<SyncPlan> {
  const overview = await captureOverview(deps);
  const { earliest: readTo, latest, serviceOffBy } = overview.clocks;
  const end = latest + day;
  const nextWatermark = await newestUpdate(deps, overview, end);
  await pullBackCursor(deps.db, deps.now());
  const watermark = parseInstant((await readCursor(deps.db, 'reviews'))?.at ?? '');
  const again = await dueGaps(deps.db, options.allGaps ? undefined : deps.now());
  const gapWindows = again.flatMap(({ axis, span }) => planWindows(span).map((one) => ({ axis, span: one })));
  if (watermark === undefined) {
    // What is written from now on is found on the updated axis by the next run.
    const spans = reviewSpans(await findFirst(deps, overview)).flatMap((span) => planWindows(span));
    return { windows: spans.map((span) => ({ axis: 'created', span })), readTo, nextWatermark, serviceOffBy };
  }
  const start = Math.min(watermark, readTo) - options.overlapMinutes * 60;
  // A gap is read when it is due, not by every run whose overlap it lies in.
  const known = (await openGaps(deps.db)).filter((gap) => gap.axis === 'updated').map((gap) => gap.span);
  const spans = planWindows({ start, end }, known);
  if (serviceOffBy !== undefined) {
    // The clock that is off may be the one that dates reviews: the same period is read by that clock, too.
    const there = intersection({ start: start + serviceOffBy, end: end + serviceOffBy }, writableDates);
    spans.push(...(there ? planWindows(there, [...known, { start, end }]) : []));
  }
  const windows = spans.map((span): Window => ({ axis: 'updated', span }));
  return { windows: [...windows, ...gapWindows], readTo, nextWatermark, serviceOffBy };
}

/**
 * The newest update that the service shows as the run begins, not the time: the clock that dates reviews may be hours
 * behind the `Date` header, and what is edited while a long run goes on must be found by the next.
 */
async function newestUpdate(deps: BoundsDeps, { clocks, bounds }: Overview, end: Second): Promise<Second> {
  const { earliest, serviceOffBy } = clocks;
  const latest = earliest - lag;
  const span = { start: Math.max(latest - quietDays * day, end - windowLimits.seconds), end };
  const seen = await newestOf(deps, 'updated', span);
  const quiet = latest - quietDays * day;
  if (serviceOffBy === undefined) return Math.min(latest, Math.max(quiet, seen ?? 0));
  // Which of the clocks is wrong is not known: only the date of a review moves the watermark.
  const shown = seen ?? (bounds && bounds.last - overviewErrorSeconds);
  return Math.min(latest, shown ?? quiet - Math.abs(serviceOffBy));
}

/**
 * Moves the watermark when every window of the run has ended. What the run could not prove is an open gap first, so
 * that one window that cannot be read delays no other: later runs read the gap again.
 *
 * @param failure why windows failed, for the gaps that no window has explained itself.
 */
export async function concludeSyncReviews(db: Db, runId: string, plan: SyncPlan, failure: string): Promise<void> {
  const { windows, readTo, nextWatermark, serviceOffBy } = plan;
  const known = await openGaps(db);
  for (const axis of ['created', 'updated'] as const) {
    const explained = known.filter((gap) => gap.axis === axis).map((gap) => gap.span);
    const covered = [...(await coveredSpans(db, axis, { runId })), ...explained];
    // The last minute counts as not yet proven, and the next run reads it anyway.
    const wanted = windows.flatMap((one) => (one.axis === axis ? partBefore(one.span, readTo - lag) : []));
    for (const span of wanted.flatMap((one) => without(one, covered)))
      await openGap(db, axis, { span, kind: 'failed', reason: failure });
  }
  await advanceCursor(db, 'reviews', { at: isoOf(nextWatermark), readTo: isoOf(readTo), serviceOffBy });
}
