import { Kysely, PostgresDialect } from 'kysely';
import pLimit from 'p-limit';
import { openLog } from '../../src/base/log.ts';
import { openReviewApi } from '../../src/review-api/index.ts';
import type { ReviewDeps } from '../../src/reviews/review-deps.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { alive, type Calls, deadlyPool } from './deadly-pool.ts';

/** Addresses of the two systems, and the zone in which the service reads dates. */
export type ExportPlace = { warehouse: string; service: string; timeZone: string; calls?: Calls };

/**
 * What one process that exports reviews does, without its queue. A death ends it: from then on no statement and no
 * request of it has any effect.
 *
 * @throws what `work` throws, unless it died.
 */
export async function inExportProcess(
  { warehouse: url, service, timeZone, calls = alive() }: ExportPlace,
  work: (process: ReviewDeps) => Promise<void>,
): Promise<void> {
  const opened = await openWarehouse({ url, connections: 4 });
  const pool = deadlyPool(opened.pool, calls);
  const db: typeof opened.db = new Kysely({ dialect: new PostgresDialect({ pool }) });
  const abort = new AbortController();
  const api = openReviewApi({
    baseUrl: service,
    clientId: 'demo',
    clientSecret: 'demo',
    concurrency: 4,
    signal: abort.signal,
    log: openLog('silent'),
    retry: { baseDelayMs: 1, maxDelayMs: 2 },
    // Asked before each request: a dead process sends none.
    acquire: async () => {
      if (calls.isDead) throw new Error('dead');
    },
  });
  try {
    const warehouse = { ...opened, pool, db };
    // From the epoch to the year 2100.
    const plausible = { start: 0, end: 4_102_444_800 };
    const slots = pLimit(4);
    await work({
      reviews: api.reviews,
      warehouse,
      now: () => new Date(),
      plausible,
      timeZone,
      slots,
      signal: abort.signal,
    });
  } catch (error) {
    if (!calls.isDead) throw error;
  } finally {
    abort.abort();
    await api.close();
    await opened.pool.end();
  }
}
