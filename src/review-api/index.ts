import { setMaxListeners } from 'node:events';
import type { Pool } from 'undici';
import { type ClientLog, openAttempt, type RequestFacts, silentLog } from './http/attempt.ts';
import { openGate, type Wait } from './http/gate.ts';
import { defaultRetryLimits, type RetryLimits } from './http/retry-policy.ts';
import { defaultMaxBodyBytes, defaultTimeouts, type Timeouts } from './http/send-request.ts';
import { openTransport } from './http/transport.ts';
import { type Categories, categoriesApi } from './resources/categories-api.ts';
import { requireId } from './resources/check.ts';
import { type Orders, ordersApi } from './resources/orders-api.ts';
import { type Reviews, reviewsApi } from './resources/reviews-api.ts';
import { type SubOrders, subOrdersApi } from './resources/sub-orders-api.ts';
import { type UserGrades, userGradesApi } from './resources/user-grades-api.ts';

export type { ClientLog, RequestFacts } from './http/attempt.ts';
export type { CallOptions } from './http/call.ts';
export type { Wait } from './http/gate.ts';
export { openRateLimit, type RateLimitOptions } from './http/rate-limit.ts';
export type { RetryLimits } from './http/retry-policy.ts';
export type { Timeouts } from './http/send-request.ts';
export type {
  Category,
  CategoryBody,
  CategoryListAllParams,
  CategoryListParams,
  CategoryPatch,
} from './resources/categories-api.ts';
export { sentAmount } from './resources/check.ts';
export type { MoneyAmount, OrderDetail, OrderListItem, SubOrder } from './resources/order-shapes.ts';
export type { OrderBody, OrderListAllParams, OrderListParams, OrderPatch } from './resources/orders-api.ts';
export type { Page } from './resources/pages.ts';
export type { ReviewFilters, ReviewListAllParams, ReviewListParams, ReviewPeriod } from './resources/review-list.ts';
export type { ReviewBody, ReviewOptionInput, ReviewPatch, ReviewPatchByCode } from './resources/review-params.ts';
export type {
  Review,
  ReviewImage,
  ReviewOption,
  ReviewOptionDefault,
  ReviewOptionV2,
  ReviewVideo,
} from './resources/review-shapes.ts';
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

/** Counts since the client was opened. `waitedMs` is a sum over all requests, so it may exceed the time that passed. */
export type ReviewApiStats = { requests: number; retries: number; waits: number; waitedMs: number };

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
  const base = baseOf(options.baseUrl);
  const { log = silentLog, concurrency = 8 } = options;
  for (const name of ['clientId', 'clientSecret'] as const) requireGiven(options[name], name);
  requireId(concurrency, 'concurrency');
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const now = options.now ?? Date.now;
  const closing = new AbortController();
  const aborted = options.signal ?? new AbortController().signal;
  const stopped = AbortSignal.any([aborted, closing.signal]);
  setMaxListeners(0, aborted, stopped);
  const stats: ReviewApiStats = { requests: 0, retries: 0, waits: 0, waitedMs: 0 };
  let opened: Promise<Pool> | undefined;
  const pool = () => {
    opened ??= openPool(base.origin, concurrency, timeouts, options.maxBodyBytes ?? defaultMaxBodyBytes);
    return opened;
  };

  const reportWait = (wait: Wait) => {
    stats.waits += 1;
    options.onWait?.(wait);
  };
  const gate = openGate({
    now,
    onPause(wait) {
      log.warn({ until: new Date(wait.untilMs) }, wait.reason);
      reportWait(wait);
    },
  });
  const attempt = openAttempt({
    pool,
    pathPrefix: base.pathname,
    gate,
    acquire: options.acquire ?? (async () => {}),
    timeouts,
    log,
    now,
    stopped,
    aborted,
    onRequestStart: () => {
      stats.requests += 1;
    },
    onRequestEnd: options.onRequestEnd,
  });
  const { send, tokens } = openTransport({
    attempt,
    gate,
    concurrency,
    clientId: options.clientId,
    clientSecret: options.clientSecret,
    limits: { ...defaultRetryLimits, ...options.retry },
    now,
    stopped,
    onRetry(wait, delayMs) {
      stats.retries += 1;
      stats.waitedMs += delayMs;
      log.info({ until: new Date(wait.untilMs) }, `waiting to retry ${wait.reason}`);
      reportWait(wait);
    },
  });

  let closed: Promise<void> | undefined;
  const close = () => {
    closing.abort(new Error('the client of the review service was closed'));
    closed ??= opened?.then((pool) => pool.close()) ?? Promise.resolve();
    return closed;
  };
  return {
    orders: ordersApi(send),
    subOrders: subOrdersApi(send),
    categories: categoriesApi(send),
    userGrades: userGradesApi(send),
    reviews: reviewsApi(send, now),
    async authenticate() {
      await tokens.take();
    },
    stats: () => ({ ...stats }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Loads undici with the first request: commands that send none, such as `status`, start without its 109 modules. */
async function openPool(origin: string, connections: number, timeouts: Timeouts, maxBodyBytes: number): Promise<Pool> {
  const { Pool } = await import('undici');
  return new Pool(origin, {
    connections,
    connect: { timeout: timeouts.connectMs },
    pipelining: 1,
    maxResponseSize: maxBodyBytes,
    allowH2: false,
  });
}

/** The message does not quote the value: it may be a secret. */
function requireGiven(value: string, name: string): void {
  if (typeof value !== 'string' || value === '') throw new TypeError(`expected a ${name} that is not empty`);
}

/** Origin and path prefix of the base address, the prefix without a trailing slash. */
function baseOf(baseUrl: string): { origin: string; pathname: string } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError(
      'expected the base address as http(s)://host[:port][/prefix], without user, query and fragment',
    );
  }
  return { origin: url.origin, pathname: url.pathname.replace(/\/+$/, '') };
}
