import { Kysely, PostgresDialect } from 'kysely';
import pLimit from 'p-limit';
import type { ReviewDeps } from '../../src/reviews/review-deps.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { alive, type Calls, deadlyPool, openDeadlyApi } from './deadly-pool.ts';

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
  const { api, signal, end } = openDeadlyApi(service, calls);
  try {
    const warehouse = { ...opened, pool, db };
    // From the epoch to the year 2100.
    const plausible = { start: 0, end: 4_102_444_800 };
    const pages = { slots: pLimit(4), largest: 0, guess: 1 };
    await work({ reviews: api.reviews, warehouse, now: () => new Date(), plausible, timeZone, pages, signal });
  } catch (error) {
    if (!calls.isDead) throw error;
  } finally {
    await end();
    await opened.pool.end();
  }
}
