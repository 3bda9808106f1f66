import type { CallOptions, HttpResponse, Send } from '../http/call.ts';
import { lastPage } from '../http/link-header.ts';
import {
  asArray,
  asInteger,
  asObject,
  asTextOrNull,
  ignoreBody,
  type JsonObject,
  parseAnyJson,
  parseJson,
  requireSameCode,
  ShapeError,
  withoutByteOrderMark,
  withSameId,
} from '../http/response-body.ts';
import { allReviews } from './all-reviews.ts';
import { requireCode, requireId } from './check.ts';
import { type Page, readPage } from './pages.ts';
import { listQuery, type ReviewListAllParams, type ReviewListParams, requirePeriod } from './review-list.ts';
import {
  type ReviewBody,
  type ReviewPatch,
  type ReviewPatchByCode,
  reviewParams,
  reviewPatchParams,
} from './review-params.ts';
import { asReview, type Review } from './review-shapes.ts';

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
  const api = {
    /**
     * One page of the reviews of a period.
     *
     * @throws TypeError before anything is sent: a period over 45 days or of two kinds, a page over 30, an empty
     *   filter.
     * @throws MalformedResponseError for a review without id, or with a field of another type than the spec's.
     */
    async list(params: ReviewListParams = {}): Promise<Page<Review>> {
      requirePeriod(params, now());
      return send({ method: 'GET', path, params: listQuery(params, params.page ?? 1) }, readPage(asReview));
    },

    /**
     * All pages of the reviews of a period, one request each, in the order of their date. A review that is added or
     * deleted meanwhile shifts others between pages: the same `id` may come twice.
     *
     * @throws TypeError and MalformedResponseError as `list` does.
     * @throws PageLimitError after page 30, where more reviews may follow: narrow the period.
     * @example for await (const { items } of api.reviews.listAll({ start_date: '2026-01-01', end_date: '2026-01-31' }))
     * {
     *   for (const review of items) console.log(review.id, review.score);
     * }
     */
    listAll(params: ReviewListAllParams = {}): AsyncGenerator<Page<Review>, void, undefined> {
      return allReviews(path, params, api.list);
    },

    /**
     * One page with unchecked items, for an export that accepts fields of any type. The caller checks the length of the
     * period, because the caller knows the time zone.
     *
     * @throws TypeError as `list` does, but for the length of the period.
     * @throws MalformedResponseError where the body is not a list.
     */
    async page(params: ReviewListAllParams, page: number, { giveUpAfterMs }: CallOptions = {}): Promise<RawReviewPage> {
      return send({ method: 'GET', path, params: listQuery(params, page), giveUpAfterMs }, (response) => ({
        rawBody: response.bytes,
        items: asArray(parseAnyJson(response), 'a list'),
        lastPage: lastPage(response.headers.link),
        requestedAt: response.requestedAt,
      }));
    },

    /**
     * A review by the service's id.
     *
     * @throws NotFoundError
     * @throws MalformedResponseError for another review, or a field of another type than the spec's.
     */
    async get(id: number): Promise<Review> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, (response) => {
        readRaw(response, id);
        return readReview(response);
      });
    },

    /** As `get`, but only the id is checked, and the response body is returned unchanged. @throws NotFoundError */
    async getRaw(id: number, { giveUpAfterMs }: CallOptions = {}): Promise<RawReview> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}`, giveUpAfterMs }, (response) =>
        readRaw(response, id),
      );
    },

    /** A review by the shop's code. @throws as `get` does. */
    async getByCode(code: string): Promise<Review> {
      return send({ method: 'GET', path, params: { code: requireCode(code) } }, (response) => {
        requireSameCode(asObject(parseJson(response), 'a review').code, code);
        return readReview(response);
      });
    },

    /**
     * Creates a review, or updates the review with this code. With a code it is safe to repeat. Without a code each
     * request adds a review, so the client never repeats it after a lost response.
     *
     * @throws UnknownOutcomeError when the response is lost; without a code only.
     */
    async upsert(body: ReviewBody): Promise<Review> {
      if (body.code !== undefined) requireCode(body.code);
      return send(
        { method: 'POST', path, params: reviewParams(body), repeatable: body.code !== undefined },
        readReview,
      );
    },

    /** Changes these fields. @throws NotFoundError */
    async update(id: number, patch: ReviewPatch): Promise<void> {
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: reviewPatchParams(patch) }, ignoreBody);
    },

    /** Changes these fields of the review with this code. @throws NotFoundError */
    async updateByCode(code: string, patch: ReviewPatchByCode): Promise<void> {
      const fields = reviewPatchParams(patch);
      if (fields.score === null)
        throw new TypeError('expected a score from 1 to 5: only an update by id can remove it');
      return send({ method: 'PATCH', path, params: { ...fields, code: requireCode(code) } }, ignoreBody);
    },

    /** As `update`, by PUT. The fields are part of the address, so they must be short. */
    async put(id: number, patch: ReviewPatch): Promise<void> {
      return send({ method: 'PUT', path: `${path}/${requireId(id)}`, params: reviewPatchParams(patch) }, ignoreBody);
    },

    /**
     * Deletes the review for good. A review that does not exist is a success.
     *
     * @throws RefusedError where a partner's API user did not create it itself.
     */
    async remove(id: number): Promise<void> {
      return send({ method: 'DELETE', path: `${path}/${requireId(id)}`, notFoundIsSuccess: true }, ignoreBody);
    },

    /** As `remove`. */
    async removeByCode(code: string): Promise<void> {
      return send({ method: 'DELETE', path, params: { code: requireCode(code) }, notFoundIsSuccess: true }, ignoreBody);
    },

    /** The dates of the first and the last review. */
    async overview(): Promise<ReviewOverview> {
      return send({ method: 'GET', path: `${path}/overview` }, readOverview);
    },
  };
  return api;
}

const readReview = (response: HttpResponse) => asReview(parseJson(response));

function readRaw(response: HttpResponse, id: number): RawReview {
  const item = asObject(parseAnyJson(response), 'a review');
  const checked = withSameId({ ...item, id: asInteger(item.id, 'id') }, id);
  return { rawBody: withoutByteOrderMark(response.bytes), item: checked, requestedAt: response.requestedAt };
}

function readOverview(response: HttpResponse): ReviewOverview {
  const bounds = asObject(parseJson(response), 'the overview');
  const bound = (name: 'first_review_created_at' | 'last_review_created_at') => {
    // An error with status 200 must not be read as a service without reviews.
    if (!(name in bounds)) throw new ShapeError(`expected ${name} in the overview, found none`);
    return asTextOrNull(bounds[name], name);
  };
  const serviceMs = Date.parse(response.headers.date ?? '');
  return {
    first_review_created_at: bound('first_review_created_at'),
    last_review_created_at: bound('last_review_created_at'),
    serviceNow: Number.isNaN(serviceMs) ? undefined : new Date(serviceMs),
  };
}
