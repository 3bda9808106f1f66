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
} from './answer.ts';
import type { Answer, Call, Send } from './call.ts';
import { requireCode, requireId } from './check.ts';
import { lastPage } from './link-header.ts';
import {
  listParams,
  type ReviewBody,
  type ReviewFields,
  type ReviewPageParams,
  reviewParams,
} from './review-params.ts';

const path = '/v1/reviews';

/** One page as it came. `rawBody` is the JSON text of `items`, for the warehouse; the items are not checked. */
export type ReviewPage = { rawBody: string; items: unknown[]; lastPage: number | undefined; requestedAt: Date };

/** One review as it came; `item` has an integer id, its other fields are not checked. */
export type ReviewAnswer = { rawBody: string; item: JsonObject & { id: number }; requestedAt: Date };

/** The range of stored reviews, ISO 8601. `serviceNow` is the service's clock, to the second, where it told it. */
export type ReviewOverview = {
  firstReviewCreatedAt: string | null;
  lastReviewCreatedAt: string | null;
  serviceNow: Date | undefined;
};

export type Reviews = ReturnType<typeof reviews>;

export function reviews(send: Send) {
  return {
    async page(params: ReviewPageParams, page: number): Promise<ReviewPage> {
      return send({ method: 'GET', path, params: listParams(params, page) }, (answer) => ({
        rawBody: answer.text,
        items: asArray(parseJson(answer), 'a list'),
        lastPage: lastPage(answer.headers.link),
        requestedAt: answer.requestedAt,
      }));
    },

    async get(id: number): Promise<ReviewAnswer> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, (answer) => {
        const found = readReview(answer);
        if (found.item.id !== id) throw new ShapeError(`got another review (${found.item.id})`);
        return found;
      });
    },

    async getByCode(code: string): Promise<ReviewAnswer> {
      return send({ method: 'GET', path, params: { code: requireCode(code) } }, (answer) => {
        const found = readReview(answer);
        requireSameCode(found.item.code, code);
        return found;
      });
    },

    /** With a code: creates the review or updates the one with this code. Without: adds anew, so it is not repeated. */
    async upsert(body: ReviewBody): Promise<ReviewAnswer> {
      if (body.code !== undefined) requireCode(body.code);
      return send(
        { method: 'POST', path, params: reviewParams(body), repeatable: body.code !== undefined },
        readReview,
      );
    },

    async update(id: number, fields: ReviewFields): Promise<void> {
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: reviewParams(fields) }, nothing);
    },

    async updateByCode(
      code: string,
      fields: Omit<ReviewFields, 'score' | 'product_options'> & { score?: number },
    ): Promise<void> {
      return send({ method: 'PATCH', path, params: { ...reviewParams(fields), code: requireCode(code) } }, nothing);
    },

    /** Permanent; only for reviews that this API user created (spec, 'Authentication', 4). */
    async remove(id: number): Promise<void> {
      return send({ method: 'DELETE', path: `${path}/${requireId(id)}`, absentIsFine: true }, nothing);
    },

    /** As `remove`. */
    async removeByCode(code: string): Promise<void> {
      return send({ method: 'DELETE', path, params: { code: requireCode(code) }, absentIsFine: true }, nothing);
    },

    async overview(): Promise<ReviewOverview> {
      const call: Call = { method: 'GET', path: `${path}/overview` };
      return send(call, (answer) => {
        const bounds = asObject(parseJson(answer), 'the overview');
        const serviceMs = Date.parse(answer.headers.date ?? '');
        return {
          firstReviewCreatedAt: asTextOrNull(bounds.first_review_created_at, 'first_review_created_at'),
          lastReviewCreatedAt: asTextOrNull(bounds.last_review_created_at, 'last_review_created_at'),
          serviceNow: Number.isNaN(serviceMs) ? undefined : new Date(serviceMs),
        };
      });
    },
  };
}

function readReview(answer: Answer): ReviewAnswer {
  const item = asObject(parseJson(answer), 'a review');
  return {
    rawBody: answer.text,
    item: { ...item, id: asInteger(item.id, 'id') },
    requestedAt: answer.requestedAt,
  };
}
