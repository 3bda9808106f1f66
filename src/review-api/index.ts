import { setMaxListeners } from 'node:events';
import { Pool } from 'undici';
import type { Logger } from '../log.ts';
import { type Categories, categories } from './categories.ts';
import { defaultTimeouts, type Timeouts } from './exchange.ts';
import { openGate, type Wait } from './gate.ts';
import { type Orders, orders } from './orders.ts';
import { defaultRetryLimits, type RetryLimits } from './retry-policy.ts';
import { type Reviews, reviews } from './reviews.ts';
import { type SubOrders, subOrders } from './sub-orders.ts';
import { openTransport } from './transport.ts';
import { type UserGrades, userGrades } from './user-grades.ts';
import { openWire } from './wire.ts';

export type { Category, CategoryBody, CategoryPatch } from './categories.ts';
export {
  AuthenticationError,
  LimitedError,
  MalformedAnswerError,
  NotFoundError,
  RefusedError,
  ReviewApiError,
  UnavailableError,
  UnknownOutcomeError,
} from './errors.ts';
export type { Timeouts } from './exchange.ts';
export type { Wait } from './gate.ts';
export type { MoneyAmount, OrderDetail, OrderListItem, SubOrder } from './order-shapes.ts';
export type { OrderBody, OrderListParams, OrderPatch } from './orders.ts';
export type { Page } from './pages.ts';
export { openRateLimit, type RateLimitOptions } from './rate-limit.ts';
export type { RetryLimits } from './retry-policy.ts';
export type { ReviewBody, ReviewFields, ReviewOptionInput, ReviewPageParams } from './review-params.ts';
export type { ReviewAnswer, ReviewOverview, ReviewPage } from './reviews.ts';
export type { SubOrderBody, SubOrderPatch } from './sub-orders.ts';
export type { UserGrade, UserGradeBody } from './user-grades.ts';

export type ReviewApiOptions = {
  /** May carry a path prefix; a trailing slash is tolerated. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Requests in flight. */
  concurrency: number;
  /** Called before each request: the requests per second shared by all workers, see `openRateLimit`. */
  acquire?: ((signal?: AbortSignal) => Promise<void>) | undefined;
  log: Logger;
  /** Milliseconds; default 10 s to connect, 60 s for the head of an answer, 60 s for its body. */
  timeouts?: Partial<Timeouts> | undefined;
  /** Default: about two minutes of waiting for one request, then an error. */
  retry?: Partial<RetryLimits> | undefined;
  /** Told each time something waits (promise 8). `untilMs` is milliseconds since 1970. */
  onWait?: ((wait: Wait) => void) | undefined;
  /** Ends everything, requests in flight too. */
  signal?: AbortSignal | undefined;
  /** The wall clock, in milliseconds since 1970. */
  now?: (() => number) | undefined;
};

/** Counts since the client was opened. `waitedMs` adds up over requests that waited side by side. */
export type ReviewApiStats = { requests: number; retries: number; waits: number; waitedMs: number };

export type ReviewApi = {
  orders: Orders;
  subOrders: SubOrders;
  categories: Categories;
  userGrades: UserGrades;
  reviews: Reviews;
  stats(): ReviewApiStats;
  /** Ends waits and repeats, lets requests in flight finish, closes the connections. */
  close(): Promise<void>;
};

/** Opens the only speaker to the review service. Nothing is sent before the first call. */
export function openReviewApi(options: ReviewApiOptions): ReviewApi {
  const base = baseOf(options.baseUrl);
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const now = options.now ?? Date.now;
  const closing = new AbortController();
  const aborted = options.signal ?? new AbortController().signal;
  const stopped = AbortSignal.any([aborted, closing.signal]);
  setMaxListeners(0, aborted, stopped);
  const stats: ReviewApiStats = { requests: 0, retries: 0, waits: 0, waitedMs: 0 };
  const pool = new Pool(base.origin, {
    connections: options.concurrency,
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
      options.log.warn({ until: new Date(wait.untilMs) }, wait.reason);
      tellWait(wait);
    },
  });
  const wire = openWire({
    ...{ pool, gate, timeouts, now, stopped, aborted, pathPrefix: base.pathname, log: options.log },
    acquire: options.acquire ?? (async () => {}),
    onRequest: () => {
      stats.requests += 1;
    },
  });
  const send = openTransport({
    ...{ wire, gate, now, stopped, limits: { ...defaultRetryLimits, ...options.retry } },
    ...{ concurrency: options.concurrency, clientId: options.clientId, clientSecret: options.clientSecret },
    onRetry(wait, delayMs) {
      stats.retries += 1;
      stats.waitedMs += delayMs;
      options.log.info({ until: new Date(wait.untilMs) }, `waiting to repeat ${wait.reason}`);
      tellWait(wait);
    },
  });

  let closed: Promise<void> | undefined;
  return {
    orders: orders(send),
    subOrders: subOrders(send),
    categories: categories(send),
    userGrades: userGrades(send),
    reviews: reviews(send),
    stats: () => ({ ...stats }),
    close() {
      closing.abort(new Error('the client of the review service was closed'));
      closed ??= pool.close();
      return closed;
    },
  };
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
