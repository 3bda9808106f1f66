import { openHttpClient } from './http/client.ts';
import type { ReviewApiOptions } from './http/options.ts';
import { categoriesApi } from './resources/categories-api.ts';
import { ordersApi } from './resources/orders-api.ts';
import { reviewsApi } from './resources/reviews-api.ts';
import { subOrdersApi } from './resources/sub-orders-api.ts';
import { userGradesApi } from './resources/user-grades-api.ts';

export type { CallOptions } from './http/call.ts';
export type { ClientLog, RequestFacts, ReviewApiOptions, ReviewApiStats, Wait } from './http/options.ts';
export { openRateLimit, type RateLimitOptions } from './http/rate-limit.ts';
export type { RetryLimits } from './http/retry-policy.ts';
export { holdText, type Session, type SessionStore } from './http/session.ts';
export type { MoneyAmount } from './http/shape.ts';
export type * from './resources/categories-api.ts';
export type * from './resources/orders-api.ts';
export { type Page, type Paging, sentAmount } from './resources/resource.ts';
export type * from './resources/review-shapes.ts';
export type * from './resources/reviews-api.ts';
export type * from './resources/sub-orders-api.ts';
export type * from './resources/user-grades-api.ts';
export * from './review-api-errors.ts';

/**
 * Every operation of the service. Besides its own errors, each may throw a `TypeError` before anything is sent (a
 * parameter that the service would misread), any `ReviewApiError`, or the reason why the client was closed or aborted.
 */
export type ReviewApi = ReturnType<typeof openReviewApi>;

/**
 * Opens a client of the review service. Nothing is sent before the first call.
 *
 * @throws TypeError for an invalid base address, empty credentials, or a concurrency below 1.
 * @example await using api = openReviewApi({ baseUrl: 'https://reviews.example.com', clientId, clientSecret });
 */
export function openReviewApi(options: ReviewApiOptions) {
  const { send, authenticate, stats, close } = openHttpClient(options);
  return {
    orders: ordersApi(send, options.onRecords),
    subOrders: subOrdersApi(send),
    categories: categoriesApi(send),
    userGrades: userGradesApi(send),
    reviews: reviewsApi(send, options.onRecords),
    /**
     * Requests a token if the client has no token, so that wrong credentials show early. Other calls do this themselves.
     *
     * @throws AuthenticationError if the service does not accept client id and secret.
     */
    authenticate,
    stats,
    /** Ends waits and retries, lets requests in flight finish, then closes the connections. */
    close,
    [Symbol.asyncDispose]: close,
  };
}
