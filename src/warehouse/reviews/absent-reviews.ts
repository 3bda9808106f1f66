import { sql } from 'kysely';
import { isoOf, type Span } from '../../base/time/span.ts';
import type { Db } from '../index.ts';

/** Takes note of reviews that a proven reading of their date did not show (`absentIn`). */
export async function noteAbsent(db: Db, runId: string, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    insert into sync.absent_reviews as known (review_id, run_id)
    select unnest(${ids}::bigint[]), ${runId}
    on conflict (review_id) do update set
      run_id = excluded.run_id,
      last_missed_at = now(),
      readings = known.readings + case when known.run_id = excluded.run_id then 0 else 1 end
  `.execute(db);
}

export type Absent = { id: number; createdAt: Date };

/** Reviews created in the span (its end left out) that are here, not marked deleted, and not among `ids`. */
export async function absentIn(db: Db, { start, end }: Span, ids: ReadonlySet<string>): Promise<Absent[]> {
  const shown = [...ids].filter((id) => /^\d{1,18}$/.test(id));
  const { rows } = await sql<Absent>`
    select id, created_at as "createdAt" from warehouse.reviews
    where created_at >= ${isoOf(start)} and created_at < ${isoOf(end)} and deleted_at is null
      and id <> all(${shown}::bigint[])`.execute(db);
  return rows;
}

/**
 * Every review that is suspected gone, whichever run missed it: one that could not be asked about is asked about again.
 */
export async function suspects(db: Db): Promise<Absent[]> {
  const { rows } = await sql<Absent>`
    select r.id, r.created_at as "createdAt"
    from sync.absent_reviews a
    join warehouse.reviews r on r.id = a.review_id and r.deleted_at is null
    order by r.id`.execute(db);
  return rows;
}

/** How many the run has missed. */
export async function countMissedBy(db: Db, runId: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from sync.absent_reviews where run_id = ${runId}`.execute(db);
  return rows[0]?.n ?? 0;
}

export async function countAbsent(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from sync.absent_reviews`.execute(db);
  return rows[0]?.n ?? 0;
}

export async function forgetAbsent(db: Db, ids: readonly number[]): Promise<void> {
  await sql`delete from sync.absent_reviews where review_id = any(${ids})`.execute(db);
}

/** Marks a review that the service says is gone, and suspects it no longer. */
export async function markDeleted(db: Db, id: number, at: Date): Promise<void> {
  await sql`
    with marked as (
      update warehouse.reviews set deleted_at = ${at} where id = ${id} and deleted_at is null
      returning created_at, product_id, order_code
    ),
    touched as (
      insert into sync.touches (record, dated_at, product_id, order_code)
      select 'review', created_at, product_id, order_code from marked
    )
    delete from sync.absent_reviews where review_id = ${id}`.execute(db);
}

/** The newest reviews that are here and not among `ids`, a few. */
export async function newestBut(db: Db, ids: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from warehouse.reviews
    where deleted_at is null and id <> all(${ids}::bigint[])
    order by created_at desc
    limit 3`.execute(db);
  return rows.map((row) => row.id);
}

/** Creation of the oldest and the newest review that is here and not marked deleted. */
export async function storedBounds(db: Db): Promise<{ first: Date; last: Date } | undefined> {
  const { rows } = await sql<{ first: Date | null; last: Date | null }>`
    select min(created_at) as first, max(created_at) as last from warehouse.reviews where deleted_at is null`.execute(
    db,
  );
  const { first, last } = rows[0] ?? {};
  return first && last ? { first, last } : undefined;
}
