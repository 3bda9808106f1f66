import { isoOf, parseInstant, partBefore, type Second, secondOf, without } from '../../base/time/span.ts';
import type { Db } from '../../warehouse/index.ts';
import { heldIn } from '../../warehouse/reviews/absent-reviews.ts';
import { axes, coveredSpans, type OpenGap, openGap, openGaps } from '../../warehouse/reviews/coverage.ts';
import { advanceCursor, readCursor } from '../../warehouse/runs/cursors.ts';
import { isDueAgain, justNow } from '../limits.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { planWindows, type Window } from '../windows.ts';
import { allReviews, captureOverview, newestOf } from './review-bounds.ts';

const day = 86_400;
/** The watermark is never older than this many days. */
const quietDays = 30;

export type SyncPlan = {
  windows: Window[];
  /** When the run began, by the clock of this machine. */
  readTo: Second;
  /** Up to here the next run relies on this run. */
  nextWatermark: Second;
  /** The next run reads again from here. */
  nextStart: Second;
};

/**
 * The windows of an incremental run: from the watermark minus the overlap to a day ahead, so the clock that dates
 * reviews does not matter; and the open gaps that are due. If the newest review was written since the watermark, or is
 * not in the warehouse, the period is read by creation, too: by update, a service may show only edited reviews. Without
 * a watermark, everything is read by creation: the creation dates of an import of years do not lie on one day.
 *
 * @param options.allGaps also gaps that are not due yet.
 * @throws ReviewSyncError as `captureOverview`.
 */
export async function planSyncReviews(
  deps: ReviewDeps,
  options: { overlapMinutes: number; allGaps: boolean },
): Promise<SyncPlan> {
  const readTo = secondOf(deps.now());
  const watermark = parseInstant((await readCursor(deps.warehouse.db, 'reviews'))?.at);
  const overlap = options.overlapMinutes * 60;
  // The watermark is not our own time: the clock that dates reviews may be hours behind ours, and the next run must
  // find reviews that are edited while a long run goes on.
  const quiet = readTo - quietDays * day;
  const update = await newestOf(deps, 'updated', { start: quiet, end: readTo + day });
  const nextWatermark = Math.min(readTo - justNow, Math.max(quiet, update ?? quiet));
  const next = { readTo, nextWatermark, nextStart: nextWatermark - overlap };
  if (watermark === undefined) {
    // The next run finds later reviews on the updated axis.
    return { windows: planWindows('created', await allReviews(deps)), ...next };
  }
  const { newest = watermark } = await captureOverview(deps);
  const gaps = await openGaps(deps.warehouse.db);
  const again = gaps.filter((gap) => options.allGaps || isDueAgain(gap.attempts, gap.lastTriedAt, deps.now()));
  const gapWindows = again.flatMap(({ axis, span }) => planWindows(axis, span));
  const start = Math.min(watermark, readTo) - overlap;
  const isHeld = async () => (await heldIn(deps.warehouse.db, { start: newest, end: newest + 1 })).length > 0;
  const isNew = newest > watermark || (newest >= start && !(await isHeld()));
  const all = axes.filter((axis) => axis === 'updated' || isNew);
  const windows = all.flatMap((axis) => {
    // A gap is read when it is due, not by every run with an overlap that includes it.
    const known = gaps.filter((gap) => gap.axis === axis).map((gap) => gap.span);
    return planWindows(axis, { start, end: readTo + day }, known);
  });
  return { windows: [...windows, ...gapWindows], ...next };
}

/**
 * Moves the watermark when every window of the run has ended. Before that, each span that the run could not prove
 * becomes an open gap, which later runs read again. So an unreadable window does not delay the others.
 *
 * @param failure why windows failed, for gaps without a reason of their own.
 * @returns the gaps that are open.
 */
export async function concludeSyncReviews(db: Db, runId: string, plan: SyncPlan, failure: string): Promise<OpenGap[]> {
  const { windows, readTo, nextWatermark, nextStart } = plan;
  const known = await openGaps(db);
  let isChanged = false;
  for (const axis of new Set(windows.map((one) => one.axis))) {
    const explained = known.filter((gap) => gap.axis === axis).map((gap) => gap.span);
    const covered = [...(await coveredSpans(db, axis, { runId })), ...explained];
    // If the machine that read the newest part has a clock behind ours, that part is not proven. The next run reads it.
    const wanted = windows.flatMap((one) => (one.axis === axis ? partBefore(one.span, nextStart) : []));
    for (const span of wanted.flatMap((one) => without(one, covered))) {
      await openGap(db, axis, { span, kind: 'failed', reason: failure });
      isChanged = true;
    }
  }
  await advanceCursor(db, 'reviews', { at: isoOf(nextWatermark), readTo: isoOf(readTo) });
  return isChanged ? openGaps(db) : known;
}
