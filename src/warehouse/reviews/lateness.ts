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
 * Takes note of those whose own date lies in a span that was proven before: the service showed them late. A change
 * without a new `updated_at` (a like) is no new version and cannot be late.
 *
 * @returns how many.
 */
export async function noteLate(db: Db, runId: string, late: LateCandidates): Promise<number> {
  if (late.inserted.length + late.updated.length === 0) return 0;
  const { rows } = await sql`
    insert into sync.late_reviews (review_id, dated_at, run_id)
    select r.id, r.updated_at, ${runId}
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
      ))
    on conflict do nothing
    returning review_id`.execute(db);
  return rows.length;
}

/** When the warehouse's clock says it is, and whether anything was ever proven: without that nothing can be late. */
export async function ledgerNow(db: Db): Promise<{ at: Date; isEmpty: boolean }> {
  const { rows } = await sql<{ at: Date; isEmpty: boolean }>`
    select clock_timestamp() as at, not exists (select from sync.export_windows) as "isEmpty"`.execute(db);
  const row = rows[0];
  if (!row) throw new Error('the warehouse gave no time');
  return row;
}

export type Lateness = { job: string; reviews: number; longestSeconds: number };

/** How many reviews came late since then, by the job that found them, and how late at the most. */
export async function lateness(db: Db, since: Date): Promise<Lateness[]> {
  const { rows } = await sql<Lateness>`
    select coalesce(r.job, 'unknown') as job, count(*)::integer as reviews,
      round(extract(epoch from max(l.found_at - l.dated_at)))::bigint as "longestSeconds"
    from sync.late_reviews l
    left join sync.runs r on r.id = l.run_id
    where l.found_at >= ${since}
    group by 1
    order by 1`.execute(db);
  return rows;
}
