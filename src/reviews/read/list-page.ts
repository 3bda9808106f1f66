import { type LocalPeriod, localPeriod, type Second, type Span } from '../../base/time/span.ts';
import { NotFoundError, RefusedError, type ReviewApi, type ReviewFilters } from '../../review-api/index.ts';
import { checkPage, type PageCheck, usableId } from '../../warehouse/reviews/check-page.ts';
import { splitRecords } from '../../warehouse/reviews/record-text.ts';
import { doubtAfterMs, type Obstacle, obstacleOf, probeGiveUpMs } from './obstacles.ts';
import { type Axis, type Window, windowLimits } from './window.ts';

export type PageDeps = {
  reviews: Pick<ReviewApi['reviews'], 'page'>;
  /** The zone in which the service reads dates without offset. */
  timeZone: string;
  signal: AbortSignal;
  /** The dates that a review may have, in seconds. Nothing outside them lands or widens a plan. */
  plausible: Span;
  /** The service's limits; other ones are for tests. */
  limits?: Limits;
  /**
   * See `CallOptions`: a limit for requests on which the service fails. Default: two minutes where the service is down,
   * else `doubtAfterMs`.
   */
  giveUpAfterMs?: number | undefined;
  /** How long a list is requested before the service is asked for another one, in milliseconds. Default: 12 s. */
  doubtAfterMs?: number | undefined;
};

export type Limits = Readonly<{ pages: number; pageSize: number }>;

/** What to list: a span of an axis, narrowed where the span alone holds too much. */
export type PageQuery = Window &
  Readonly<{
    score?: NonNullable<ReviewFilters['score']>;
    productId?: number;
    /** From the other end. */
    desc?: boolean;
  }>;

/** One response of the list. It shows the service at one moment, so nothing shifts within it. */
export type ListPage = {
  /** JSON in UTF-8. */
  rawBody: Buffer;
  check: PageCheck;
  /** One per record; its text where it has no usable id. */
  ids: string[];
  /** One per record: the second of its date on the axis; undefined where the record has no date that can be read. */
  seconds: (Second | undefined)[];
  /** A date that was not asked for, in a page that casts doubt on how the service reads the request's dates. */
  outOfRange: Second | undefined;
  lastPage: number | undefined;
  requestedAt: Date;
  /** Whether it landed already, or is about to. */
  isTaken?: true;
};

export const limitsOf = (deps: PageDeps): Limits => deps.limits ?? windowLimits;

/** Requests one page (docs/interface.md, "Reviews"). Every request for a list is made here. */
export async function fetchPage(deps: PageDeps, query: PageQuery, page: number, limit?: number): Promise<ListPage> {
  deps.signal.throwIfAborted();
  const { axis, span, desc, productId, ...filters } = query;
  const period = localPeriod(span, deps.timeZone);
  const params = {
    ...filters,
    product_id: productId,
    start_datetime: period.start,
    end_datetime: period.end,
    date_updated_at: axis === 'updated',
    date_order_desc: desc,
    limit: limit ?? limitsOf(deps).pageSize,
  };
  const send = (limitMs: number | undefined) => deps.reviews.page(params, page, { giveUpAfterMs: limitMs });
  const { items, ...response } = await (deps.giveUpAfterMs === undefined
    ? patiently(deps, axis, send)
    : send(deps.giveUpAfterMs));
  const check = checkPage(items, deps.plausible);
  const shown = check.dates.map((dates) => wholeSecond(dates[`${axis}_at`]));
  const isAsked = (second: Second) => second >= period.first && second <= period.last;
  // Only what is needed later is kept: whole records would stay in memory until the page has landed.
  return {
    ...response,
    check,
    ids: idsOf(items, response.rawBody),
    seconds: shown.map((second) => (second !== undefined && isAsked(second) ? second : undefined)),
    outOfRange: findOutOfRange(shown, period),
  };
}

/** Sends a request for a list. A failure of this list alone is thrown soon; an outage of the service is waited for. */
async function patiently<T>(deps: PageDeps, axis: Axis, send: (limitMs: number | undefined) => Promise<T>): Promise<T> {
  try {
    return await send(deps.doubtAfterMs ?? doubtAfterMs);
  } catch (error) {
    if (obstacleOf(error) !== 'failed' || (await isResponding(deps, axis))) throw error;
    return send(undefined);
  }
}

/**
 * Whether the service fails on some lists only: it is asked for the last second that may have reviews, in which none
 * are.
 */
async function isResponding(deps: PageDeps, axis: Axis): Promise<boolean> {
  const { end } = deps.plausible;
  try {
    await fetchPage({ ...deps, giveUpAfterMs: probeGiveUpMs }, { axis, span: { start: end - 1, end } }, 1, 1);
    return true;
  } catch (error) {
    return obstacleOf(error) === 'refused';
  }
}

/** Why a list could not be read; undefined where that is not for this list: the service is down, for example. */
export async function obstacleFor(deps: PageDeps, axis: Axis, error: unknown): Promise<Obstacle | undefined> {
  const kind = obstacleOf(error);
  return kind === 'failed' && !(await isResponding(deps, axis)) ? undefined : kind;
}

/**
 * The first page. An empty list is requested twice: one that is empty for a moment would be taken for the end of the
 * data.
 */
export async function fetchFirstPage(deps: PageDeps, query: PageQuery): Promise<ListPage> {
  const page = await fetchPage(deps, query, 1);
  return page.ids.length > 0 ? page : fetchPage(deps, query, 1);
}

/** Page `number`; undefined, with the error, where the service refuses it: the list may have become shorter. */
export async function pageIfAny(
  deps: PageDeps,
  query: PageQuery,
  number: number,
  limit?: number,
): Promise<{ page: ListPage; refusal?: undefined } | { page?: undefined; refusal: Error }> {
  try {
    return { page: await fetchPage(deps, query, number, limit) };
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof RefusedError) return { refusal: error };
    throw error;
  }
}

/** No two zones differ by more than 26 hours. */
const zonesApart = 26 * 3600;

/**
 * A single date far from what was asked for is a fault of that record, which is taken as one without a date. A date
 * that another time zone would explain, or a page of which more than half was not asked for, is a fault of the
 * request's dates.
 */
function findOutOfRange(shown: readonly (Second | undefined)[], { first, last }: LocalPeriod): Second | undefined {
  const outside = shown.filter((second) => second !== undefined && (second < first || second > last));
  const near = outside.find(
    (second) => second !== undefined && second >= first - zonesApart && second <= last + zonesApart,
  );
  return near ?? (outside.length > shown.length / 2 ? outside[0] : undefined);
}

/** Whether the dates go upwards. Records without a date do not count: wherever they stand, they are on the page. */
export function isSorted(seconds: readonly (Second | undefined)[]): boolean {
  let before = Number.NEGATIVE_INFINITY;
  for (const second of seconds) {
    if (second === undefined) continue;
    if (second < before) return false;
    before = second;
  }
  return true;
}

/**
 * The number of records: the last page where a page holds one record. Undefined where that number may be a cap (up to
 * the greatest page), and where the service gives more than the one record asked for.
 */
export async function totalOf(deps: PageDeps, query: PageQuery): Promise<number | undefined> {
  const { lastPage, ids } = await fetchPage(deps, query, 1, 1);
  return ids.length === 1 && lastPage !== undefined && lastPage > limitsOf(deps).pages ? lastPage : undefined;
}

/**
 * Ids; the JSON text for a record without a usable id (it becomes a dead letter), so that it differs from other
 * records.
 */
function idsOf(items: readonly unknown[], rawBody: Buffer): string[] {
  const ids = items.map(usableId);
  const texts = ids.includes(undefined) ? splitRecords(rawBody).map(String) : [];
  return ids.map((id, index) => (id === undefined ? (texts[index] ?? '') : String(id)));
}

const wholeSecond = (milliseconds: number | undefined): Second | undefined =>
  milliseconds === undefined ? undefined : Math.floor(milliseconds / 1000);
