import { isoOf, parseInstant, type Span } from '../span.ts';
import { advanceCursor, readCursor } from '../warehouse/cursors.ts';
import type { Db } from '../warehouse/index.ts';
import { captureOverview, type OverviewDeps } from './capture-overview.ts';
import { planWindows } from './plan-windows.ts';
import type { Window } from './window.ts';

/**
 * The windows of an incremental run: on the updated axis from the watermark minus an overlap to the service's now.
 * Without a watermark, everything: on the created axis, where an import of years does not lie on one day.
 *
 * @returns also `until`, the watermark once all windows are in the warehouse.
 */
export async function planSyncReviews(
  deps: OverviewDeps,
  options: { overlapMinutes: number },
): Promise<{ windows: Window[]; until: string }> {
  const { bounds, serviceNow } = await captureOverview(deps);
  const cursor = await readCursor(deps.db, 'reviews');
  const watermark = cursor === undefined ? undefined : parseInstant(cursor.at);
  const until = isoOf(serviceNow);
  const over = (axis: Window['axis'], span: Span) => planWindows(span).map((one) => ({ axis, span: one }));
  if (watermark !== undefined) {
    const start = Math.min(watermark, serviceNow) - options.overlapMinutes * 60;
    return { windows: over('updated', { start, end: serviceNow }), until };
  }
  if (!bounds) return { windows: [], until };
  // What is written from now on is found on the updated axis by the next run.
  return { windows: over('created', { start: bounds.first, end: bounds.last }), until };
}

/** Moves the watermark; only after every window of the run is in the warehouse. */
export async function concludeSyncReviews(db: Db, until: string): Promise<void> {
  await advanceCursor(db, 'reviews', { at: until });
}
