import { ReviewSyncError } from '../errors.ts';
import { isoOf, parseInstant, type Second } from '../span.ts';
import { advanceCursor, readCursor } from '../warehouse/cursors.ts';
import type { Db } from '../warehouse/index.ts';
import { reviewSpans } from './bounds.ts';
import { captureOverview, type Overview, type OverviewDeps } from './capture-overview.ts';
import { fetchPage, type PageDeps } from './page.ts';
import { planWindows } from './plan-windows.ts';
import type { Window } from './window.ts';

const day = 86_400;
/** The watermark stays at least this far behind the service's clock, in seconds. */
const lag = 60;
/** A watermark older than this is no clock that is off, but a service where nothing happens. */
const quietDays = 30;

export type SyncPlan = {
  windows: Window[];
  /** The service's clock when the run began. */
  readTo: Second;
  /** How far the next run may rely on this one. */
  nextWatermark: Second;
  /** The watermark when the run began. */
  lateBefore: Second | undefined;
};

/**
 * The windows of an incremental run: on the updated axis from the watermark minus an overlap to a day ahead, so that it
 * does not matter whether the clock that dates reviews is the one that the service tells. Without a watermark,
 * everything: on the created axis, where an import of years does not lie on one day.
 */
export async function planSyncReviews(
  deps: OverviewDeps & PageDeps,
  options: { overlapMinutes: number },
): Promise<SyncPlan> {
  const overview = await captureOverview(deps);
  const { serviceNow } = overview;
  const newest = await newestUpdate(deps, serviceNow);
  const { nextWatermark } = newest;
  const cursor = await readCursor(deps.db, 'reviews');
  const watermark = cursor === undefined ? undefined : parseInstant(cursor.at);
  const over = (axis: Window['axis'], spans: Window['span'][]) => spans.map((span) => ({ axis, span }));
  if (watermark === undefined) {
    // What is written from now on is found on the updated axis by the next run.
    const spans = reviewSpans({ ...overview, bounds: upTo(newest, overview.bounds) }).flatMap((span) =>
      planWindows(span),
    );
    return { windows: over('created', spans), readTo: serviceNow, nextWatermark, lateBefore: undefined };
  }
  const start = Math.min(watermark, serviceNow) - options.overlapMinutes * 60;
  const windows = over('updated', planWindows({ start, end: serviceNow + day }));
  return { windows, readTo: serviceNow, nextWatermark, lateBefore: watermark };
}

/**
 * The newest update that the service shows as the run begins, not the time: the clock that dates reviews may be hours
 * behind the one that the service tells, and what is edited while a long run goes on must be found by the next.
 */
async function newestUpdate(deps: PageDeps, serviceNow: Second): Promise<NewestUpdate> {
  const latest = serviceNow - lag;
  const span = { start: latest - quietDays * day, end: serviceNow + day };
  const { seconds } = await fetchPage(deps, { axis: 'updated', span, desc: true }, 1, 1);
  const seen = seconds.filter((second) => second !== undefined);
  return { nextWatermark: Math.min(latest, Math.max(span.start, ...seen)), isAnyListed: seconds.length > 0 };
}

type NewestUpdate = { nextWatermark: Second; isAnyListed: boolean };

/**
 * The bounds to read up to the watermark: an overview may be hours old, and what was written since then would be behind
 * the next run already.
 *
 * @throws ReviewSyncError where the overview tells of no review, but there is one.
 */
function upTo({ nextWatermark, isAnyListed }: NewestUpdate, bounds: Overview['bounds']): Overview['bounds'] {
  if (bounds) return isAnyListed ? { ...bounds, last: Math.max(bounds.last, nextWatermark) } : bounds;
  if (!isAnyListed) return undefined;
  throw new ReviewSyncError('overview', 'GET /v1/reviews/overview tells of no review, but GET /v1/reviews lists some', {
    hint: 'Run it again: the overview may be made anew just now.',
  });
}

/** Moves the watermark; only after every window of the run is in the warehouse. */
export async function concludeSyncReviews(db: Db, plan: Pick<SyncPlan, 'readTo' | 'nextWatermark'>): Promise<void> {
  await advanceCursor(db, 'reviews', { at: isoOf(plan.nextWatermark), readTo: isoOf(plan.readTo) });
}
