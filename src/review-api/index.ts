import { setMaxListeners } from 'node:events';
import { Pool } from 'undici';
import { type Categories, categories } from './categories.ts';
import { requireId } from './check.ts';
import { defaultTimeouts, type Timeouts } from './exchange.ts';
import { openGate, type Wait } from './gate.ts';
import { type ClientLog, silentLog } from './log.ts';
import { type Orders, orders } from './orders.ts';
import { defaultRetryLimits, type RetryLimits } from './retry-policy.ts';
import { type Reviews, reviews } from './reviews.ts';
import { type SubOrders, subOrders } from './sub-orders.ts';
import { openTransport } from './transport.ts';
import { type UserGrades, userGrades } from './user-grades.ts';
import { type ExchangeFacts, openWire } from './wire.ts';

export type {
  Category,
  CategoryBody,
  CategoryListAllParams,
  CategoryListParams,
  CategoryPatch,
} from './categories.ts';
export {
  AuthenticationError,
  LimitedError,
  MalformedAnswerError,
  NotFoundError,
  PageLimitError,
  RefusedError,
  ReviewApiError,
  UnavailableError,
  UnknownOutcomeError,
} from './errors.ts';
export type { Timeouts } from './exchange.ts';
export type { Wait } from './gate.ts';
export type { ClientLog } from './log.ts';
export type { MoneyAmount, OrderDetail, OrderListItem, SubOrder } from './order-shapes.ts';
export type { OrderBody, OrderListAllParams, OrderListParams, OrderPatch } from './orders.ts';
export type { Page } from './pages.ts';
export { openRateLimit, type RateLimitOptions } from './rate-limit.ts';
export type { RetryLimits } from './retry-policy.ts';
export type { ReviewFilters, ReviewListAllParams, ReviewListParams, ReviewPeriod } from './review-list.ts';
export type { ReviewBody, ReviewOptionInput, ReviewPatch, ReviewPatchByCode } from './review-params.ts';
export type {
  Review,
  ReviewImage,
  ReviewOption,
  ReviewOptionDefault,
  ReviewOptionV2,
  ReviewVideo,
} from './review-shapes.ts';
export type { RawReview, RawReviewPage, ReviewOverview } from './reviews.ts';
export type { SubOrderBody, SubOrderPatch } from './sub-orders.ts';
export type {
  UserGrade,
  UserGradeBody,
  UserGradeListAllParams,
  UserGradeListParams,
  UserGradePatch,
} from './user-grades.ts';
export type { ExchangeFacts } from './wire.ts';

export type ReviewApiOptions = {
  /** May carry a path prefix; a trailing slash is tolerated. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Requests in flight; default 8. */
  concurrency?: number | undefined;
  /** Called before each request: the requests per second shared by all workers, see `openRateLimit`. */
  acquire?: ((signal?: AbortSignal) => Promise<void>) | undefined;
  /** Default: silent. */
  log?: ClientLog | undefined;
  /** Milliseconds; default 10 s to connect, 60 s for the head of an answer, 60 s for its body. */
  timeouts?: Partial<Timeouts> | undefined;
  /** Default: about two minutes of waiting for one request, then an error. */
  retry?: Partial<RetryLimits> | undefined;
  /** Told each time something waits (promise 8). `untilMs` is milliseconds since 1970. */
  onWait?: ((wait: Wait) => void) | undefined;
  /** Told of each request, repeats included: for metrics. */
  onExchange?: ((exchange: ExchangeFacts) => void) | undefined;
  /** Ends everything, requests in flight too. */
  signal?: AbortSignal | undefined;
  /** The wall clock, in milliseconds since 1970. */
  now?: (() => number) | undefined;
};

/** Counts since the client was opened. `waitedMs` adds up over requests that waited side by side. */
export type ReviewApiStats = { requests: number; retries: number; waits: number; waitedMs: number };

/**
 * Every operation of the service. Any of them, beyond what its own description says, may throw a TypeError before
 * anything is sent (an input that the service would read otherwise), a `ReviewApiError` (see errors.ts), or the reason
 * for which the client was closed or aborted.
 */
export type ReviewApi = AsyncDisposable & {
  orders: Orders;
  subOrders: SubOrders;
  categories: Categories;
  userGrades: UserGrades;
  reviews: Reviews;
  /**
   * Obtains a token where none is held (spec, 'Authentication'); other calls do so by themselves.
   *
   * @throws AuthenticationError where client id and secret are not accepted.
   */
  authenticate(): Promise<void>;
  stats(): ReviewApiStats;
  /** Ends waits and repeats, lets requests in flight finish, closes the connections. */
  close(): Promise<void>;
};

/**
 * Opens the only speaker to the review service. Nothing is sent before the first call.
 *
 * @throws TypeError for a base address that is none, credentials that are empty, or a concurrency below 1.
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
  const pool = new Pool(base.origin, {
    connections: concurrency,
    connect: { timeout: timeouts.connectMs },
    pipelining: 1,
    allowH2: false,
  });

  const tellWait = (wait: Wait) => {
    stats.waits += 1;
    options.onWait?.(wait);
  };
  const gate = openGate({
    now,
    onHold(wait) {
      log.warn({ until: new Date(wait.untilMs) }, wait.reason);
      tellWait(wait);
    },
  });
  const wire = openWire({
    ...{ pool, gate, timeouts, now, stopped, aborted, pathPrefix: base.pathname, log },
    acquire: options.acquire ?? (async () => {}),
    onExchange: options.onExchange,
    onRequest: () => {
      stats.requests += 1;
    },
  });
  const { send, tokens } = openTransport({
    ...{ wire, gate, now, stopped, limits: { ...defaultRetryLimits, ...options.retry } },
    ...{ concurrency, clientId: options.clientId, clientSecret: options.clientSecret },
    onRetry(wait, delayMs) {
      stats.retries += 1;
      stats.waitedMs += delayMs;
      log.info({ until: new Date(wait.untilMs) }, `waiting to repeat ${wait.reason}`);
      tellWait(wait);
    },
  });

  let closed: Promise<void> | undefined;
  const close = () => {
    closing.abort(new Error('the client of the review service was closed'));
    closed ??= pool.close();
    return closed;
  };
  return {
    orders: orders(send),
    subOrders: subOrders(send),
    categories: categories(send),
    userGrades: userGrades(send),
    reviews: reviews(send, now),
    async authenticate() {
      await tokens.take();
    },
    stats: () => ({ ...stats }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A secret is not quoted, however wrong it is. */
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
