import pLimit from 'p-limit';
import { type DayRange, secondsOf } from '../day-range.ts';
import { localPeriod, type Span } from '../span.ts';
import { coveredSpans } from '../warehouse/export-windows.ts';
import { captureOverview, type OverviewDeps } from './capture-overview.ts';
import { planWindows } from './plan-windows.ts';
import type { ReadDeps } from './read-window.ts';
import { type Window, windowLimits } from './window.ts';

/**
 * The windows of a backfill, on the created axis.
 *
 * @param resume.since windows whose reading began at or after this moment are not read again: the backfill goes on
 *   where it was interrupted. The epoch leaves out all that was ever read (`--gaps`).
 * @throws UsageError for a range that is none.
 */
export async function planBackfillReviews(
  deps: OverviewDeps,
  range: DayRange,
  resume: { timeZone: string; since: Date },
): Promise<Window[]> {
  const { bounds } = await captureOverview(deps);
  const wanted = spanOf(range, resume.timeZone, bounds && { start: bounds.first, end: bounds.last });
  if (!wanted) return [];
  const covered = await coveredSpans(deps.db, 'created', resume.since);
  return planWindows(wanted, covered).map((span) => ({ axis: 'created', span }));
}

/** The span of a range of days; where the range is open, the bounds of the service's reviews. */
function spanOf(range: DayRange, zone: string, bounds: Span | undefined): Span | undefined {
  const { start = bounds?.start, end = bounds?.end } = secondsOf(range, zone);
  return start === undefined || end === undefined ? undefined : { start, end: Math.max(start, end) };
}

/** What reading the windows would cost, from the first page of each: its pages and a proof for each thirty. */
export async function estimateRequests(deps: ReadDeps, windows: readonly Window[]): Promise<number> {
  const limit = pLimit(8);
  const costs = await Promise.all(
    windows.map((window) =>
      limit(async () => {
        const period = localPeriod(window.span, deps.timeZone);
        const params = { axis: window.axis, ...period, limit: windowLimits.pageSize };
        const { lastPage = 1 } = await deps.reviews.page(params, 1);
        const parts = Math.max(1, Math.ceil(lastPage / windowLimits.pages));
        return lastPage + (lastPage > 1 ? parts : 0);
      }),
    ),
  );
  return costs.reduce((sum, cost) => sum + cost, 0);
}
