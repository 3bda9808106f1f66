import { allReviews } from './all-reviews.ts';
import {
  asArray,
  asInteger,
  asObject,
  asTextOrNull,
  type JsonObject,
  nothing,
  parseJson,
  requireSameCode,
  ShapeError,
  textOf,
} from './answer.ts';
import type { Answer, Send } from './call.ts';
import { requireCode, requireId } from './check.ts';
import { lastPage } from './link-header.ts';
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
import { type ListScan, scanList } from './scan-list.ts';

const path = '/v1/reviews';

/** One page as it came. `rawBody` is its JSON in UTF-8, for the warehouse; the items are not checked. */
export type RawReviewPage = {
  rawBody: Buffer;
  items: unknown[];
  /** Whether all records are as the scan calls plain; false without one. */
  isPlain: boolean;
  lastPage: number | undefined;
  requestedAt: Date;
};

/** One review as it came; `item` has the id that was asked for, its other fields are not checked. */
export type RawReview = { rawBody: string; item: JsonObject & { id: number }; requestedAt: Date };

/**
 * The range of stored reviews, ISO 8601 with offset, null while there is none (spec, 'Review overview'). `serviceNow`
 * is the service's clock, to the second, where its answer told it.
 */
export type ReviewOverview = {
  first_review_created_at: string | null;
  last_review_created_at: string | null;
  serviceNow: Date | undefined;
};

export type Reviews = ReturnType<typeof reviews>;

/** Reviews (spec, 'Reviews'). `now`: the wall clock, in milliseconds since 1970. */
export function reviews(send: Send, now: () => number) {
  const api = {
    /**
     * One page of the reviews of a period (spec, 'List reviews').
     *
     * @throws TypeError before anything is sent: a period over 45 days or of two kinds, a page over 30, an empty filter.
     * @throws MalformedAnswerError for a review without id, or with a field of another type than the spec's.
     */
    async list(params: ReviewListParams = {}): Promise<Page<Review>> {
      requirePeriod(params, now());
      return send({ method: 'GET', path, params: listQuery(params, params.page ?? 1) }, readPage(asReview));
    },

    /**
     * All pages of the reviews of a period, one request each, in the order of their date (spec, 'List reviews'). What is
     * added or deleted while they are read can shift a review from one page to another: `id` tells what came twice.
     *
     * @throws TypeError and MalformedAnswerError as `list` does.
     * @throws PageLimitError after page 30, where more reviews lie behind it: narrow the period.
     */
    listAll(params: ReviewListAllParams = {}): AsyncGenerator<Page<Review>, void, undefined> {
      return allReviews(path, params, api.list);
    },

    /**
     * One page, unchecked and as fast as can be, for an export that bears any field of any type. The period's length is
     * left to the caller, who knows the zone that it is in. With `scan`, items that are objects may have its fields alone,
     * which spares the parsing of all others.
     *
     * @throws TypeError as `list` does, but for the length of the period.
     * @throws MalformedAnswerError where the answer is no list.
     */
    async page(params: ReviewListAllParams, page: number, scan?: ListScan): Promise<RawReviewPage> {
      return send({ method: 'GET', path, params: listQuery(params, page) }, (answer) => ({
        rawBody: answer.bytes,
        ...((scan && scanList(answer.bytes, scan)) ?? {
          items: asArray(parseJson(answer), 'a list'),
          isPlain: false,
        }),
        lastPage: lastPage(answer.headers.link),
        requestedAt: answer.requestedAt,
      }));
    },

    /**
     * A review by the service's id (spec, 'Get a review').
     *
     * @throws NotFoundError
     * @throws MalformedAnswerError for another review, or a field of another type than the spec's.
     */
    async get(id: number): Promise<Review> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, (answer) => {
        readRaw(answer, id);
        return readReview(answer);
      });
    },

    /** As `get`, with no field checked but the id, and with the JSON as it came. @throws NotFoundError */
    async getRaw(id: number): Promise<RawReview> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, (answer) => readRaw(answer, id));
    },

    /** A review by the shop's code (spec, 'Get a review'). @throws as `get` does. */
    async getByCode(code: string): Promise<Review> {
      return send({ method: 'GET', path, params: { code: requireCode(code) } }, (answer) => {
        requireSameCode(asObject(parseJson(answer), 'a review').code, code);
        return readReview(answer);
      });
    },

    /**
     * With a code: creates the review or updates the one with this code, so that sending it twice does no harm. Without:
     * adds anew each time, so it is never repeated blindly (spec, 'Create or update a review').
     *
     * @throws UnknownOutcomeError, without a code only, when the answer is lost.
     */
    async upsert(body: ReviewBody): Promise<Review> {
      if (body.code !== undefined) requireCode(body.code);
      return send(
        { method: 'POST', path, params: reviewParams(body), repeatable: body.code !== undefined },
        readReview,
      );
    },

    /** Changes the fields given (spec, 'Update by id'). @throws NotFoundError */
    async update(id: number, patch: ReviewPatch): Promise<void> {
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: reviewPatchParams(patch) }, nothing);
    },

    /** Changes the fields given of the review with this code (spec, 'Update by code'). @throws NotFoundError */
    async updateByCode(code: string, patch: ReviewPatchByCode): Promise<void> {
      const fields = reviewPatchParams(patch);
      if (fields.score === null)
        throw new TypeError('expected a score from 1 to 5: only an update by id takes it away');
      return send({ method: 'PATCH', path, params: { ...fields, code: requireCode(code) } }, nothing);
    },

    /** As `update`, by PUT: the fields stand in the address, so it must be short (spec, 'Update by PUT'). */
    async put(id: number, patch: ReviewPatch): Promise<void> {
      return send({ method: 'PUT', path: `${path}/${requireId(id)}`, params: reviewPatchParams(patch) }, nothing);
    },

    /**
     * Permanent; one that is gone already is success (spec, 'Delete').
     *
     * @throws RefusedError where a partner's API user did not create it itself (spec, 'Authentication', 4).
     */
    async remove(id: number): Promise<void> {
      return send({ method: 'DELETE', path: `${path}/${requireId(id)}`, absentIsFine: true }, nothing);
    },

    /** As `remove`. */
    async removeByCode(code: string): Promise<void> {
      return send({ method: 'DELETE', path, params: { code: requireCode(code) }, absentIsFine: true }, nothing);
    },

    /** From when to when there are reviews (spec, 'Overview'). */
    async overview(): Promise<ReviewOverview> {
      return send({ method: 'GET', path: `${path}/overview` }, readOverview);
    },
  };
  return api;
}

const readReview = (answer: Answer) => asReview(parseJson(answer));

function readRaw(answer: Answer, id: number): RawReview {
  const item = asObject(parseJson(answer), 'a review');
  const theirs = asInteger(item.id, 'id');
  if (theirs !== id) throw new ShapeError(`got another review (${theirs})`);
  return { rawBody: textOf(answer.bytes), item: { ...item, id }, requestedAt: answer.requestedAt };
}

function readOverview(answer: Answer): ReviewOverview {
  const bounds = asObject(parseJson(answer), 'the overview');
  const bound = (name: 'first_review_created_at' | 'last_review_created_at') => {
    // An error in a wrapper of 200 must not pass for a service without reviews.
    if (!(name in bounds)) throw new ShapeError(`expected ${name} in the overview, found none`);
    return asTextOrNull(bounds[name], name);
  };
  const serviceMs = Date.parse(answer.headers.date ?? '');
  return {
    first_review_created_at: bound('first_review_created_at'),
    last_review_created_at: bound('last_review_created_at'),
    serviceNow: Number.isNaN(serviceMs) ? undefined : new Date(serviceMs),
  };
}
