import { describeError } from '../../base/errors.ts';
import {
  endlessNumber,
  isRecord,
  mayBeEndless,
  printed,
  scalarText,
  splitRecords,
  usableId,
  withField,
  withoutLinks,
} from '../../base/json-text.ts';
import { shownValue } from '../../base/mask.ts';
import { isoOf, isWithin, localPeriod, parseInstant, type Second, type Span } from '../../base/time/span.ts';
import {
  LimitedError,
  NotFoundError,
  type RawReview,
  type RawReviewPage,
  RefusedError,
  ReviewApiError,
  type ReviewFilters,
} from '../../review-api/index.ts';
import type { RawPage } from '../../warehouse/reviews/land-reviews.ts';
import { lackingAlone, lackingInList } from '../../warehouse/reviews/review-columns.ts';
import { limitsOf, type ReadDeps } from '../review-deps.ts';
import type { Window } from '../windows.ts';

const listGiveUpMs = 8000;

/** What to list: a span of an axis, narrowed further if the span has too many records. */
export type PageQuery = Window &
  Readonly<{
    score?: NonNullable<ReviewFilters['score']>;
    productId?: number;
    /** In descending order. */
    desc?: boolean;
  }>;

/** One response of the list. It shows the service at one moment, so no record shifts within it. */
export type ListPage = RawPage & {
  kind: 'page';
  /** One per record. If a record has no usable id: its text without links. */
  ids: string[];
  /** One per record: the second of its date on the axis; undefined if it is unreadable or outside the period. */
  seconds: (Second | undefined)[];
  /** Ids of the records dated more than a day outside the requested period. A service may be a zone off. */
  strays: string[];
  lastPage: number | undefined;
  requestedAt: Date;
};

/**
 * Why a list is not shown.
 *
 * - `refused`: the service responds with a 4xx status.
 * - `failed`: it responds with 429, a 5xx status or a malformed body, or not at all, but shows another list.
 */
export type Obstacle = { kind: 'refused'; reason: string } | { kind: 'failed'; reason: string };

/**
 * Requests one page (docs/interface.md, "Reviews"). Every request for a list is made here. If the service is
 * overloaded, requests a list without reviews, which waits as long as the service says, and then the page once more.
 *
 * @throws the client's error if the service shows no other list either: it is down.
 */
export async function fetchPage(
  deps: ReadDeps,
  query: PageQuery,
  page: number,
  limit = limitsOf(deps).pageSize,
  isAgain = false,
): Promise<ListPage | Obstacle> {
  try {
    return pageOf(await request(deps, query, page, limit, deps.giveUpAfterMs ?? listGiveUpMs), deps, query);
  } catch (error) {
    const kind = obstacleOf(error);
    if (kind === undefined) throw error;
    if (kind === 'failed' && !isAgain) await requireAnotherList(deps);
    const mayBeFull = error instanceof LimitedError || (error as { status?: number }).status === 503;
    if (isAgain || !mayBeFull) return { kind, reason: describeError(error) };
  }
  return fetchPage(deps, query, page, limit, true);
}

/** Keeps only what is needed later: whole records would stay in memory until the page has landed. */
function pageOf({ items, ...response }: RawReviewPage, deps: ReadDeps, { span, axis }: PageQuery): ListPage {
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
 * The page without records that are dated outside the spans. A response includes the second in which its span ends,
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
 * Requests the list of the first second of yesterday, which hardly ever has reviews: a service may fail on dates ahead
 * of its clock. The list is always by creation: a service may fail on every list by update, and new reviews are read
 * without these. A service that refuses the list is not down either.
 *
 * @throws the client's error if the service fails on that list.
 */
export async function requireAnotherList(deps: ReadDeps): Promise<void> {
  const start = deps.plausible.end - 3 * 86_400;
  await request(deps, { axis: 'created', span: { start, end: start + 1 } }, 1, 1).catch((error: unknown) => {
    if (obstacleOf(error) !== 'refused') throw error;
  });
}

/**
 * `refused`: with a 4xx status. `failed`: with 429, a 5xx status or a redirect, a malformed body, or without any
 * response. Undefined if another request would fail, too: a database error, a failed authentication, a bad certificate.
 */
export function obstacleOf(error: unknown): Obstacle['kind'] | undefined {
  if (error instanceof RefusedError || error instanceof NotFoundError) return 'refused';
  // One list may always get 429 while others are shown. Another list tells this from an overloaded service.
  return error instanceof ReviewApiError && error.retryable ? 'failed' : undefined;
}

function request(
  { reviews, signal, timeZone }: ReadDeps,
  { axis, span, desc, productId, ...filters }: PageQuery,
  page: number,
  limit: number,
  giveUpAfterMs?: number,
): ReturnType<ReadDeps['reviews']['page']> {
  signal.throwIfAborted();
  const { start, end } = localPeriod(span, timeZone);
  const isUpdated = axis === 'updated';
  const period = { start_datetime: start, end_datetime: end, date_updated_at: isUpdated, date_order_desc: desc };
  return reviews.page({ ...filters, ...period, product_id: productId, limit }, page, {
    giveUpAfterMs,
    countsHolds: giveUpAfterMs !== undefined,
  });
}

/** The facts of a page besides its raw body. `dates`: the dates of each record, in the order of the page. */
type PageCheck = RawPage['check'] & { dates: Dates[] };

/** Dates of a record. Undefined: unreadable (`parseInstant`). Without an update, the date of creation is the update. */
type Dates = Record<'created_at' | 'updated_at', Second | undefined>;

/**
 * Checks values that Postgres would accept and misread: ids and numbers beyond those of JavaScript, dates such as
 * `infinity`, `now` or `20240101`, invalid scores. The column types check all other values.
 *
 * @param items the page as `JSON.parse` gives it. `rawBody`: the page as it came.
 * @param plausible the dates that a review may have, in seconds.
 */
export function checkPage(items: readonly unknown[], plausible: Span, rawBody: Buffer): PageCheck {
  const records = mayBeEndless(rawBody) ? splitRecords(rawBody) : [];
  const faults: PageCheck['faults'] = [];
  const codes = new Map<number, string>();
  const dates = items.map(datesOf);
  for (const [index, item] of items.entries()) {
    if (isRecord(item)) {
      const { product_id, product_code: code } = item;
      const id = usableId({ id: product_id });
      if (id !== undefined) codes.set(id, scalarText(code) ?? '');
    }
    const reason = faultOf(item, dates[index] as Dates, plausible, records[index]);
    if (reason !== undefined) faults.push({ index, reason });
  }
  const products = [...codes].map(([product_id, product_code]) => ({ product_id, product_code }));
  const lacking = lackingInList(items.filter(isRecord));
  return { count: items.length, fields: null, lacking, faults, dates, products };
}

function datesOf(item: unknown): Dates {
  const { created_at, updated_at }: Record<string, unknown> = isRecord(item) ? item : {};
  const isNone = updated_at === null || updated_at === '';
  return { created_at: parseInstant(created_at), updated_at: parseInstant(isNone ? created_at : updated_at) };
}

function faultOf(item: unknown, dates: Dates, plausible: Span, record?: Buffer): string | undefined {
  const endless = record && endlessNumber(record);
  if (endless !== undefined) return `expected finite numbers, found ${shownValue(endless)}`;
  if (!isRecord(item)) return `expected an object as a review, found ${shownValue(item)}`;
  if (usableId(item) === undefined) {
    return `expected id as an integer from 1 to ${Number.MAX_SAFE_INTEGER}, found ${shownValue(item.id)}`;
  }
  for (const name of ['created_at', 'updated_at'] as const) {
    const second = dates[name];
    if (second === undefined) {
      return `expected ${name} as an ISO 8601 date-time with an offset, found ${shownValue(item[name])}`;
    }
    if (second < plausible.start || second >= plausible.end) {
      return `expected ${name} between ${utcDay(plausible.start)} and ${utcDay(plausible.end)}, found ${isoOf(second)}`;
    }
  }
  const { score } = item;
  // Zero and an empty text also mean "no rating" (docs/interface.md, "Reviews").
  const isScore = score == null || /^(?:[0-5](?:\.0+)?)?$/.test(scalarText(score) ?? 'none');
  return isScore ? undefined : `expected score as null or a whole number from 1 to 5, found ${shownValue(score)}`;
}

const utcDay = (second: Second) => isoOf(second).slice(0, 10);

/**
 * The page of a review that was read by its id. The response has `comments`, and a list has `comments_count`
 * (docs/interface.md, "Review"), so the comments are counted. The product id is not learned: a webhook may have named
 * the review.
 *
 * @param listed if the review is read for its comments: its `extra` fields that a list has shown. Other fields that
 *   only this response has stay out, because the next list would remove them again.
 */
export function pageOfOne({ item, rawBody }: RawReview, plausible: Span, listed?: readonly string[]): RawPage {
  let record = rawBody.toString('latin1');
  // Names as `storableRecord` writes them.
  const fields = Object.keys(item).map((name) => name.toWellFormed().replaceAll('\u0000', '\ufffd'));
  const lacking = [...lackingAlone(item), ...(listed ? ['comments_count', 'tag_name'] : [])];
  const leftOut = listed ? fields.filter((name) => name !== 'comments' && !listed.includes(name)) : [];
  if (!('comments_count' in item) && Array.isArray(item.comments)) {
    fields.push('comments_count');
    record = withField(record, 'comments_count', String(item.comments.length));
  }
  const page = Buffer.from(`[${record}]`, 'latin1');
  return {
    rawBody: page,
    check: { ...checkPage([item], plausible, page), fields, lacking, leftOut, products: [] },
  };
}
