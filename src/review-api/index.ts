import { setMaxListeners } from 'node:events';
import {
  type ClientLog,
  openHttpClient,
  type RequestFacts,
  type ReviewApiStats,
  type Timeouts,
  type Wait,
} from './http/http-client.ts';
import { defaultRetryLimits, type RetryLimits } from './http/retry-policy.ts';
import { type Categories, categoriesApi } from './resources/categories-api.ts';
import { requireId } from './resources/check.ts';
import { type Orders, ordersApi } from './resources/orders-api.ts';
import { type Reviews, reviewsApi } from './resources/reviews-api.ts';
import { type SubOrders, subOrdersApi } from './resources/sub-orders-api.ts';
import { type UserGrades, userGradesApi } from './resources/user-grades-api.ts';

export type { CallOptions } from './http/call.ts';
export type { ClientLog, RequestFacts, ReviewApiStats, Timeouts, Wait } from './http/http-client.ts';
export { openRateLimit, type RateLimitOptions } from './http/rate-limit.ts';
export type { RetryLimits } from './http/retry-policy.ts';
export type { MoneyAmount } from './http/shape.ts';
export type {
  Category,
  CategoryBody,
  CategoryListAllParams,
  CategoryListParams,
  CategoryPatch,
} from './resources/categories-api.ts';
export { sentAmount } from './resources/check.ts';
export type { OrderDetail, OrderListItem, SubOrder } from './resources/order-shapes.ts';
export type { OrderBody, OrderListAllParams, OrderListParams, OrderPatch } from './resources/orders-api.ts';
export type { Page } from './resources/resource.ts';
export type { ReviewFilters, ReviewListAllParams, ReviewListParams, ReviewPeriod } from './resources/review-list.ts';
export type { ReviewBody, ReviewOptionInput, ReviewPatch, ReviewPatchByCode } from './resources/review-params.ts';
export type { Review, ReviewImage, ReviewOption, ReviewVideo } from './resources/review-shapes.ts';
export type { RawReview, RawReviewPage, ReviewOverview } from './resources/reviews-api.ts';
export type { SubOrderBody, SubOrderPatch } from './resources/sub-orders-api.ts';
export type {
  UserGrade,
  UserGradeBody,
  UserGradeListAllParams,
  UserGradeListParams,
  UserGradePatch,
} from './resources/user-grades-api.ts';
export {
  AuthenticationError,
  LimitedError,
  MalformedResponseError,
  NotFoundError,
  PageLimitError,
  RefusedError,
  ReviewApiError,
  UnavailableError,
  UnknownOutcomeError,
} from './review-api-errors.ts';

export type ReviewApiOptions = {
  /** `http(s)://host[:port][/prefix]`, with or without a trailing slash. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Requests in flight; default 8. */
  concurrency?: number | undefined;
  /**
   * Called before each request; resolves when the request may be sent. `openRateLimit` makes one. Default: no ceiling.
   */
  acquire?: ((signal?: AbortSignal) => Promise<void>) | undefined;
  /** Default: silent. */
  log?: ClientLog | undefined;
  /** Milliseconds; default 10 s to connect, 60 s for the head of a response, 60 s for its body. */
  timeouts?: Partial<Timeouts> | undefined;
  /** The largest body of a response, in bytes; default 64 MiB. A larger one is a `MalformedResponseError`. */
  maxBodyBytes?: number | undefined;
  /** Default: 14 attempts and about two minutes of waiting for one request, then an error. */
  retry?: Partial<RetryLimits> | undefined;
  /** Called for each wait, with its reason and its end in milliseconds since 1970. */
  onWait?: ((wait: Wait) => void) | undefined;
  /** Called after each request, retries included: for metrics. */
  onRequestEnd?: ((request: RequestFacts) => void) | undefined;
  /** Ends all calls, requests in flight included. */
  signal?: AbortSignal | undefined;
  /** The wall clock, in milliseconds since 1970. */
  now?: (() => number) | undefined;
};

/**
 * Every operation of the service. Besides the errors that its description names, any operation may throw a `TypeError`
 * before anything is sent (a parameter that the service would misread), another `ReviewApiError`, or the reason why the
 * client was closed or aborted.
 */
export type ReviewApi = AsyncDisposable & {
  orders: Orders;
  subOrders: SubOrders;
  categories: Categories;
  userGrades: UserGrades;
  reviews: Reviews;
  /**
   * Requests a token, unless there is one already (docs/interface.md, "Authentication"). Other calls do this
   * themselves; call it to find out early whether the credentials are right.
   *
   * @throws AuthenticationError where the service does not accept client id and secret.
   */
  authenticate(): Promise<void>;
  stats(): ReviewApiStats;
  /** Ends waits and retries, lets requests in flight finish, then closes the connections. */
  close(): Promise<void>;
};

/**
 * Opens a client of the review service. Nothing is sent before the first call.
 *
 * @throws TypeError for a base address that is not valid, empty credentials, or a concurrency below 1.
 * @example
 * await using api = openReviewApi({ baseUrl: 'https://reviews.example.com', clientId, clientSecret });
 * const { first_review_created_at } = await api.reviews.overview();
 */
export function openReviewApi(options: ReviewApiOptions): ReviewApi {
  const { origin, pathPrefix } = baseOf(options.baseUrl);
  const { clientId, clientSecret, concurrency = 8, now = Date.now } = options;
  requireGiven(clientId, 'clientId');
  requireGiven(clientSecret, 'clientSecret');
  requireId(concurrency, 'concurrency');
  const closing = new AbortController();
  const aborted = options.signal ?? new AbortController().signal;
  const stopped = AbortSignal.any([aborted, closing.signal]);
  setMaxListeners(0, aborted, stopped);
  const client = openHttpClient({
    origin,
    pathPrefix,
    clientId,
    clientSecret,
    concurrency,
    acquire: options.acquire,
    timeouts: { ...defaultTimeouts, ...options.timeouts },
    maxBodyBytes: options.maxBodyBytes ?? defaultMaxBodyBytes,
    limits: { ...defaultRetryLimits, ...options.retry },
    log: options.log,
    now,
    stopped,
    aborted,
    onWait: options.onWait,
    onRequestEnd: options.onRequestEnd,
  });
  const close = () => {
    closing.abort(new Error('the client of the review service was closed'));
    return client.close();
  };
  return {
    orders: ordersApi(client.send),
    subOrders: subOrdersApi(client.send),
    categories: categoriesApi(client.send),
    userGrades: userGradesApi(client.send),
    reviews: reviewsApi(client.send, now),
    authenticate: client.authenticate,
    stats: client.stats,
    close,
    [Symbol.asyncDispose]: close,
  };
}

const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 };

/** The largest body that is read, in bytes. A page of 100 reviews has about 140 kB. */
const defaultMaxBodyBytes = 64 * 1024 * 1024;

/** The message does not quote the value: it may be a secret. */
function requireGiven(value: string, name: string): void {
  if (typeof value !== 'string' || value === '') throw new TypeError(`expected a ${name} that is not empty`);
}

/** Origin and path prefix of the base address, the prefix without a trailing slash. */
function baseOf(baseUrl: string): { origin: string; pathPrefix: string } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError(
      'expected the base address as http(s)://host[:port][/prefix], without user, query and fragment',
    );
  }
  return { origin: url.origin, pathPrefix: url.pathname.replace(/\/+$/, '') };
}
