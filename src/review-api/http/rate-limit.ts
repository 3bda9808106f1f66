import pLimit from 'p-limit';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { sleep, withTimeout } from '../../base/timeout.ts';

/**
 * Where requests are counted. All processes with the same store share the ceiling. `postgres`: a pg pool, with an
 * existing table (key varchar(255) primary key, points integer not null default 0, expire bigint).
 */
export type RateLimitStore = { postgres: object; schema: string; table: string } | 'memory';

export type RateLimitOptions = {
  /** Of all processes that share the store. May be a fraction: 0.5 is one request in two seconds. */
  requestsPerSecond: number;
  store: RateLimitStore;
  /** Called when the store does not respond, or is of no use. Until it is, this process counts its own requests. */
  onStoreError?: ((error: unknown) => void) | undefined;
};

const storeTimeoutMs = 5_000;
/** Requests wait so long for a window that began by a clock ahead of ours. */
const clocksApartMs = 60_000;

/**
 * Opens a ceiling of requests per second. The returned function resolves when one more request may start; pass it to
 * `openReviewApi` as `acquire`.
 *
 * Requests of one process keep their order. They are spread over the window of the store, one slot after the other:
 * neither the start of a window nor the border between two windows sees a burst.
 *
 * @throws TypeError for a number that is not above 0.
 * @example
 * const acquire = openRateLimit({ requestsPerSecond: 20, store: 'memory' });
 * const api = openReviewApi({ baseUrl, clientId, clientSecret, acquire });
 */
export function openRateLimit(options: RateLimitOptions): (signal?: AbortSignal) => Promise<void> {
  const window = windowOf(options.requestsPerSecond);
  let limiters: ReturnType<typeof openLimiters> | undefined;
  const spacingMs = (window.duration * 1000) / window.points;
  const never = new AbortController().signal;
  const turn = pLimit(1);
  let nextAt = Number.NEGATIVE_INFINITY;

  return (signal = never) =>
    turn(async () => {
      for (;;) {
        signal.throwIfAborted();
        limiters ??= openLimiters(options.store, window);
        const { shared, local } = await limiters;
        const ticket = await takeTicket(shared, local, options.onStoreError);
        if (ticket.consumedPoints > window.points) {
          // A random delay, so that no caller is always the last of those that wait for the next window.
          const nextMs = ticket.msBeforeNext + Math.random() * spacingMs;
          await sleep(nextMs, signal);
          continue;
        }
        const now = performance.now();
        const sinceBorderMs = window.duration * 1000 - ticket.msBeforeNext;
        const slotAt = now + (ticket.consumedPoints - 1) * spacingMs - sinceBorderMs;
        // One slot makes up for a timer that fired late. A pause is not made up for: no burst follows it.
        nextAt = Math.max(nextAt, now - spacingMs) + spacingMs;
        const delayMs = Math.max(slotAt, nextAt) - now;
        if (delayMs >= 1) await sleep(delayMs, signal);
        return;
      }
    });
}

/** The library counts whole points in windows of whole seconds, so a fraction needs a longer window. */
function windowOf(requestsPerSecond: number): { points: number; duration: number; keyPrefix: string } {
  if (!Number.isFinite(requestsPerSecond) || requestsPerSecond <= 0) {
    throw new TypeError(`expected requestsPerSecond above 0, got ${requestsPerSecond}`);
  }
  const keyPrefix = 'review-api';
  if (Number.isInteger(requestsPerSecond)) return { points: requestsPerSecond, duration: 1, keyPrefix };
  if (requestsPerSecond >= 0.2) return { points: Math.floor(requestsPerSecond * 10), duration: 10, keyPrefix };
  return { points: 1, duration: Math.ceil(1 / requestsPerSecond), keyPrefix };
}

/** Loads the library with the first request: without a ceiling it is never needed. */
async function openLimiters(
  store: RateLimitStore,
  window: ReturnType<typeof windowOf>,
): Promise<{ shared: RateLimiterAbstract; local: RateLimiterAbstract }> {
  const { RateLimiterMemory, RateLimiterPostgres } = await import('rate-limiter-flexible');
  const local = new RateLimiterMemory(window);
  if (store === 'memory') return { shared: new RateLimiterMemory(window), local };
  const { postgres: storeClient, schema: schemaName, table: tableName } = store;
  // The limiter updates a single row, so nothing expires.
  const table = { schemaName, tableName, tableCreated: true, clearExpiredByTimeout: false };
  return { shared: new RateLimiterPostgres({ ...window, ...table, storeClient, storeType: 'pool' }), local };
}

type Ticket = { consumedPoints: number; msBeforeNext: number };

/** Counts one request. The library rejects with the count, not with an error, when the window is full. */
async function takeTicket(
  shared: RateLimiterAbstract,
  local: RateLimiterAbstract,
  onStoreError: RateLimitOptions['onStoreError'],
): Promise<Ticket> {
  const timeoutError = () => new Error(`the store of the rate limit did not respond within ${storeTimeoutMs} ms`);
  try {
    const ticket = await withTimeout(countRequest(shared), storeTimeoutMs, timeoutError);
    // Postgres keeps the end of the window by the clock of the machine that began it, which may have been hours ahead.
    if (ticket.msBeforeNext <= shared.duration * 1000 + clocksApartMs) return ticket;
    throw new Error(`a window of the rate limit ends in ${ticket.msBeforeNext} ms: the clock of a machine is wrong`);
  } catch (error) {
    onStoreError?.(error);
    return countRequest(local);
  }
}

async function countRequest(limiter: RateLimiterAbstract): Promise<Ticket> {
  try {
    return await limiter.consume('requests');
  } catch (refused) {
    if (refused instanceof Error) throw refused;
    return refused as Ticket;
  }
}
