import type { Counts } from '../counts.ts';
import { IncompleteError } from '../errors.ts';
import { parseInstant, type Second } from '../span.ts';
import { absentOf } from '../warehouse/absent-reviews.ts';
import { readCursor } from '../warehouse/cursors.ts';
import { coveredSpans, revokeRun, windowTotals } from '../warehouse/export-windows.ts';
import { allSpans } from './bounds.ts';
import { captureOverview, type OverviewDeps } from './capture-overview.ts';
import { type ConfirmDeps, confirmGone, markGone } from './confirm-gone.ts';
import { planWindows } from './plan-windows.ts';
import type { Window } from './window.ts';

export type ReconcilePlan = {
  windows: Window[];
  /** What is dated before and only found now, the incremental runs have missed. Seconds since 1970. */
  lateBefore: Second | undefined;
};

/**
 * What to read again, on the created axis: the newest `recentDays` each time, and all that no reconcile has read for
 * `allDays`. So a review that the service showed late is brought in, and one that is gone is found.
 */
export async function planReconcile(
  deps: OverviewDeps,
  options: { job: string; recentDays: number; allDays: number; overlapMinutes: number },
): Promise<ReconcilePlan> {
  const overview = await captureOverview(deps);
  const recently = overview.serviceNow - options.recentDays * 86_400;
  const since = new Date(deps.now().getTime() - options.allDays * 86_400_000);
  const covered = await coveredSpans(deps.db, 'created', { since, job: options.job });
  const older = covered
    .map(({ start, end }) => ({ start, end: Math.min(end, recently) }))
    .filter((s) => s.end > s.start);
  const spans = await allSpans(deps.db, overview);
  const windows = spans.flatMap((span) => planWindows(span, older)).map((span) => ({ axis: 'created' as const, span }));
  const cursor = await readCursor(deps.db, 'reviews');
  const watermark = cursor && parseInstant(cursor.at);
  return { windows, lateBefore: watermark === undefined ? undefined : watermark - options.overlapMinutes * 60 };
}

/**
 * Marks what is gone, after every window of the run was read.
 *
 * @throws IncompleteError, with nothing marked, where the service is not to be believed.
 */
export async function concludeReconcile(deps: ConfirmDeps, runId: string): Promise<Counts> {
  const absent = await absentOf(deps.db, runId);
  if (absent.length === 0) return {};
  const { reviews: shown } = await windowTotals(deps.db, runId);
  const confirmed = await confirmGone(deps, { absent, shown }).catch(async (error: unknown) => {
    // What such a service showed completes nothing: the next run reads it all again.
    if (error instanceof IncompleteError) await revokeRun(deps.db, runId);
    throw error;
  });
  await markGone(deps, confirmed.gone);
  return { deleted: confirmed.gone.length, unlisted: confirmed.unlisted.length };
}
