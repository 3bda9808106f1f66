import { type InferOutput, nullable } from 'valibot';
import { type CallOptions, type HttpResponse, type Params, type Send, withPrivate } from '../http/call.ts';
import { parseAnyJson, parseJson, reading, withSameId } from '../http/decode.ts';
import type { ReviewApiOptions } from '../http/options.ts';
import { anyList, integer, type JsonObject, readShape, record, type Shape, text } from '../http/shape.ts';
import type { Paging } from './resource.ts';
import { coded, lastPage, listOperations, operationsByCode, optionPairs, requireCode, requireId } from './resource.ts';
import { type Review, review } from './review-shapes.ts';

const path = '/v1/reviews';

/** The last page of a list of reviews (docs/interface.md, "Limits"). */
const mostPages = 30;

/**
 * The period to list: whole days (`yyyy-mm-dd`) or times (`yyyy-mm-dd hh:mm:ss`), one kind only, in the service's zone,
 * both ends included, at most 45 days. Without a period: the last 30 days. If one end is left out, the service's
 * default applies: 30 days before, or the end of the request day (docs/interface.md, "Reviews").
 */
export type ReviewPeriod = Bounds<'date', 'datetime'> | Bounds<'datetime', 'date'>;

type Bounds<Kind extends string, Other extends string> = {
  [Name in `start_${Kind}` | `end_${Kind}`]?: string | undefined;
} & { [Name in `start_${Other}` | `end_${Other}`]?: undefined };

/** Filters and the order of the list (docs/interface.md, "Reviews"). All filters must match. */
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
  /** Whether the period is about the date of update. Default: the date of creation. */
  date_updated_at?: boolean | undefined;
  /** Newest first; else oldest first. */
  date_order_desc?: boolean | undefined;
  tag_name?: string | undefined;
  /** The external partner that integrated the review. */
  third_party_name?: string | undefined;
  sub_brand_id?: number | undefined;
  sub_brand_code?: string | undefined;
};

/** What to list, with all pages. */
export type ReviewListAllParams = ReviewFilters & ReviewPeriod & Omit<Paging, 'page'>;

/** What to list, and which page: at most page 30. */
export type ReviewListParams = ReviewFilters & ReviewPeriod & Paging;

/**
 * Fields of a review (docs/interface.md, "Reviews") to change, by id. A field that is left out stays unchanged. Dates
 * are ISO 8601, significant to the second.
 */
export type ReviewPatch = {
  /** The service's product id; may be left out if `product_code` is given. */
  product_id?: number | undefined;
  /** The shop's; may be left out if `product_id` is given. */
  product_code?: string | undefined;
  /** Option name to value. The service splits `<key>:<value>`: a name with a colon comes back split wrongly. */
  product_options?: Readonly<Record<string, string>> | undefined;
  /** Writing time. */
  created_at?: string | undefined;
  /** Without HTML tags. */
  message?: string | undefined;
  /** 1 to 5. Left out: no rating. Null removes the rating (update by id only). */
  score?: number | null | undefined;
  /** The author's account in the shop; required for members. */
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
export type ReviewBody = Omit<ReviewPatch, 'score'> & {
  /** The shop's unique identifier of the review. */
  code?: string | undefined;
  /** 1 to 5. Left out: no rating. */
  score?: number | undefined;
  /** Social origin address. */
  review_source_url?: string | undefined;
  tag_name?: string | undefined;
};

/** Fields to change, by code. Product options cannot be changed and a rating cannot be removed this way. */
export type ReviewPatchByCode = Omit<ReviewPatch, 'score' | 'product_options'> & { score?: number | undefined };

/** One page of the list. `rawBody` is the unchanged response body, for the warehouse; the items are not checked. */
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
 * `serviceNow` is the `Date` header of the response: the service's clock, to the second. `requestedAt` is when the
 * response was current, by the local clock: if a cache responded, earlier than the request.
 */
export type ReviewOverview = InferOutput<typeof overview> & { serviceNow: Date | undefined; requestedAt: Date };

/** Both fields must be present, null or not: an error with status 200 must not count as a service without reviews. */
const overview = record({ first_review_created_at: nullable(text), last_review_created_at: nullable(text) });

/** Reviews (docs/interface.md, "Reviews"). */
export function reviewsApi(anySend: Send, onRecords?: ReviewApiOptions['onRecords']) {
  const send = withPrivate(anySend, ['message', 'user_code', 'user_name', 'review_source_url']);
  const resource = { path, shape: review, params: reviewParams };
  return {
    ...operationsByCode<Review, ReviewPatchByCode, ReviewPatchByCode & { code: string }>(send, resource),
    ...listOperations<Review, ReviewFilters & ReviewPeriod>(send, { path, shape: review, mostPages }, filterParams),

    /** `list` with unchecked items and the response body, for an export that accepts fields of any type. */
    async page(filters: ReviewListAllParams, page: number, options: CallOptions = {}): Promise<RawReviewPage> {
      const params = { ...filterParams(filters), limit: filters.limit ?? 100, page };
      const found = await send({ method: 'GET', path, params, ...options }, readRawPage);
      onRecords?.('review', found.items);
      return found;
    },

    /** `get` that checks only the id, and returns the unchanged response body. @throws NotFoundError */
    async getRaw(id: number, options: CallOptions = {}): Promise<RawReview> {
      const call = { method: 'GET', path: `${path}/${requireId(id)}`, isOfNow: true, ...options } as const;
      const itemOf = (response: HttpResponse) => withSameId(readShape(rawReview, parseAnyJson(response)), id);
      const found = await send(call, (response) => ({ rawBody: response.bytes, item: itemOf(response) }));
      onRecords?.('review_detail', [found.item]);
      return found;
    },

    /**
     * Creates a review, or updates the review with this code. Without a code each request adds a review, so the client
     * never repeats it after a lost response.
     *
     * @throws UnknownOutcomeError if the response is lost and there is no code.
     * @example await api.reviews.upsert({ code: 'R-1', product_code: 'P-7', score: 5, message: 'Fits well.' });
     */
    async upsert(body: ReviewBody, options: CallOptions = {}): Promise<Review> {
      const params = coded(reviewParams(body));
      return send({ method: 'POST', path, params, repeatable: params.code !== undefined, ...options }, reading(review));
    },

    /** The dates of the first and the last review, and the service's clock. */
    async overview(options: CallOptions = {}): Promise<ReviewOverview> {
      return send({ method: 'GET', path: `${path}/overview`, ...options }, readOverview);
    },
  };
}

const flags = ['date_updated_at', 'date_order_desc', 'photo'] as const;

/** Filters and period of a list. @throws TypeError for an empty filter: the service would list everything. */
function filterParams({ limit: _limit, page: _page, ...filters }: ReviewListParams): Params {
  for (const [name, value] of Object.entries(filters)) {
    if (name.endsWith('_id') && value !== undefined) requireId(Number(value), name);
    if (typeof value === 'string' || typeof value === 'object') requireCode(value, name);
  }
  return { ...filters, ...Object.fromEntries(flags.map((name) => [name, filters[name] ? 1 : undefined])) } as Params;
}

/** Fields of a review as parameters. A form cannot express an empty list: the service then keeps the old list. */
const reviewParams = ({ product_options, display, options, ...fields }: ReviewPatch): Params => ({
  ...fields,
  product_options: optionPairs(product_options),
  display: display === undefined ? undefined : Number(display),
  // A parser of the form starts a new item at the first repeated field, so a field that all items have comes first.
  options: options?.map(({ review_option_type_id, ...rest }) => ({ review_option_type_id, ...rest })),
});

function readRawPage(response: HttpResponse): RawReviewPage {
  const { status, headers, requestedAt } = response;
  // 204 is "no content": a service may send it for an empty list.
  const rawBody = status === 204 ? Buffer.from('[]') : response.bytes;
  const items = readShape(anyList, parseAnyJson({ ...response, bytes: rawBody }));
  return { rawBody, items, lastPage: lastPage(headers.link), requestedAt };
}

const rawReview = record({ id: integer }) as Shape<JsonObject & { id: number }>;

function readOverview(response: HttpResponse): ReviewOverview {
  const { first_review_created_at, last_review_created_at } = readShape(overview, parseJson(response));
  const serviceMs = Date.parse(response.headers.date ?? '');
  const serviceNow = Number.isNaN(serviceMs) ? undefined : new Date(serviceMs);
  return { first_review_created_at, last_review_created_at, serviceNow, requestedAt: response.requestedAt };
}
