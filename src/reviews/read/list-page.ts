import { describeError } from '../../base/errors.ts';
import { printed, splitRecords, usableId, withoutLinks } from '../../base/json-text.ts';
import { isWithin, localPeriod, type Second, type Span } from '../../base/time/span.ts';
import {
  LimitedError,
  NotFoundError,
  type RawReviewPage,
  RefusedError,
  ReviewApiError,
  type ReviewFilters,
} from '../../review-api/index.ts';
import type { RawPage } from '../../warehouse/reviews/land-reviews.ts';
import { limitsOf, type PageDeps } from '../review-deps.ts';
import type { Window } from '../windows.ts';
import { checkPage } from './check-page.ts';

const listGiveUpMs = 8000;

/** What to list: a span of an axis, narrowed if the span alone holds too much. */
export type PageQuery = Window &
  Readonly<{
    score?: NonNullable<ReviewFilters['score']>;
    productId?: number;
    /** From the other end. */
    desc?: boolean;
  }>;

/** One response of the list. It shows the service at one moment, so nothing shifts within it. */
export type ListPage = RawPage & {
  kind: 'page';
  /** One per record; its text without links if it has no usable id. */
  ids: string[];
  /** One per record: the second of its date on the axis; undefined if that cannot be read or was not asked for. */
  seconds: (Second | undefined)[];
  /** Ids of the records dated more than a day beside the period: a service may be a zone off. */
  strays: string[];
  lastPage: number | undefined;
  requestedAt: Date;
};

/**
 * Why a list is not shown.
 *
 * - `refused`: the service answers with a 4xx status.
 * - `failed`: it answers with 429, a 5xx status or a malformed body, or not at all, and shows another list.
 */
export type Obstacle = { kind: 'refused'; reason: string } | { kind: 'failed'; reason: string };

/** How often a page is requested that gets 429 or 503, each time after another list was shown. */
const roundsAtMost = 2;

/**
 * Requests one page (docs/interface.md, "Reviews"). Every request for a list is made here. If the service is full, a list
 * without reviews is asked for, and waits for as long as the service says; then the page is requested again.
 *
 * @throws the client's error where the service does not show any other list either: it is down.
 */
export async function fetchPage(
  deps: PageDeps,
  query: PageQuery,
  page: number,
  limit = limitsOf(deps).pageSize,
): Promise<ListPage | Obstacle> {
  for (let round = 1; ; round += 1) {
    try {
      return pageOf(await request(deps, query, page, limit, deps.giveUpAfterMs ?? listGiveUpMs), deps, query);
    } catch (error) {
      const kind = obstacleOf(error);
      if (kind === undefined) throw error;
      if (kind === 'failed' && round === 1) await requireAnotherList(deps);
      const mayBeFull = error instanceof LimitedError || (error as { status?: number }).status === 503;
      if (!mayBeFull || round === roundsAtMost) return { kind, reason: describeError(error) };
    }
  }
}

/** What is needed of the page later: whole records would stay in memory until it has landed. */
function pageOf({ items, ...response }: RawReviewPage, deps: PageDeps, { span, axis }: PageQuery): ListPage {
  const { dates, ...check } = checkPage(items, deps.plausible, response.rawBody);
  const { first, last } = localPeriod(span, deps.timeZone);
  const shown = dates.map(({ [`${axis}_at` as const]: second }) => second);
  const isStray = (second = first) => second < first - 86_400 || second > last + 86_400;
  const ids = items.map((item, index) => String(usableId(item) ?? withoutLinks(printed(item) ?? `#${index}`)));
  return {
    kind: 'page',
    ...response,
    check,
    ids,
    strays: ids.filter((_, index) => isStray(shown[index])),
    seconds: shown.map((second) => (second !== undefined && second >= first && second <= last ? second : undefined)),
  };
}

/**
 * The page without its records that are dated beside the spans: a request shows the second in which its span ends, too,
 * and `--to` a day must not bring in a review of the next midnight.
 */
export function pageWithin(page: ListPage, spans: readonly Span[]): ListPage {
  const kept = page.seconds.map((second) => second === undefined || spans.some((span) => isWithin(second, span)));
  if (!kept.includes(false)) return page;
  const isKept = (_: unknown, index: number) => kept[index];
  const records = splitRecords(page.rawBody).filter(isKept);
  const indexes = [...kept.keys()].filter((index) => kept[index]);
  const faults = page.check.faults.flatMap(({ index, reason }) =>
    kept[index] ? [{ index: indexes.indexOf(index), reason }] : [],
  );
  return {
    ...page,
    rawBody: Buffer.from(`[${records.map((record) => record.toString('latin1')).join()}]`, 'latin1'),
    check: { ...page.check, count: indexes.length, faults },
    ids: page.ids.filter(isKept),
    seconds: page.seconds.filter(isKept),
  };
}

/**
 * Asks for the first second of yesterday, which hardly ever has reviews: a service may fail on dates ahead of its clock. It is
 * the list by creation in any case: a service may fail on every list by update, and new reviews are read without it. A service
 * that refuses it is not down either.
 *
 * @throws the client's error where the service does not show that list.
 */
export async function requireAnotherList(deps: PageDeps): Promise<void> {
  const start = deps.plausible.end - 3 * 86_400;
  await request(deps, { axis: 'created', span: { start, end: start + 1 } }, 1, 1).catch((error: unknown) => {
    if (obstacleOf(error) !== 'refused') throw error;
  });
}

/**
 * `refused`: with a 4xx status. `failed`: with 429, a 5xx status or a redirect, a malformed body, or without any response.
 * Undefined if another request would meet the error, too: of the database, a failed authentication, an invalid certificate.
 */
export function obstacleOf(error: unknown): Obstacle['kind'] | undefined {
  if (error instanceof RefusedError || error instanceof NotFoundError) return 'refused';
  // One list may always get 429 while others are shown: asking for another list tells that from a service that is full.
  return error instanceof ReviewApiError && error.retryable ? 'failed' : undefined;
}

function request(
  { reviews, signal, timeZone }: PageDeps,
  { axis, span, desc, productId, ...filters }: PageQuery,
  page: number,
  limit: number,
  giveUpAfterMs?: number,
): ReturnType<PageDeps['reviews']['page']> {
  signal.throwIfAborted();
  const { start, end } = localPeriod(span, timeZone);
  const isUpdated = axis === 'updated';
  const period = { start_datetime: start, end_datetime: end, date_updated_at: isUpdated, date_order_desc: desc };
  return reviews.page({ ...filters, ...period, product_id: productId, limit }, page, {
    giveUpAfterMs,
    countsHolds: giveUpAfterMs !== undefined,
  });
}
