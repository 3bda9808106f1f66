import { nullable } from 'valibot';
import type { CallOptions, HttpResponse, Params, Send } from '../http/call.ts';
import { lastPage } from '../http/link-header.ts';
import { parseAnyJson, parseJson, reading, withoutByteOrderMark, withSameId } from '../http/response-body.ts';
import { anyList, integer, type JsonObject, readShape, record, type Shape, text } from '../http/shape.ts';
import { PageLimitError } from '../review-api-errors.ts';
import { requireCode, requireId } from './check.ts';
import { allPages, operationsByCode, operationsById, type Page, readPage } from './resource.ts';
import {
  listQuery,
  type ReviewListAllParams,
  type ReviewListParams,
  requirePeriod,
  reviewListLimits,
} from './review-list.ts';
import { type ReviewBody, type ReviewPatchByCode, reviewParams, reviewPatchParams } from './review-params.ts';
import { type Review, review } from './review-shapes.ts';

const path = '/v1/reviews';

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
export type RawReview = { rawBody: Buffer; item: JsonObject & { id: number }; requestedAt: Date };

/**
 * The range of stored reviews, ISO 8601 with offset, null while there are none (docs/interface.md, "Review overview").
 * `serviceNow` is the `Date` header of the response: the service's clock, to the second.
 */
export type ReviewOverview = {
  first_review_created_at: string | null;
  last_review_created_at: string | null;
  serviceNow: Date | undefined;
};

export type Reviews = ReturnType<typeof reviewsApi>;

/** Reviews (docs/interface.md, "Reviews"). `now`: the wall clock, in milliseconds since 1970. */
export function reviewsApi(send: Send, now: () => number) {
  const resource = { path, what: 'a review', shape: review, params: reviewPatchParams };
  const api = {
    ...operationsById(send, resource),
    ...operationsByCode(send, { ...resource, params: patchByCodeParams }),

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
     * @throws MalformedResponseError where the body is not a list.
     */
    async page(params: ReviewListAllParams, page: number, options: CallOptions = {}): Promise<RawReviewPage> {
      return send({ method: 'GET', path, params: listQuery(params, page), ...options }, (response) => ({
        rawBody: response.bytes,
        items: readShape(anyList, parseAnyJson(response), 'a list'),
        lastPage: lastPage(response.headers.link),
        requestedAt: response.requestedAt,
      }));
    },

    /** As `get`, but only the id is checked, and the response body is returned unchanged. @throws NotFoundError */
    async getRaw(id: number, options: CallOptions = {}): Promise<RawReview> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}`, ...options }, (response) => readRaw(response, id));
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
    async overview({ giveUpAfterMs }: CallOptions = {}): Promise<ReviewOverview> {
      return send({ method: 'GET', path: `${path}/overview`, giveUpAfterMs }, readOverview);
    },
  };
  return api;
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
  return { rawBody: withoutByteOrderMark(response.bytes), item, requestedAt: response.requestedAt };
}

/** An error with status 200 must not be read as a service without reviews: both fields are there, null or not. */
const overview = record({ first_review_created_at: nullable(text), last_review_created_at: nullable(text) });

function readOverview(response: HttpResponse): ReviewOverview {
  const { first_review_created_at, last_review_created_at } = readShape(overview, parseJson(response), 'the overview');
  const serviceMs = Date.parse(response.headers.date ?? '');
  const serviceNow = Number.isNaN(serviceMs) ? undefined : new Date(serviceMs);
  return { first_review_created_at, last_review_created_at, serviceNow };
}
