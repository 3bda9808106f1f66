import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
} from 'rate-limiter-flexible';
import { pause } from './pause.ts';

/**
 * Where the count is kept, so that all who share it share the ceiling. `redis`: an ioredis client. `postgres`: a pg pool,
 * with a table made beforehand as (key varchar(255) primary key, points integer not null default 0, expire bigint).
 */
export type RateLimitStore = { redis: object } | { postgres: object; schema: string; table: string } | 'memory';

export type RateLimitOptions = {
  /** For all processes on the store together. May be a fraction: 0.5 is one request in two seconds. */
  requestsPerSecond: number;
  store: RateLimitStore;
  /** Told when the store does not answer: until it does, this process keeps the ceiling by itself. */
  onStoreTrouble?: ((error: unknown) => void) | undefined;
};

/** The store's answer is waited for so long, in milliseconds. */
const storePatienceMs = 5_000;

/**
 * Opens the ceiling: the returned function resolves when one more request may start. Requests of a process go in the
 * order they came, and the store's window is walked through slot by slot, so that none is used up at its beginning and
 * two full ones do not meet at their border.
 */
export function openRateLimit(options: RateLimitOptions): (signal?: AbortSignal) => Promise<void> {
  const window = windowOf(options.requestsPerSecond);
  const shared = limiterFor(options.store, window);
  const alone = new RateLimiterMemory(window);
  const spacingMs = (window.duration * 1000) / window.points;
  const never = new AbortController().signal;
  const turn = pLimit(1);
  let nextAt = Number.NEGATIVE_INFINITY;

  return (signal = never) =>
    turn(async () => {
      for (;;) {
        signal.throwIfAborted();
        const ticket = await take(shared, alone, options.onStoreTrouble);
        if (ticket.consumedPoints > window.points) {
          // Those who wait for the same border come back in another order each time: none is always the last.
          await pause(ticket.msBeforeNext + Math.random() * spacingMs, signal);
          continue;
        }
        const now = performance.now();
        const sinceBorderMs = window.duration * 1000 - ticket.msBeforeNext;
        const slotAt = now + (ticket.consumedPoints - 1) * spacingMs - sinceBorderMs;
        // A timer that fired late is made good by one slot, an idle while is not: no burst after it.
        nextAt = Math.max(nextAt, now - spacingMs) + spacingMs;
        const delayMs = Math.max(slotAt, nextAt) - now;
        if (delayMs >= 1) await pause(delayMs, signal);
        return;
      }
    });
}

/** Redis counts windows in whole seconds and points in whole numbers: a fraction needs a longer window. */
function windowOf(requestsPerSecond: number): { points: number; duration: number; keyPrefix: string } {
  if (!Number.isFinite(requestsPerSecond) || requestsPerSecond <= 0) {
    throw new TypeError(`expected requestsPerSecond above 0, got ${requestsPerSecond}`);
  }
  const keyPrefix = 'review-api';
  if (Number.isInteger(requestsPerSecond)) return { points: requestsPerSecond, duration: 1, keyPrefix };
  if (requestsPerSecond >= 0.2) return { points: Math.floor(requestsPerSecond * 10), duration: 10, keyPrefix };
  return { points: 1, duration: Math.ceil(1 / requestsPerSecond), keyPrefix };
}

function limiterFor(store: RateLimitStore, window: ReturnType<typeof windowOf>): RateLimiterAbstract {
  if (store === 'memory') return new RateLimiterMemory(window);
  if ('redis' in store) return new RateLimiterRedis({ ...window, storeClient: store.redis });
  const { postgres: storeClient, schema: schemaName, table: tableName } = store;
  // One row, written over and over: nothing to clear by a timer.
  const table = { schemaName, tableName, tableCreated: true, clearExpiredByTimeout: false };
  return new RateLimiterPostgres({ ...window, ...table, storeClient, storeType: 'pool' });
}

type Ticket = { consumedPoints: number; msBeforeNext: number };

/** Counts one request. The library rejects with the count, not with an error, when the window is full. */
async function take(
  shared: RateLimiterAbstract,
  alone: RateLimiterAbstract,
  onStoreTrouble: RateLimitOptions['onStoreTrouble'],
): Promise<Ticket> {
  const giveUp = new AbortController();
  const tooLong = sleep(storePatienceMs, undefined, { signal: giveUp.signal, ref: false }).then(() => {
    throw new Error(`the store of the rate limit did not answer within ${storePatienceMs} ms`);
  });
  try {
    return await Promise.race([count(shared), tooLong]);
  } catch (error) {
    onStoreTrouble?.(error);
    return count(alone);
  } finally {
    giveUp.abort();
  }
}

async function count(limiter: RateLimiterAbstract): Promise<Ticket> {
  try {
    return await limiter.consume('requests');
  } catch (refused) {
    if (refused instanceof Error) throw refused;
    return refused as Ticket;
  }
}
