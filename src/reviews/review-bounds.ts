import { ReviewSyncError } from '../base/errors.ts';
import type { DayRange } from '../base/time/day-range.ts';
import {
  dayAfter,
  intersection,
  isoOf,
  parseInstant,
  type Second,
  type Span,
  secondOf,
  startOfDay,
  writableDates,
} from '../base/time/span.ts';
import type { ReviewApi, ReviewOverview } from '../review-api/index.ts';
import type { Db } from '../warehouse/index.ts';
import { storedBounds } from '../warehouse/reviews/absent-reviews.ts';
import { recordOverview } from '../warehouse/reviews/review-overview.ts';
import { type Clocks, compareClocks } from './clocks.ts';
import { fetchPage, obstacleFor, type PageDeps, type PageQuery } from './read/list-page.ts';
import { doubtAfterMs, obstacleOf, probeGiveUpMs } from './read/obstacles.ts';
import { type Axis, planWindows, windowLimits } from './read/window.ts';

export type BoundsDeps = PageDeps & {
  reviews: Pick<ReviewApi['reviews'], 'overview' | 'page'>;
  db: Db;
  now: () => Date;
};

export type Overview = {
  /**
   * No review was created before `first` or after `last`, within the plausible dates; undefined while there is none.
   */
  bounds: { first: Second; last: Second } | undefined;
  /**
   * Whether the first date that the overview names is implausible or after the last: `bounds.first` is then the first
   * plausible second.
   */
  isFirstHidden: boolean;
  /** Creation dates outside the plausible ones that the overview names. */
  outliers: Second[];
  clocks: Clocks;
};

/** Plausible dates: from the first second of a year in the zone, within `writableDates`, to the end of tomorrow. */
export function plausibleDates(fromYear: number, zone: string, now: Date): Span {
  const day = `${String(fromYear).padStart(4, '0')}-01-01`;
  return { start: Math.max(startOfDay(day, zone) ?? 0, writableDates.start), end: dayAfter(secondOf(now), zone, 2) };
}

/**
 * Requests the overview (docs/interface.md, "Review overview") and keeps its bounds in the warehouse, within the
 * plausible dates.
 *
 * The overview may be hours old. So the newest review that the list shows counts too: otherwise a reading up to the
 * overview's end would miss what was written since. It may also be a day off, where the service computes it in another
 * zone: the bounds to read are wider by `overviewErrorSeconds` where no newest review of the list says better.
 *
 * @throws ReviewSyncError where the overview names no review, but the list shows one.
 */
export async function captureOverview(deps: BoundsDeps): Promise<Overview> {
  const { start, end } = deps.plausible;
  // What is written while the two are under way may be in neither.
  const capturedAt = deps.now();
  const lately = { start: end - windowLimits.seconds, end };
  const [overview, newest] = await Promise.all([overviewIfAny(deps), newestOf(deps, 'created', lately)]);
  if (!overview) {
    const now = secondOf(capturedAt);
    if (newest !== undefined) await requireSameZone(deps, newest);
    const bounds = { first: start, last: newest ?? end - 1 };
    return { bounds, isFirstHidden: true, outliers: [], clocks: compareClocks(now, now) };
  }
  if (newest !== undefined) await requireSameZone(deps, newest);
  const named = [overview.first_review_created_at, overview.last_review_created_at].map((text) =>
    text === null ? undefined : parseInstant(text),
  );
  const [first, last] = named;
  const isEmpty = first === undefined || last === undefined;
  if (isEmpty && newest !== undefined) throw namesNoReview();
  const clamp = (second: Second) => Math.min(Math.max(second, start), end - 1);
  const dates = isEmpty ? [] : [first, last, newest ?? first].map(clamp);
  const bounds = isEmpty ? undefined : { first: Math.min(...dates), last: Math.max(...dates) };
  const isFirstHidden = first !== undefined && (first < start || (last !== undefined && first > last));
  const iso = (second: Second | undefined) => (second === undefined ? null : isoOf(second));
  await recordOverview(deps.db, { capturedAt, first: iso(bounds?.first), last: iso(bounds?.last) });
  const toRead = bounds && {
    first: isFirstHidden ? start : clamp(bounds.first - overviewErrorSeconds),
    last: newest === undefined ? clamp(bounds.last + overviewErrorSeconds) : bounds.last,
  };
  return {
    bounds: toRead,
    isFirstHidden,
    outliers: named.filter((second) => second !== undefined && clamp(second) !== second) as Second[],
    clocks: compareClocks(secondOf(overview.serviceNow ?? capturedAt), secondOf(capturedAt)),
  };
}

/** The overview; undefined where the service refuses it or fails on it, and shows lists. */
async function overviewIfAny(deps: BoundsDeps): Promise<ReviewOverview | undefined> {
  try {
    return await deps.reviews.overview({ giveUpAfterMs: deps.doubtAfterMs ?? doubtAfterMs });
  } catch (error) {
    if (obstacleOf(error) === undefined) throw error;
    return (await showsLists(deps)) ? undefined : deps.reviews.overview();
  }
}

/** Whether the service shows the list of the last second that may have reviews: where it refuses that, it refuses all. */
async function showsLists(deps: BoundsDeps): Promise<boolean> {
  const { end } = deps.plausible;
  const query: PageQuery = { axis: 'created', span: { start: end - 1, end } };
  try {
    await fetchPage({ ...deps, giveUpAfterMs: probeGiveUpMs }, query, 1, 1);
    return true;
  } catch (error) {
    if (obstacleOf(error) === undefined) throw error;
    return false;
  }
}

/**
 * Asks for the second of a review that the list has just shown. A service that reads the request's dates in another
 * zone shows other reviews, or none, and every window would be a few hours off.
 *
 * @throws ReviewSyncError where that second is not shown.
 */
async function requireSameZone(deps: BoundsDeps, second: Second): Promise<void> {
  const span = { start: second, end: second + 1 };
  let isShown: boolean;
  try {
    const { seconds } = await fetchPage({ ...deps, doubtAfterMs: probeGiveUpMs }, { axis: 'created', span }, 1, 1);
    isShown = seconds[0] !== undefined;
  } catch (error) {
    // What the service refuses or fails on is read, and reported, by the run itself.
    if (await obstacleFor(deps, 'created', error)) return;
    throw error;
  }
  const { end } = deps.plausible;
  if (isShown) return;
  // It may have been deleted meanwhile: then another one is the newest.
  if ((await newestOf(deps, 'created', { start: end - windowLimits.seconds, end })) !== second) return;
  throw new ReviewSyncError(
    'config',
    `GET /v1/reviews shows a review of ${isoOf(second)}, but not where that second is asked for in ${deps.timeZone}`,
    {
      hint: 'Set REVIEW_API_TIME_ZONE to the zone in which the service reads dates; npx review-sync doctor compares them.',
    },
  );
}

const namesNoReview = () =>
  new ReviewSyncError('overview', 'GET /v1/reviews/overview names no review, but GET /v1/reviews lists some', {
    hint: 'Run it again: the service may be computing the overview just now.',
  });

/** No two zones differ by more than 26 hours. A window has 44 days, so the margin seldom costs a request. */
export const overviewErrorSeconds = 26 * 3600;

/**
 * The bounds that reading a range of days needs: the first date only where the range names none.
 *
 * @throws ReviewSyncError where the overview names no review, but the list shows one.
 */
export async function boundsFor({ from }: DayRange, deps: BoundsDeps): Promise<Overview> {
  const overview = await captureOverview(deps);
  return from === undefined || !overview.bounds ? findFirst(deps, overview) : overview;
}

/** Windows that `searchFirst` asks for at a time. */
const searchedAtATime = 8;

/**
 * The overview with the creation of the first plausible review where the list shows one before `bounds.first`, or where
 * that date is hidden: the window of the first review that the list shows. An overview that names no review is believed
 * only where the list shows none either.
 *
 * @throws ReviewSyncError where the overview names no review, but the list shows one.
 */
export async function findFirst(deps: PageDeps, overview: Overview): Promise<Overview> {
  const { bounds, isFirstHidden } = overview;
  if (bounds && !isFirstHidden) {
    return { ...overview, bounds: { ...bounds, first: await firstBefore(deps, bounds.first) } };
  }
  const first = await searchFirst(deps, bounds ? { start: bounds.first, end: bounds.last + 1 } : deps.plausible);
  if (first === undefined) return overview;
  if (!bounds) throw namesNoReview();
  return { ...overview, isFirstHidden: false, bounds: { first, last: bounds.last } };
}

/**
 * `first`, where the list shows no review in the window right before it: one request. Otherwise the overview is wrong,
 * and the plausible windows before `first` are searched. A window that the service refuses or fails on counts as one
 * without reviews: a service may refuse all dates before its first review.
 */
export async function firstBefore(deps: PageDeps, first: Second): Promise<Second> {
  // Requests include their end.
  const before = intersection({ start: first - windowLimits.seconds, end: first - 1 }, deps.plausible);
  if (!before) return first;
  if ((await newestOf(deps, 'created', before)) === undefined) return first;
  return (await searchFirst(deps, { start: deps.plausible.start, end: first })) ?? first;
}

/**
 * Start of the first window of the span in which the list shows a review. A window without a review costs one request,
 * at most 220 from 2000 on, and is asked for by this search only.
 */
async function searchFirst(deps: PageDeps, span: Span): Promise<Second | undefined> {
  const windows = planWindows(span);
  for (let from = 0; from < windows.length; from += searchedAtATime) {
    const some = windows.slice(from, from + searchedAtATime);
    const areEmpty = await Promise.all(some.map((one) => isEmpty(deps, one)));
    const found = some[areEmpty.indexOf(false)];
    if (found) return found.start;
  }
  return undefined;
}

async function isEmpty(deps: PageDeps, span: Span): Promise<boolean> {
  try {
    const { ids } = await fetchPage(deps, { axis: 'created', span }, 1, 1);
    return ids.length === 0;
  } catch (error) {
    // What the service refuses or fails on is read, and reported, by the run itself.
    if (await obstacleFor(deps, 'created', error)) return false;
    throw error;
  }
}

/**
 * Date of the newest review of the span, by the list; undefined where the list shows none. A span that the service
 * refuses must not stop a run: the last two days of it are requested instead. Nor must a newest review on which the
 * service fails: undefined, too.
 */
export async function newestOf(deps: PageDeps, axis: Axis, span: Span): Promise<Second | undefined> {
  for (const start of [span.start, span.end - 2 * 86_400]) {
    try {
      const query: PageQuery = { axis, span: { start, end: span.end }, desc: true };
      const { seconds } = await fetchPage({ ...deps, doubtAfterMs: probeGiveUpMs }, query, 1, 1);
      return seconds.find((second) => second !== undefined);
    } catch (error) {
      const kind = await obstacleFor(deps, axis, error);
      if (kind === undefined) throw error;
      if (kind === 'failed') return undefined;
    }
  }
  return undefined;
}

/**
 * The spans in which the service has reviews. Each implausible date is a span of its own, so that its review becomes a
 * dead letter. A date outside `writableDates`, in which part of a zone's year 1 or 9999 lies, is looked for at their
 * end.
 */
export function reviewSpans({ bounds, outliers }: Pick<Overview, 'bounds' | 'outliers'>): Span[] {
  // A day to each side: zones of the distant past differ by odd minutes.
  const [day, { start, end }] = [86_400, writableDates];
  const middles = outliers.map((second) => Math.min(Math.max(second, start + day), end - day));
  const around = middles.map((second) => ({ start: second - day, end: second + day }));
  return bounds ? [{ start: bounds.first, end: bounds.last + 1 }, ...around] : around;
}

/**
 * The same, and where the warehouse has reviews beyond: those that are gone from the service lie there, too. Where the
 * first date is hidden, the first review of the warehouse counts, or `lateSince` if that is earlier: a review that is
 * listed late may be older than all that the warehouse has.
 */
export async function allSpans(
  db: Db,
  overview: Overview,
  { plausible, lateSince }: { plausible: Span; lateSince?: Second },
): Promise<Span[]> {
  const stored = await storedBounds(db);
  const { bounds, isFirstHidden } = overview;
  const span = stored && intersection({ start: secondOf(stored.first), end: secondOf(stored.last) + 1 }, plausible);
  if (!span) return reviewSpans(overview);
  const [first, last] = [span.start, span.end - 1];
  const named = isFirstHidden ? (lateSince ?? first) : (bounds?.first ?? first);
  return reviewSpans({
    ...overview,
    bounds: { first: Math.min(first, named), last: Math.max(last, bounds?.last ?? last) },
  });
}
