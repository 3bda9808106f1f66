import { isoOf, type Second, type Span, secondOf } from '../../base/time/span.ts';
import { type Db, listOf, rowOf, rowsOf, scalarOf, valuesOf } from '../index.ts';

export type Absent = { id: number; createdAt: Date };

/** Reviews in the warehouse, created in the span (end excluded), not marked deleted, and not among `ids`. */
export async function absentIn(db: Db, { start, end }: Span, ids: ReadonlySet<string>): Promise<Absent[]> {
  const shown = [...ids].filter((id) => /^\d{1,18}$/.test(id));
  return listOf<Absent>(db)`
    select id, created_at as "createdAt" from warehouse.reviews
    where created_at >= ${isoOf(start)} and created_at < ${isoOf(end)} and deleted_at is null
      and id <> all(${shown}::bigint[])`;
}

/** Reviews that are suspected gone, at most `limit`, the longest wait first. */
export const suspects = (db: Db, limit: number) =>
  listOf<Absent>(db)`
    select r.id, r.created_at as "createdAt"
    from sync.absent_reviews a
    cross join lateral (select * from warehouse.reviews where id = a.review_id and deleted_at is null offset 0) as r
    order by a.missed_at, r.id
    limit ${limit}`;

/** How many reviews are suspected gone. */
export const countAbsent = (db: Db) => scalarOf<number>(db)`
  select count(*) from sync.absent_reviews join warehouse.reviews r on r.id = review_id and r.deleted_at is null`;

/** Marks reviews as deleted that the service says are gone. They are no longer suspected. */
export const markDeleted = (db: Db, ids: readonly number[], at: Date) => rowsOf(db, 'mark_deleted', ids, at);

/** The reviews that were last marked deleted, since `since`, at most `limit`. */
export const deletedSince = (db: Db, since: Date, limit: number) =>
  valuesOf<number>(db)`
    select id from warehouse.reviews where deleted_at >= ${since} order by deleted_at desc, id limit ${limit}`;

/** Reviews in the warehouse, created in the span (end excluded) and not marked deleted. */
export const heldIn = (db: Db, span: Span) => absentIn(db, span, new Set());

/** How many reviews of the warehouse are not marked deleted. */
export const countHeld = (db: Db) =>
  scalarOf<number>(db)`select count(*) from warehouse.reviews where deleted_at is null`;

/** A few of the newest reviews in the warehouse that are not among `ids`. */
export const newestBut = (db: Db, ids: readonly number[]) =>
  valuesOf<number>(db)`
    select id from warehouse.reviews r
    where deleted_at is null and id <> all(${ids}::bigint[])
      and not exists (select from sync.absent_reviews a where a.review_id = r.id)
    order by created_at desc limit 3`;

/** Creation dates of the oldest and newest review in the warehouse that is not marked deleted; empty without any. */
export async function storedDates(db: Db): Promise<[Second, Second] | []> {
  const { first, last } = await rowOf<{ first: Date | null; last: Date | null }>(db)`
    select min(created_at) as first, max(created_at) as last from warehouse.reviews where deleted_at is null`;
  return first && last ? [secondOf(first), secondOf(last)] : [];
}
