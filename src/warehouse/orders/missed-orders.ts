import { sql } from 'kysely';
import type { Db } from '../index.ts';

/** Takes note, before they are pushed, of changed orders that the incremental runs had passed over. */
export async function noteMissedOrders(db: Db, runId: string, codes: readonly string[]): Promise<void> {
  if (codes.length === 0) return;
  await sql`
    insert into sync.missed_orders (run_id, order_code) select ${runId}, unnest(${codes}::text[])
    on conflict do nothing`.execute(db);
}

/**
 * Orders that are to be pushed for another reason than a change that was missed: an open dead letter, a line that waits
 * for a product id, or a member grade whose id changed.
 */
export async function ordersPushedForOtherReasons(db: Db, codes: readonly string[]): Promise<Set<string>> {
  if (codes.length === 0) return new Set();
  const { rows } = await sql<{ code: string }>`
    select order_code as code from sync.dead_letters where resolved_at is null and order_code = any(${codes})
    union
    select order_code from sync.waiting_lines where order_code = any(${codes})
    union
    select l.order_code from sync.order_links l
    join sync.user_grade_links g on g.user_grade_code = l.user_grade_code
    where l.order_code = any(${codes}) and l.user_grade_id is distinct from g.user_grade_id`.execute(db);
  return new Set(rows.map((row) => row.code));
}

/** Deletes what was found before the moment. */
export async function pruneMissedOrders(db: Db, before: Date): Promise<void> {
  await sql`delete from sync.missed_orders where found_at < ${before}`.execute(db);
}

type MissedDay = { day: string; orders: number };

export type MissedChanges = {
  /** The period that the figures are about: from the first rescan within it. Null: there was no rescan in it. */
  since: Date | null;
  /** Changes that only a rescan found. */
  missed: number;
  /** All changes: those, and the orders that incremental runs pushed. */
  changes: number;
  /** Days (UTC) on which a rescan found something. */
  days: MissedDay[];
  /** Codes of the newest few. */
  examples: string[];
};

/** What the feed of changes missed since the moment. */
export async function missedChanges(db: Db, since: Date): Promise<MissedChanges> {
  const { rows } = await sql<MissedChanges>`
    with period as (
      select min(started_at) as since from sync.runs
      where job = 'rescan-orders' and outcome in ('done', 'incomplete') and started_at >= ${since}
    ),
    missed as (
      select m.* from sync.missed_orders m, period where m.found_at >= period.since
    ),
    pushed as (
      select coalesce(sum((counts ->> 'orders_pushed')::bigint), 0) as orders
      from sync.runs, period where job = 'sync-orders' and finished_at >= period.since
    )
    select period.since, pushed.orders + (select count(*) from missed) as changes,
      (select count(*) from missed) as missed,
      coalesce((
        select jsonb_agg(jsonb_build_object('day', day, 'orders', orders) order by day) from (
          select to_char(found_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*) as orders from missed group by 1
        ) as days
      ), '[]') as days,
      coalesce((
        select array_agg(order_code) from (
          select order_code from missed order by found_at desc, order_code limit 5
        ) as newest
      ), '{}') as examples
    from period, pushed`.execute(db);
  const found = rows[0];
  return found
    ? { ...found, changes: Number(found.changes) }
    : { since: null, missed: 0, changes: 0, days: [], examples: [] };
}
