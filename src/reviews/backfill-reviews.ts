import pLimit from 'p-limit';
import { type DayRange, secondsOf } from '../day-range.ts';
import type { Second, Span } from '../span.ts';
import { coveredSpans } from '../warehouse/export-windows.ts';
import { reviewSpans } from './bounds.ts';
import { captureOverview, type Overview, type OverviewDeps } from './capture-overview.ts';
import { fetchPage, limitsOf, type PageDeps } from './page.ts';
import { planWindows } from './plan-windows.ts';
import type { Window } from './window.ts';

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
  const covered = await coveredSpans(deps.db, 'created', { since: resume.since });
  const spans = spansOf(range, resume.timeZone, await captureOverview(deps));
  return spans.flatMap((span) => planWindows(span, covered)).map((span) => ({ axis: 'created', span }));
}

/** The spans of a range of days; where the range is open, within the bounds of the service's reviews. */
export function spansOf(range: DayRange, zone: string, overview: Overview): Span[] {
  const { start, end } = secondsOf(range, zone);
  const { bounds, serviceNow } = overview;
  if (start !== undefined && end !== undefined) return [{ start, end }];
  if (!bounds) return [];
  if (start !== undefined) return cutOff(reviewSpans({ bounds: { ...bounds, first: start }, serviceNow }), start);
  if (end !== undefined) return end > bounds.first ? [{ start: bounds.first, end }] : [];
  return reviewSpans(overview);
}

/** A range may begin after the service's last review: then one second of it is looked at. */
function cutOff(spans: readonly Span[], start: Second): Span[] {
  const after = spans.map((span) => ({ start: Math.max(start, span.start), end: span.end }));
  const left = after.filter((span) => span.end > span.start);
  return left.length > 0 ? left : [{ start, end: start + 1 }];
}

export type Estimate = {
  requests: number;
  /** The service tells no more than thirty pages, or none: there may be more to read. */
  atLeast: boolean;
};

/** What reading the windows would cost, from the first page of each. */
export async function estimateRequests(deps: PageDeps, windows: readonly Window[]): Promise<Estimate> {
  const limit = pLimit(8);
  const cap = limitsOf(deps).pages;
  const first = await Promise.all(windows.map((window) => limit(() => fetchPage(deps, window, 1))));
  // Pages overlap in the second that ends each, and the last of a window is seldom full.
  const costs = first.map(({ lastPage = 1 }) => (lastPage > 1 ? Math.ceil(lastPage * 1.01) : 1));
  const atLeast = first.some(({ lastPage, ids }) => (lastPage ?? (ids.length > 0 ? cap : 1)) === cap);
  return { requests: costs.reduce((sum, cost) => sum + cost, 0), atLeast };
}
