import { counted } from '../../base/counts.ts';
import { ReviewSyncError } from '../../base/errors.ts';
import {
  dayAfter,
  intersection,
  isoOf,
  isWithin,
  parseInstant,
  partBefore,
  type Second,
  type Span,
  secondOf,
  startOfDay,
  writableDates,
} from '../../base/time/span.ts';
import type { ReviewOverview } from '../../review-api/index.ts';
import { heldIn, storedDates } from '../../warehouse/reviews/absent-reviews.ts';
import { type Axis, namedDates, recordOverview } from '../../warehouse/reviews/coverage.ts';
import { justNow, listLimits } from '../limits.ts';
import { fetchPage, obstacleOf, type PageQuery, requireAnotherList } from '../read/list-page.ts';
import type { ReadDeps, ReviewDeps } from '../review-deps.ts';
import { planWindows } from '../windows.ts';

/** No two zones differ by more than 26 hours. */
const zonesApart = 26 * 3600;

/** Plausible dates: from the first second of a year in the zone, within `writableDates`, to the end of tomorrow. */
export function plausibleDates(fromYear: number, zone: string, now: Date): Span {
  const day = `${String(fromYear).padStart(4, '0')}-01-01`;
  return { start: Math.max(startOfDay(day, zone) ?? 0, writableDates.start), end: dayAfter(secondOf(now), zone, 2) };
}

/**
 * The first and last creation dates of all reviews, at the service and in the warehouse, within the plausible dates.
 * One request checks the 44 days before the overview's first date. If the list shows a review there, the first
 * plausible date is used instead.
 *
 * @throws ReviewSyncError as `captureOverview`.
 */
export async function allReviews(deps: ReviewDeps): Promise<Span> {
  const { plausible } = deps;
  const named = await captureOverview(deps);
  // Requests include their end.
  const before = intersection({ start: named.start - listLimits.seconds, end: named.start - 1 }, plausible);
  if (before && (await newestOf(deps, 'created', before)) !== undefined) return { ...named, start: plausible.start };
  const held = (await storedDates(deps.warehouse.db)).map((date) => within(plausible, date));
  return { start: Math.min(named.start, ...held), end: Math.max(named.end, ...held.map((date) => date + 1)) };
}

/** Lists to read at a service without reviews: a year and a half. All plausible dates take more than 220 lists. */
const emptyLists = 12;

/** The newest days, as many as one list holds. */
const lately = ({ plausible: { end } }: ReviewDeps): Span => ({ start: end - listLimits.seconds, end });

/**
 * Requests the overview (docs/interface.md, "Review overview") and the newest review of the list, and stores their
 * dates in the warehouse, within the plausible dates. Every run of reviews begins with this.
 *
 * @returns the bounds of all reviews (`reviewBounds`), and the creation of the newest review that the list shows.
 * @throws ReviewSyncError if the clocks of the service and of this machine differ by more than a day, or the service
 *   reads dates in another zone.
 */
export async function captureOverview(deps: ReviewDeps): Promise<Span & { newest: Second | undefined }> {
  const { plausible } = deps;
  const { db } = deps.warehouse;
  // A review written during the two requests may be in neither. A cached response shows an earlier state.
  const askedAt = deps.now();
  const [overview, newest] = await Promise.all([overviewIfAny(deps), newestOf(deps, 'created', lately(deps))]);
  const capturedAt = overview && overview.requestedAt < askedAt ? overview.requestedAt : askedAt;
  requireSameClock(overview?.serviceNow ?? askedAt, askedAt);
  if (newest !== undefined) await requireSameZone(deps, newest);

  const first = parseInstant(overview?.first_review_created_at);
  const last = parseInstant(overview?.last_review_created_at);
  // If the overview has no dates, the dates of the warehouse and of the list say which days to read.
  const held = first === undefined || last === undefined ? await storedDates(db) : [];
  const dates = [first, last, newest, ...held].filter((date) => date !== undefined);
  const edge = (of: (...dates: Second[]) => Second) =>
    dates.length > 0 ? isoOf(within(plausible, of(...dates))) : null;
  if (overview || dates.length > 0) {
    await recordOverview(db, { capturedAt, first: edge(Math.min), last: edge(Math.max) });
  }
  const areNone = overview?.first_review_created_at === null && overview.last_review_created_at === null;
  const isEmpty = areNone && dates.length === 0;
  return { ...reviewBounds(plausible, { first, last, newest, isEmpty }), newest };
}

/** The second, or the nearest one within the span. */
const within = ({ start, end }: Span, second: Second): Second => Math.min(Math.max(second, start), end - 1);

/**
 * The bounds of all reviews. The overview may be hours old, or a day off if the service computes it in another zone. So:
 *
 * - The start is `zonesApart` before the overview's first date. If the overview lacks a date, or its first is after its
 *   last, the start is the first plausible date. If there is no sign of any review, it is the beginning of the last
 *   `emptyLists` lists.
 * - The end is the later of the overview's last date and the list's newest review. If the list shows no review, the end
 *   is `zonesApart` after the overview's last date. Without that date, it is the last plausible date.
 *
 * @param found.isEmpty the overview says that there are no reviews, and neither the newest days nor the warehouse show one.
 */
export function reviewBounds(
  plausible: Span,
  found: { first: Second | undefined; last: Second | undefined; newest: Second | undefined; isEmpty: boolean },
): Span {
  const { first, last, newest, isEmpty } = found;
  let { start, end } = plausible;
  if (first !== undefined && last !== undefined && first <= last) start = within(plausible, first - zonesApart);
  else if (isEmpty) start = within(plausible, plausible.end - emptyLists * listLimits.seconds);
  // A list without an order may show an older review first.
  if (last !== undefined) end = newest === undefined ? last + zonesApart : Math.max(newest, last);
  return { start, end: within(plausible, end) + 1 };
}

/**
 * Why a span may have reviews although its list shows none. The overview named a date in the span when the run began,
 * and names one after the list was read, and the warehouse has no review of that second. One of these holds, too:
 *
 * - The list of that second alone shows a review that is not in `ids`.
 * - No list shows any review: none of the last year and a half, and none of another date of overview or warehouse.
 *
 * @param empty a span without reviews, in a list that was read. `ids`: all reviews that this list showed.
 * @returns undefined without a doubt, as when lists show other reviews: the named review is then hidden or deleted.
 */
export async function doubtEmpty(deps: ReviewDeps, empty: Span, ids: Set<string>): Promise<string | undefined> {
  const { db } = deps.warehouse;
  if (!(await namedDates(db)).some((date) => date && isWithin(secondOf(date), empty))) return undefined;
  const overview = await overviewIfAny(deps);
  const dates = [overview?.first_review_created_at, overview?.last_review_created_at];
  const known = dates.map(parseInstant).filter((second) => second !== undefined);
  const named = known.find((second) => isWithin(second, empty));
  if (named === undefined || (await heldIn(db, { start: named, end: named + 1 })).length > 0) return undefined;
  /** Ask for a few records: the service may hide the newest after it has cut the page. */
  const shows = async (span: Span, seen = new Set<string>()) => {
    const page = await fetchPage(deps, { axis: 'created', span, desc: true }, 1, 10);
    return page.kind === 'page' && page.ids.some((id) => !seen.has(id));
  };
  const secondAt = (second: Second) => ({ start: second, end: second + 1 });
  if (await shows(secondAt(named), ids)) return `the list of ${isoOf(named)} shows a review that the longer list lacks`;
  const now = secondOf(deps.now());
  const lists = planWindows('created', { start: now - emptyLists * listLimits.seconds, end: now }, [empty], 1);
  const others = [...known, ...(await storedDates(db))].filter((other) => !isWithin(other, empty));
  const spans = [...lists.map(({ span }) => span).reverse(), ...others.map(secondAt)];
  for (const span of spans) if (await shows(span)) return undefined;
  return `GET /v1/reviews/overview names a review of ${isoOf(named)}, and no list shows any (it may be hidden)`;
}

/** Two correct clocks differ by less than a day, even if one of them shows local time as UTC. */
function requireSameClock(service: Date, ours: Date): void {
  const days = (service.getTime() - ours.getTime()) / 86_400_000;
  if (Math.abs(days) <= 1) return;
  const side = days > 0 ? 'ahead of' : 'behind';
  throw new ReviewSyncError(
    'config',
    `The service's clock (its Date header) is ${counted(Math.round(Math.abs(days)), 'day')} ${side} the clock of this machine`,
    { hint: 'Correct this machine if its date is wrong, and run it again; otherwise ask the service’s makers.' },
  );
}

/** The overview; undefined if the service refuses it or fails on it, and shows lists. */
async function overviewIfAny(deps: ReviewDeps): Promise<ReviewOverview | undefined> {
  try {
    return await deps.reviews.overview({ giveUpAfterMs });
  } catch (error) {
    if (obstacleOf(error) === undefined) throw error;
    await requireAnotherList(deps);
    return undefined;
  }
}

/** If the service fails on a request before the run begins, the request is given up after this many milliseconds. */
const giveUpAfterMs = 2000;

/**
 * Asks for the second of a review that the list has just shown. A service that reads the request's dates in another
 * zone shows other reviews, or none, and every window would be a few hours off. If the service excludes the start of a
 * period, a review between two windows is in neither.
 *
 * @throws ReviewSyncError if that second is not shown.
 */
async function requireSameZone(deps: ReviewDeps, second: Second): Promise<void> {
  const isShown = async () => {
    const page = await firstOf(deps, { axis: 'created', span: { start: second, end: second + 1 } });
    return page.kind !== 'page' || page.seconds[0] !== undefined;
  };
  if (await isShown()) return;
  // If the review was deleted meanwhile, another one is the newest. A service under load may show an empty list once.
  if ((await newestOf(deps, 'created', lately(deps))) !== second || (await isShown())) return;
  throw new ReviewSyncError(
    'config',
    `GET /v1/reviews shows a review of ${isoOf(second)}, but not if we ask for that second in the zone ${deps.timeZone}`,
    {
      hint:
        'Set REVIEW_API_TIME_ZONE to the zone in which the service reads dates; review-sync doctor compares them. ' +
        'A service that excludes the start of a period is not supported.',
    },
  );
}

/**
 * The date of the newest review that the list of the span shows; undefined if the list shows none. The service may
 * refuse a span ahead of its clock, fail on it or show nothing. If so, the part before now is requested. If that is
 * refused or fails, its last two days are requested, unless 30 s have passed. Only a service that is down stops a run.
 */
export async function newestOf(deps: ReadDeps, axis: Axis, span: Span): Promise<Second | undefined> {
  const [past = span] = partBefore(span, secondOf(deps.now()) - justNow);
  const spans = [...(past.end < span.end ? [span] : []), past, { start: past.end - 2 * 86_400, end: past.end }];
  const startedMs = deps.now().getTime();
  for (const one of spans) {
    // If the service never responds, each request takes a minute.
    if (deps.now().getTime() - startedMs > 30_000) break;
    const page = await firstOf(deps, { axis, span: one, desc: true });
    if (page.kind === 'page' && (page.seconds[0] !== undefined || one.end <= past.end)) return page.seconds[0];
  }
  return undefined;
}

const firstOf = (deps: ReadDeps, query: PageQuery) => fetchPage({ ...deps, giveUpAfterMs }, query, 1, 1);
