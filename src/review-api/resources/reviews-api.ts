import { nullable } from 'valibot';
import { type CallOptions, type HttpResponse, type Params, type Send, withPrivate } from '../http/call.ts';
import { optionPairs } from '../http/encode.ts';
import { lastPage } from '../http/link-header.ts';
import type { ReviewApiOptions } from '../http/options.ts';
import { parseAnyJson, parseJson, reading, withSameId } from '../http/response-body.ts';
import { anyList, integer, type JsonObject, readShape, record, type Shape, text } from '../http/shape.ts';
import { PageLimitError } from '../review-api-errors.ts';
import { requireCode, requireDateTime, requireDay, requireId, requireWithin } from './check.ts';
import { allPages, operationsByCode, operationsById, type Page, type Paging, readPage } from './resource.ts';
import { type Review, review } from './review-shapes.ts';

const path = '/v1/reviews';

/** Limits of the list of reviews (docs/interface.md, "Limits"). */
const reviewListLimits = { page: 30, days: 45 } as const;

/**
 * The period to list: whole days (`yyyy-mm-dd`) or times (`yyyy-mm-dd hh:mm:ss`), one kind only, in the service's zone,
 * both ends included, at most 45 days. Without it the last 30 days; an end that is left out is the service's default:
 * 30 days before, the end of the request day (docs/interface.md, "Reviews").
 */
export type ReviewPeriod =
  | {
      start_date?: string | undefined;
      end_date?: string | undefined;
      start_datetime?: undefined;
      end_datetime?: undefined;
    }
  | {
      start_datetime?: string | undefined;
      end_datetime?: string | undefined;
      start_date?: undefined;
      end_date?: undefined;
    };

/** Filters, all of which must match, and the order of the list (docs/interface.md, "Reviews"). */
export type ReviewFilters = {
  /** The service's product id. */
  product_id?: number | undefined;
  /** The shop's. */
  product_code?: string | undefined;
  /** The author's account in the shop. */
  user_code?: string | undefined;
  category_id?: number | undefined;
  category_code?: string | undefined;
  /** 1 to 5; 0 for reviews without rating. */
  score?: 0 | 1 | 2 | 3 | 4 | 5 | undefined;
  /** Photo reviews only. */
  photo?: boolean | undefined;
  /** Whether the period is about the date of update; by default it is about the date of creation. */
  date_updated_at?: boolean | undefined;
  /** Newest first; else oldest first. */
  date_order_desc?: boolean | undefined;
  tag_name?: string | undefined;
  /** The external partner by whom it was integrated. */
  third_party_name?: string | undefined;
  sub_brand_id?: number | undefined;
  sub_brand_code?: string | undefined;
};

/** What to list, all pages of it. */
export type ReviewListAllParams = ReviewFilters & ReviewPeriod & Omit<Paging, 'page'>;

/** What to list, and which page of it: up to page 30. */
export type ReviewListParams = ReviewFilters & ReviewPeriod & Paging;

/** Fields of a review (docs/interface.md, "Reviews"). Dates are ISO 8601, significant to the second. */
type ReviewFields = {
  /** The service's product id; may be left out if `product_code` is given. */
  product_id?: number | undefined;
  /** The shop's; may be left out if `product_id` is given. */
  product_code?: string | undefined;
  /** Option name to value. The service splits `<key>:<value>`: a name with a colon comes back split elsewhere. */
  product_options?: Readonly<Record<string, string>> | undefined;
  /** Writing time. */
  created_at?: string | undefined;
  /** Without HTML tags. */
  message?: string | undefined;
  /** 1 to 5. Left out: no rating. Null removes the rating (update by id only). */
  score?: number | null | undefined;
  /** The author's account in the shop; to be given for members. */
  user_code?: string | undefined;
  user_name?: string | undefined;
  /** At most 4. The service stores them later, so the response lacks them. */
  image_urls?: readonly string[] | undefined;
  /** Sent as 1 or 0; default displayed. */
  display?: boolean | undefined;
  /** Not for shops on the v2 additional-information model. */
  options?: readonly ReviewOptionInput[] | undefined;
};

/** One item of additional information; `created_at` is ISO 8601. */
export type ReviewOptionInput = {
  review_option_type_id: number;
  created_at: string;
  value: string;
  /** Unique. */
  code?: string | undefined;
};

/** Body of `POST /v1/reviews`. */
export type ReviewBody = Omit<ReviewFields, 'score'> & {
  /** The shop's unique identifier of the review. */
  code?: string | undefined;
  /** 1 to 5. Left out: no rating. */
  score?: number | undefined;
  /** Social origin address. */
  review_source_url?: string | undefined;
  tag_name?: string | undefined;
};

/** Fields to change, by id. A field that is left out stays unchanged. */
export type ReviewPatch = ReviewFields;

/** Fields to change, by code. Product options cannot be changed and a rating cannot be removed this way. */
export type ReviewPatchByCode = Omit<ReviewFields, 'score' | 'product_options'> & { score?: number | undefined };

/**
 * One page of the list. `rawBody` is the unchanged response body in UTF-8, for the warehouse; the items are not
 * checked.
 */
export type RawReviewPage = {
  rawBody: Buffer;
  items: unknown[];
  lastPage: number | undefined;
  requestedAt: Date;
};

/** One review. `rawBody` is the unchanged response body; only the id of `item` is checked. */
export type RawReview = { rawBody: Buffer; item: JsonObject & { id: number } };

/**
 * The range of stored reviews, ISO 8601 with offset, null while there are none (docs/interface.md, "Review overview").
 * `serviceNow` is the `Date` header of the response: the service's clock, to the second. `requestedAt` is the moment whose
 * state the response shows, by the local clock: earlier than the request if a cache answered.
 */
export type ReviewOverview = {
  first_review_created_at: string | null;
  last_review_created_at: string | null;
  serviceNow: Date | undefined;
  requestedAt: Date;
};

/** Reviews (docs/interface.md, "Reviews"). `now`: the wall clock, in milliseconds since 1970. */
export function reviewsApi(anySend: Send, { now = Date.now, onRecords }: Pick<ReviewApiOptions, 'now' | 'onRecords'>) {
  const send = withPrivate(anySend, ['message', 'user_code', 'user_name', 'review_source_url']);
  const resource = { path, what: 'a review', shape: review, params: reviewPatchParams };
  const api = {
    ...operationsById(send, resource),
    ...operationsByCode<Review, ReviewPatchByCode, ReviewPatchByCode & { code: string }>(send, {
      ...resource,
      params: patchByCodeParams,
    }),

    /**
     * One page of the reviews of a period.
     *
     * @throws TypeError before anything is sent: a period over 45 days or of two kinds, a page over 30, an empty
     *   filter.
     * @throws MalformedResponseError for a review without id, or with a field of another type than the spec's.
     * @example const { items } = await api.reviews.list({ start_date: '2026-01-01', end_date: '2026-01-31', score: 5 });
     */
    async list(params: ReviewListParams = {}): Promise<Page<Review>> {
      requirePeriod(params, now());
      return send({ method: 'GET', path, params: listQuery(params, params.page ?? 1) }, readPage(review));
    },

    /**
     * All pages of the reviews of a period, one request each, in the order of their date, up to page 30. A review that is
     * added or deleted meanwhile shifts others between pages: the same `id` may come twice.
     *
     * @throws TypeError and MalformedResponseError as `list` does.
     * @throws PageLimitError after page 30, unless the list certainly ends there: that page is empty, or it is short and
     *   has no `Link` header. A `Link` header proves nothing: services name page 30 as the last of any longer list
     *   (docs/service-facts.md). Narrow the period.
     * @example
     * for await (const { items } of api.reviews.listAll({ start_date: '2026-01-01', end_date: '2026-01-31' })) {
     *   for (const review of items) console.log(review.id, review.score);
     * }
     */
    async *listAll(params: ReviewListAllParams = {}): AsyncGenerator<Page<Review>, void, undefined> {
      const { limit = 100 } = params;
      let pages = 0;
      let last: Page<Review> | undefined;
      for await (last of allPages(path, limit, (page) => api.list({ ...params, page }), reviewListLimits.page)) {
        pages += 1;
        yield last;
      }
      if (pages < reviewListLimits.page || last === undefined || last.items.length === 0) return;
      if (last.lastPage === undefined && last.items.length < limit) return;
      throw new PageLimitError({ method: 'GET', path });
    },

    /**
     * One page with unchecked items, for an export that accepts fields of any type. The caller checks the length of the
     * period, because the caller knows the time zone.
     *
     * @throws TypeError as `list` does, but for the length of the period.
     * @throws MalformedResponseError if the body is not a list.
     */
    async page(params: ReviewListAllParams, page: number, options: CallOptions = {}): Promise<RawReviewPage> {
      return send({ method: 'GET', path, params: listQuery(params, page), ...options }, (response) => {
        const items = readShape(anyList, parseAnyJson(response), 'a list');
        onRecords?.('review', items);
        const { bytes: rawBody, headers, requestedAt } = response;
        return { rawBody, items, lastPage: lastPage(headers.link), requestedAt };
      });
    },

    /** As `get`, but only the id is checked, and the response body is returned unchanged. @throws NotFoundError */
    async getRaw(id: number, options: CallOptions = {}): Promise<RawReview> {
      const call = { method: 'GET', path: `${path}/${requireId(id)}`, isOfNow: true, ...options } as const;
      return send(call, (response) => {
        const review = readRaw(response, id);
        onRecords?.('review_detail', [review.item]);
        return review;
      });
    },

    /**
     * Creates a review, or updates the review with this code. With a code it is safe to repeat. Without a code each
     * request adds a review, so the client never repeats it after a lost response.
     *
     * @throws UnknownOutcomeError when the response is lost; without a code only.
     * @example await api.reviews.upsert({ code: 'R-1', product_code: 'P-7', score: 5, message: 'Fits well.' });
     */
    async upsert(body: ReviewBody, options: CallOptions = {}): Promise<Review> {
      if (body.code !== undefined) requireCode(body.code);
      const repeatable = body.code !== undefined;
      const call = { method: 'POST', path, params: reviewParams(body), repeatable, ...options } as const;
      return send(call, reading(review, resource.what));
    },

    /** The dates of the first and the last review, and the service's clock. */
    async overview(options: CallOptions = {}): Promise<ReviewOverview> {
      return send({ method: 'GET', path: `${path}/overview`, ...options }, readOverview);
    },
  };
  return api;
}

const texts = ['product_code', 'user_code', 'category_code', 'tag_name', 'third_party_name', 'sub_brand_code'] as const;
const ids = ['product_id', 'category_id', 'sub_brand_id'] as const;
const flags = ['date_updated_at', 'date_order_desc', 'photo'] as const;

/** The query of a list. @throws TypeError for a value that the service would misread or ignore. */
function listQuery({ limit = 100, ...filters }: ReviewListAllParams, page: number): Params {
  requireForms(filters);
  for (const name of texts) if (filters[name] !== undefined) requireCode(filters[name], name);
  for (const name of ids) if (filters[name] !== undefined) requireId(filters[name], name);
  if (filters.score !== undefined) requireWithin(filters.score, 'score', 0, 5);
  return {
    ...filters,
    ...Object.fromEntries(flags.map((name) => [name, filters[name] ? 1 : undefined])),
    limit: requireWithin(limit, 'limit', 1, 100),
    page: requireWithin(page, 'page', 1, reviewListLimits.page),
  } as Params;
}

/**
 * Checks that a period ends after it starts and has at most 45 days by the calendar.
 *
 * @param nowMs milliseconds since 1970; the end of a period without an end depends on it.
 * @throws TypeError before anything is sent.
 */
function requirePeriod(period: ReviewPeriod, nowMs: number): void {
  const { start, end } = requireForms(period);
  if (start === undefined) return;
  if (end !== undefined && end < start) throw new TypeError('expected a period that starts before it ends');
  // The service ends such a period with the request day in its zone. West of all zones, that day ends first.
  const westernmostMs = nowMs - 12 * 3_600_000;
  const lengthMs = (end ?? Math.floor(westernmostMs / dayMs) * dayMs + lastSecondMs) - start;
  if (lengthMs <= reviewListLimits.days * dayMs) return;
  throw new TypeError(
    `expected a period of at most ${reviewListLimits.days} days, got ${(lengthMs / dayMs).toFixed(2)}: ` +
      'read it in parts',
  );
}

const dayMs = 86_400_000;
const lastSecondMs = dayMs - 1_000;

/** First and last second of a well-formed period, in milliseconds since 1970, as if its zone were UTC. */
function requireForms(period: ReviewPeriod): { start: number | undefined; end: number | undefined } {
  const { start_date, end_date, start_datetime, end_datetime } = period;
  const isDays = start_date !== undefined || end_date !== undefined;
  if (isDays && (start_datetime !== undefined || end_datetime !== undefined)) {
    throw new TypeError('expected the period in days or in times, got both: the service ignores the days');
  }
  const lastDay = end_date === undefined ? undefined : requireDay(end_date, 'end_date');
  return isDays
    ? {
        start: start_date === undefined ? undefined : requireDay(start_date, 'start_date'),
        end: lastDay === undefined ? undefined : lastDay + lastSecondMs,
      }
    : {
        start: start_datetime === undefined ? undefined : requireDateTime(start_datetime, 'start_datetime'),
        end: end_datetime === undefined ? undefined : requireDateTime(end_datetime, 'end_datetime'),
      };
}

/** Fields of a review as parameters. @throws TypeError for a value that the service would refuse or misread. */
function reviewParams({ product_options, display, options, ...fields }: ReviewFields): Params {
  if ((fields.image_urls?.length ?? 0) > 4) throw new TypeError('expected at most 4 image_urls');
  if (fields.score !== undefined && fields.score !== null) requireWithin(fields.score, 'score', 1, 5);
  if (fields.product_id !== undefined) requireId(fields.product_id, 'product_id');
  if (fields.product_code !== undefined) requireCode(fields.product_code, 'product_code');
  return {
    ...fields,
    product_options: optionPairs(product_options),
    display: display === undefined ? undefined : display ? 1 : 0,
    // A parser of the form begins a new item at the first repeated field, so the field that all items have comes first.
    options: options?.map(({ review_option_type_id, ...rest }) => ({ review_option_type_id, ...rest })),
  };
}

/** Parameters of an update. A form cannot express an empty list, so the service would silently change nothing. */
function reviewPatchParams(patch: ReviewPatch): Params {
  for (const name of ['image_urls', 'options'] as const) {
    if (patch[name]?.length === 0) throw new TypeError(`expected ${name} with items: a list cannot be emptied`);
  }
  if (patch.product_options && Object.keys(patch.product_options).length === 0) {
    throw new TypeError('expected product_options with items: options cannot be emptied');
  }
  return reviewParams(patch);
}

/** @throws TypeError for a rating of null: only an update by id can remove it. */
function patchByCodeParams(patch: ReviewPatchByCode): Params {
  const fields = reviewPatchParams(patch);
  if (fields.score !== null) return fields;
  throw new TypeError('expected a score from 1 to 5: only an update by id can remove it');
}

const rawReview = record({ id: integer }) as Shape<JsonObject & { id: number }>;

function readRaw(response: HttpResponse, id: number): RawReview {
  const item = withSameId(readShape(rawReview, parseAnyJson(response), 'a review'), id);
  return { rawBody: response.bytes, item };
}

/** An error with status 200 must not be read as a service without reviews: both fields are there, null or not. */
const overview = record({ first_review_created_at: nullable(text), last_review_created_at: nullable(text) });

function readOverview(response: HttpResponse): ReviewOverview {
  const { first_review_created_at, last_review_created_at } = readShape(overview, parseJson(response), 'the overview');
  const serviceMs = Date.parse(response.headers.date ?? '');
  const serviceNow = Number.isNaN(serviceMs) ? undefined : new Date(serviceMs);
  const { requestedAt } = response;
  return { first_review_created_at, last_review_created_at, serviceNow, requestedAt };
}
