import pLimit from 'p-limit';
import { sleep, withTimeout } from '../../base/timeout.ts';

/**
 * The store of the next slot. All processes with the same store share the ceiling. `postgres`: a pg pool, with an
 * existing table (key varchar(255) primary key, points integer not null default 0, expire bigint).
 */
export type RateLimitStore = { postgres: object; schema: string; table: string } | 'memory';

export type RateLimitOptions = {
  /** The rate of all processes that share the store. May be a fraction: 0.5 is one request in two seconds. */
  requestsPerSecond: number;
  store: RateLimitStore;
  /** Called when the store does not respond. Until it does, this process alone keeps the ceiling. */
  onStoreError?: ((error: unknown) => void) | undefined;
};

const storeTimeoutMs = 5_000;

/**
 * Opens a ceiling of requests per second, for `openReviewApi` as `acquire`: it resolves when one more request may
 * start. Requests get slots of equal length, one after the other. Requests of one process keep their order. One slot
 * compensates for a late timer. A pause is not compensated, so no burst follows it.
 *
 * @throws TypeError for a number that is not above 0.
 * @example const acquire = openRateLimit({ requestsPerSecond: 20, store: 'memory' });
 */
export function openRateLimit({ requestsPerSecond, store, onStoreError }: RateLimitOptions) {
  if (!Number.isFinite(requestsPerSecond) || requestsPerSecond <= 0)
    throw new TypeError(`expected requestsPerSecond above 0, got ${requestsPerSecond}`);
  const slotMs = 1000 / requestsPerSecond;
  const turn = pLimit(1);
  let nextMs = Number.NEGATIVE_INFINITY;

  const ownWaitMs = () => {
    const now = performance.now();
    nextMs = Math.max(nextMs, now - slotMs) + slotMs;
    return nextMs - slotMs - now;
  };
  const late = () => new Error(`the store of the rate limit did not respond within ${storeTimeoutMs} ms`);

  return (signal: AbortSignal = new AbortController().signal): Promise<void> =>
    turn(async () => {
      signal.throwIfAborted();
      const shared = store === 'memory' ? undefined : withTimeout(sharedWaitMs(store, slotMs), storeTimeoutMs, late);
      const sharedMs = await shared?.catch((error: unknown) => void onStoreError?.(error));
      const ms = sharedMs ?? ownWaitMs();
      if (ms >= 1) await sleep(ms, signal);
    });
}

/**
 * Takes the next slot of the table's row. Its `expire` is then the slot after, in microseconds since 1970 by the
 * server's clock. If the row is further ahead than all processes together could move it, a wrong clock wrote it.
 */
async function sharedWaitMs(store: Exclude<RateLimitStore, 'memory'>, slotMs: number): Promise<number | undefined> {
  const quoted = [store.schema, store.table].map((name) => `"${name.replaceAll('"', '""')}"`).join('.');
  const now = '(extract(epoch from clock_timestamp()) * 1000000)::bigint';
  const text = `insert into ${quoted} as kept (key, expire) values ('review-api slots', ${now} + $1::bigint)
    on conflict (key) do update set expire = $1::bigint + case
      when kept.expire > ${now} + 100 * $1::bigint + 60000000 then ${now}
      else greatest(kept.expire, ${now} - $1::bigint)
    end
    returning (expire - $1::bigint - ${now})::float8 / 1000 as ms`;
  const pool = store.postgres as { query(text: string, values: unknown[]): Promise<{ rows: { ms: number }[] }> };
  const { rows } = await pool.query(text, [Math.round(slotMs * 1000)]);
  return rows[0]?.ms;
}
