import pLimit from 'p-limit';
import { sleep, withTimeout } from '../../base/timeout.ts';

/**
 * The place of the next request's slot. All processes with the same store share the ceiling. `postgres`: a pg pool, with
 * an existing table (key varchar(255) primary key, points integer not null default 0, expire bigint).
 */
export type RateLimitStore = { postgres: object; schema: string; table: string } | 'memory';

export type RateLimitOptions = {
  /** The rate of all processes that share the store. May be a fraction: 0.5 is one request in two seconds. */
  requestsPerSecond: number;
  store: RateLimitStore;
  /** Called when the store does not respond. Until it does, this process keeps the ceiling alone. */
  onStoreError?: ((error: unknown) => void) | undefined;
};

const storeTimeoutMs = 5_000;

/**
 * Opens a ceiling of requests per second. The returned function resolves when one more request may start; pass it to
 * `openReviewApi` as `acquire`.
 *
 * Requests get slots of equal length, one after the other, those of one process in their order. One slot makes up for a
 * timer that fired late; a pause is not made up for, so no burst follows it.
 *
 * @throws TypeError for a number that is not above 0.
 * @example
 * const acquire = openRateLimit({ requestsPerSecond: 20, store: 'memory' });
 * const api = openReviewApi({ baseUrl, clientId, clientSecret, acquire });
 */
export function openRateLimit({ requestsPerSecond, store, onStoreError }: RateLimitOptions) {
  if (!Number.isFinite(requestsPerSecond) || requestsPerSecond <= 0) {
    throw new TypeError(`expected requestsPerSecond above 0, got ${requestsPerSecond}`);
  }
  const slotMs = 1000 / requestsPerSecond;
  const turn = pLimit(1);
  let nextMs = Number.NEGATIVE_INFINITY;

  function ownWaitMs(): number {
    const now = performance.now();
    const atMs = Math.max(nextMs, now - slotMs);
    nextMs = atMs + slotMs;
    return atMs - now;
  }

  async function waitMs(): Promise<number> {
    if (store === 'memory') return ownWaitMs();
    const timeoutError = () => new Error(`the store of the rate limit did not respond within ${storeTimeoutMs} ms`);
    return withTimeout(sharedWaitMs(store, slotMs), storeTimeoutMs, timeoutError).catch((error: unknown) => {
      onStoreError?.(error);
      return ownWaitMs();
    });
  }

  return (signal: AbortSignal = new AbortController().signal): Promise<void> =>
    turn(async () => {
      signal.throwIfAborted();
      const ms = await waitMs();
      if (ms >= 1) await sleep(ms, signal);
    });
}

/**
 * Takes the next slot of the table's row, whose `expire` is the slot after it, in microseconds since 1970 by the clock of
 * the server. A row further ahead than all processes together could bring it was written by a clock that was wrong.
 */
async function sharedWaitMs(
  { postgres, schema, table }: Exclude<RateLimitStore, 'memory'>,
  slotMs: number,
): Promise<number> {
  const quoted = [schema, table].map((name) => `"${name.replaceAll('"', '""')}"`).join('.');
  const now = '(extract(epoch from clock_timestamp()) * 1000000)::bigint';
  const text = `insert into ${quoted} as kept (key, expire) values ('review-api slots', ${now} + $1::bigint)
    on conflict (key) do update set expire = $1::bigint + case
      when kept.expire > ${now} + 100 * $1::bigint + 60000000 then ${now}
      else greatest(kept.expire, ${now} - $1::bigint)
    end
    returning (expire - $1::bigint - ${now})::float8 / 1000 as ms`;
  const pool = postgres as { query(text: string, values: unknown[]): Promise<{ rows: { ms: number }[] }> };
  const { rows } = await pool.query(text, [Math.round(slotMs * 1000)]);
  return rows[0]?.ms ?? 0;
}
