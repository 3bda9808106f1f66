import { ReviewSyncError } from '../base/errors.ts';
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
import { fetchPage, obstacleFor, type PageDeps, type PageQuery } from './read/list-page.ts';
import { doubtAfterMs, obstacleOf, probeGiveUpMs } from './read/obstacles.ts';
import { type Axis, windowLimits } from './read/window.ts';

export type BoundsDeps = PageDeps & {
  reviews: Pick<ReviewApi['reviews'], 'overview' | 'page'>;
  db: Db;
  now: () => Date;
};

/** Plausible dates: from the first second of a year in the zone, within `writableDates`, to the end of tomorrow. */
export function plausibleDates(fromYear: number, zone: string, now: Date): Span {
  const day = `${String(fromYear).padStart(4, '0')}-01-01`;
  return { start: Math.max(startOfDay(day, zone) ?? 0, writableDates.start), end: dayAfter(secondOf(now), zone, 2) };
}

/**
 * The dates between which all reviews were created, at the service and in the warehouse, within the plausible ones. One
 * request asks whether the list shows a review in the window before the overview's first date: then that is not believed.
 *
 * @throws ReviewSyncError as `captureOverview`.
 */
export async function allReviews(deps: BoundsDeps): Promise<Span> {
  const { plausible } = deps;
  const named = await captureOverview(deps);
  // Requests include their end.
  const before = intersection({ start: named.start - windowLimits.seconds, end: named.start - 1 }, plausible);
  if (before && (await newestOf(deps, 'created', before)) !== undefined) return { ...named, start: plausible.start };
  const stored = await storedBounds(deps.db);
  const held = stored && intersection({ start: secondOf(stored.first), end: secondOf(stored.last) + 1 }, plausible);
  return held ? { start: Math.min(named.start, held.start), end: Math.max(named.end, held.end) } : named;
}

/** No two zones differ by more than 26 hours. A window has 44 days, so the margin seldom costs a request. */
const overviewErrorSeconds = 26 * 3600;

/**
 * Requests the overview (docs/interface.md, "Review overview") and keeps its bounds in the warehouse, within the
 * plausible dates. Every run of reviews begins with it.
 *
 * It may be hours old, or a day off where the service computes it in another zone. So the newest review of the list is
 * the last one, and without one the bounds are wider by `overviewErrorSeconds`. Where there is no overview, or it names
 * no plausible first date, the bounds are those of the plausible dates.
 *
 * @throws ReviewSyncError where the clocks of the service and of this machine differ by more than a day, or the service
 *   reads dates in another zone.
 */
export async function captureOverview(deps: BoundsDeps): Promise<Span> {
  const { start, end } = deps.plausible;
  // What is written while the two are under way may be in neither.
  const capturedAt = deps.now();
  const lately = { start: end - windowLimits.seconds, end };
  const [overview, newest] = await Promise.all([overviewIfAny(deps), newestOf(deps, 'created', lately)]);
  requireSameClock(overview?.serviceNow ?? capturedAt, capturedAt);
  if (newest !== undefined) await requireSameZone(deps, newest);
  const clamp = (second: Second) => Math.min(Math.max(second, start), end - 1);
  const [first, last] = [overview?.first_review_created_at, overview?.last_review_created_at].map((text) =>
    typeof text === 'string' ? parseInstant(text) : undefined,
  );
  if (overview) {
    const dates = first === undefined || last === undefined ? [] : [first, last, newest ?? last].map(clamp);
    const [least, most] = dates.length === 0 ? [null, null] : [Math.min(...dates), Math.max(...dates)].map(isoOf);
    await recordOverview(deps.db, { capturedAt, first: least ?? null, last: most ?? null });
  }
  const isBelieved = first !== undefined && last !== undefined && first <= last;
  return {
    start: isBelieved ? clamp(first - overviewErrorSeconds) : start,
    end: clamp(newest ?? (last === undefined ? end : last + overviewErrorSeconds)) + 1,
  };
}

/** Clocks that are right, but of which one takes its time zone for UTC, differ by less than a day. */
function requireSameClock(service: Date, ours: Date): void {
  const days = (service.getTime() - ours.getTime()) / 86_400_000;
  if (Math.abs(days) <= 1) return;
  const side = days > 0 ? 'ahead of' : 'behind';
  throw new ReviewSyncError(
    'config',
    `The service's clock (its Date header) is ${Math.round(Math.abs(days))} days ${side} the clock of this machine`,
    { hint: 'Correct this machine if its date is wrong, and run it again; otherwise ask the service’s makers.' },
  );
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
