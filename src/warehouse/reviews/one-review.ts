import { type Db, firstOf, listOf } from '../index.ts';
import type { Axis } from './coverage.ts';

export type Row = Record<string, unknown> & {
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
  first_seen_at: Date;
  synced_at: Date;
};

export const reviewRow = (db: Db, id: number) => firstOf<Row>(db)`select * from warehouse.reviews where id = ${id}`;

export type WindowOf = { axis: Axis; runId: string; startAt: Date; endAt: Date; startedAt: Date; reviews: number };

/** A few recorded windows that include the review's date on their axis, the newest first. */
export const windowsOf = (db: Db, dates: { created: Date | undefined; updated: Date | undefined }) =>
  listOf<WindowOf>(db)`
    select axis, run_id as "runId", start_at as "startAt", end_at as "endAt", started_at as "startedAt", reviews
    from sync.export_windows
    where (axis = 'created' and start_at <= ${dates.created ?? null} and end_at > ${dates.created ?? null})
      or (axis = 'updated' and start_at <= ${dates.updated ?? null} and end_at > ${dates.updated ?? null})
    order by started_at desc
    limit 10`;

/** When, and in which run, a proven reading of its date did not show the review. Undefined: it is not suspected. */
export type Missed = { at: Date; runId: string };

export const missedReview = (db: Db, id: number) =>
  firstOf<Missed>(db)`select missed_at as at, run_id as "runId" from sync.absent_reviews where review_id = ${id}`;
