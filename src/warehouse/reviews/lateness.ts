import { sql } from 'kysely';
import type { Db } from '../index.ts';

/** Reviews that a reading brought, as the warehouse did not have them before. */
export type LateCandidates = {
  /** Reviews that were not here. */
  inserted: readonly number[];
  /** Reviews that were here in an older version. */
  updated: readonly number[];
  /** When the reading began, by the warehouse's clock: only what was proven before counts. */
  before: Date;
};

/**
 * Counts those whose own date lies in a span that was proven before: the service showed them late. A change without a
 * new `updated_at` (a like) is no new version and cannot be late.
 */
export async function countLate(db: Db, late: LateCandidates): Promise<number> {
  if (late.inserted.length + late.updated.length === 0) return 0;
  const { rows } = await sql<{ n: number }>`
    select count(*)::integer as n
    from warehouse.reviews r
    where (r.id = any(${late.inserted}::bigint[]) and exists (
        select from sync.export_windows w
        where w.axis = 'created' and w.start_at <= r.created_at and w.end_at > r.created_at
          and w.finished_at < ${late.before}
      ))
      or (r.id = any(${[...late.inserted, ...late.updated]}::bigint[]) and exists (
        select from sync.export_windows w
        where w.axis = 'updated' and w.start_at <= r.updated_at and w.end_at > r.updated_at
          and w.finished_at < ${late.before}
      ))`.execute(db);
  return rows[0]?.n ?? 0;
}

/** When the warehouse's clock says it is, and whether anything was ever proven: without that nothing can be late. */
export async function ledgerNow(db: Db): Promise<{ at: Date; isEmpty: boolean }> {
  const { rows } = await sql<{ at: Date; isEmpty: boolean }>`
    select clock_timestamp() as at, not exists (select from sync.export_windows) as "isEmpty"`.execute(db);
  const row = rows[0];
  if (!row) throw new Error('the warehouse gave no time');
  return row;
}

export type Lateness = { job: string; reviews: number };

/** How many late reviews the runs that began since then found, by their job. */
export async function lateness(db: Db, since: Date): Promise<Lateness[]> {
  const { rows } = await sql<Lateness>`
    select job, sum((counts ->> 'late')::bigint)::bigint as reviews
    from sync.runs
    where started_at >= ${since} and (counts ->> 'late')::bigint > 0
    group by job
    order by job`.execute(db);
  return rows;
}
