import pLimit from 'p-limit';
import { UsageError } from '../../base/errors.ts';
import { type DayRange, spanOfDays } from '../../base/time/day-range.ts';
import { dayOf, intersection, type Span } from '../../base/time/span.ts';
import { coveredSpans, openGaps } from '../../warehouse/reviews/coverage.ts';
import { unfinishedSince } from '../../warehouse/runs/runs.ts';
import { fetchPage } from '../read/list-page.ts';
import { limitsOf, type ReadDeps, type ReviewDeps } from '../review-deps.ts';
import { planWindows, type Window } from '../windows.ts';
import { allReviews } from './review-bounds.ts';

/**
 * Identifies the range of a review backfill in sync.runs and in the queue. If a run of the same key has not ended, a
 * command joins it. An interrupted run is continued.
 *
 * @param gaps whether the backfill reads only what the coverage ledger lacks.
 */
export const backfillReviewsKey = ({ from, to, gaps }: DayRange & { gaps: boolean }): string =>
  ['backfill-reviews', from ?? 'first', to ?? 'last', ...(gaps ? ['gaps'] : [])].join('_');

/**
 * The windows of a backfill, on the created axis.
 *
 * @returns `since`: if the reading of a span began at or after this instant, the span is not read again. It is the
 *   start of the interrupted backfill, else `startedAt`. Undefined (`--gaps`): no span that was ever read is read
 *   again, except all open gaps.
 * @throws UsageError if the range is invalid.
 */
export async function planBackfillReviews(
  deps: ReviewDeps,
  range: DayRange & { gaps: boolean },
  startedAt: Date,
): Promise<{ windows: Window[]; since: Date | undefined }> {
  const { db } = deps.warehouse;
  const unfinished = range.gaps ? undefined : await unfinishedSince(db, backfillReviewsKey(range), deps.now());
  const since = range.gaps ? undefined : (unfinished ?? startedAt);
  const covered = await coveredSpans(db, 'created', since && { since });
  const span = spanOf(range, deps, await allReviews(deps));
  const created = span ? planWindows('created', span, covered) : [];
  if (since) return { windows: created, since };
  // An earlier reading may cover a gap of creation dates, so `created` lacks it.
  const gaps = (await openGaps(db)).map(({ axis, span }) => ({ axis, span }));
  return { windows: [...created, ...gaps], since };
}

/**
 * The span of a range of days, within the plausible dates. An open end of the range is the bound of all reviews.
 * Undefined if the range begins after the last review.
 *
 * @throws UsageError if the range has no plausible date.
 */
export function spanOf(range: DayRange, at: { timeZone: string; plausible: Span }, all: Span): Span | undefined {
  const { start, end } = spanOfDays(range, at.timeZone);
  const { plausible } = at;
  if (!intersection({ start: start ?? plausible.start, end: end ?? plausible.end }, plausible)) {
    const days = `${dayOf(plausible.start, at.timeZone)} to ${dayOf(plausible.end - 1, at.timeZone)}`;
    throw new UsageError(`The days lie outside the dates that a review may have: ${days}`, {
      hint: 'Choose other days, or set REVIEW_YEARS_FROM.',
    });
  }
  return intersection({ start: start ?? all.start, end: end ?? all.end }, plausible);
}

/**
 * Estimates the requests of the windows, from the first page of each list.
 *
 * @returns `atLeast`: there may be more to read, because the service names at most thirty pages, or none, or refuses a
 *   window.
 */
export async function estimateRequests(deps: ReadDeps, windows: readonly Window[]) {
  const cap = limitsOf(deps).pages;
  const lists = windows.flatMap(({ axis, span }) => planWindows(axis, span, [], 1));
  const first = await pLimit(8).map(lists, (list) => fetchPage(deps, list, 1));
  // Lists overlap in their last second, the last page is seldom full, and the page behind it is requested.
  const costs = first.map((page) => Math.ceil(((page.kind === 'page' && page.lastPage) || 1) * 1.05));
  const atLeast = first.some(
    (page) => page.kind !== 'page' || (page.lastPage ?? (page.ids.length > 0 ? cap : 1)) === cap,
  );
  return { requests: costs.reduce((sum, cost) => sum + cost, 0), atLeast };
}
