import { sql } from 'kysely';
import { isoOf, type Second } from '../../base/time/span.ts';
import type { Db } from '../index.ts';

/** A pushed order, with the shop's `created_at` of what was last pushed. */
export type KnownOrder = { code: string; orderedAt: Date };

/** Orders read in one statement. */
const pageSize = 1000;

/** A period of creation. Its end is left out; either bound may be open. */
type Range = { start: Second | undefined; end: Second | undefined };

const isWithin = ({ start, end }: Range) => sql`ordered_at >= ${start === undefined ? '-infinity' : isoOf(start)}
  and ordered_at < ${end === undefined ? 'infinity' : isoOf(end)}`;

/** Pushed orders created in the range, a page at a time. */
export async function* knownOrders(db: Db, range: Range): AsyncGenerator<KnownOrder[], void, undefined> {
  let after: KnownOrder | undefined;
  for (;;) {
    const { rows } = await sql<KnownOrder>`
      select order_code as code, ordered_at as "orderedAt" from sync.order_links
      where ${isWithin(range)}
        and (ordered_at, order_code) > (${after?.orderedAt ?? '-infinity'}::timestamptz, ${after?.code ?? ''})
      order by ordered_at, order_code limit ${pageSize}`.execute(db);
    if (rows.length > 0) yield rows;
    after = rows.at(-1);
    if (rows.length < pageSize) return;
  }
}

/** How many pushed orders were created since the moment. */
export async function countKnownOrders(db: Db, since: Second): Promise<number> {
  const { rows } = await sql<{ orders: number }>`
    select count(*) as orders from sync.order_links where ordered_at >= ${isoOf(since)}`.execute(db);
  return rows[0]?.orders ?? 0;
}

/** How many pushed orders were created on each day (UTC) since the moment, by the day's first second. Days without any are left out. */
export async function countKnownOrdersByDay(db: Db, since: Second): Promise<Map<Second, number>> {
  const { rows } = await sql<{ day: Second; orders: number }>`
    select floor(extract(epoch from ordered_at) / 86400)::bigint * 86400 as day, count(*) as orders
    from sync.order_links where ordered_at >= ${isoOf(since)} and ordered_at < 'infinity' group by 1`.execute(db);
  return new Map(rows.map(({ day, orders }) => [day, orders]));
}

/**
 * Takes note of orders that the shop does not show. An order that was pushed since it was first missed has returned in
 * between: its absence starts again.
 */
export async function noteAbsentOrders(db: Db, runId: string, orders: readonly KnownOrder[]): Promise<void> {
  if (orders.length === 0) return;
  await sql`
    insert into sync.absent_orders as known (order_code, ordered_at, run_id)
    select g.code, g."orderedAt", ${runId}
    from jsonb_to_recordset(${JSON.stringify(orders)}::jsonb) as g (code text, "orderedAt" timestamptz)
    on conflict (order_code) do update set
      ordered_at = excluded.ordered_at, run_id = excluded.run_id, last_missed_at = now(),
      first_missed_at = case
        when (select l.pushed_at from sync.order_links l where l.order_code = known.order_code) > known.first_missed_at
        then now() else known.first_missed_at
      end`.execute(db);
}

/** The shop shows these orders again, or they were deleted at the service. */
export async function forgetAbsentOrders(db: Db, codes: readonly string[]): Promise<void> {
  if (codes.length === 0) return;
  await sql`delete from sync.absent_orders where order_code = any(${codes})`.execute(db);
}

export type AbsentOrder = KnownOrder & { firstMissedAt: Date; lastMissedAt: Date; kept: string | null };

/** Absent orders created in the range. */
export async function absentOrders(db: Db, range: Range): Promise<AbsentOrder[]> {
  const { rows } = await sql<AbsentOrder>`
    select order_code as code, ordered_at as "orderedAt", first_missed_at as "firstMissedAt",
      last_missed_at as "lastMissedAt", kept
    from sync.absent_orders
    where ${isWithin(range)}
    order by ordered_at, order_code`.execute(db);
  return rows;
}

export type AbsentInRun = {
  /** Orders that the run missed, without those that stay at the service because they have reviews. */
  absent: number;
  /** Codes of the absent orders that were first missed a day or more ago. */
  due: string[];
};

/** What this run missed. @param waitHours between the first absence and the deletion. */
export async function absentInRun(db: Db, runId: string, waitHours: number): Promise<AbsentInRun> {
  const { rows } = await sql<AbsentInRun>`
    select count(*) as absent,
      coalesce(array_agg(order_code order by order_code) filter (
        where first_missed_at <= last_missed_at - ${waitHours} * interval '1 hour'
      ), '{}') as due
    from sync.absent_orders where run_id = ${runId} and kept is null`.execute(db);
  return rows[0] ?? { absent: 0, due: [] };
}

/** Whether this run missed every pushed order that was created since the moment. */
export async function isEverythingAbsent(db: Db, runId: string, since: Second): Promise<boolean> {
  const { rows } = await sql`
    select from sync.order_links l where l.ordered_at >= ${isoOf(since)} and not exists (
      select from sync.absent_orders a where a.order_code = l.order_code and a.run_id = ${runId})
    limit 1`.execute(db);
  return rows.length === 0;
}

/** Remembers why an absent order stays at the service. */
export async function keepAbsentOrder(db: Db, code: string, why: string): Promise<void> {
  await sql`update sync.absent_orders set kept = ${why} where order_code = ${code}`.execute(db);
}

/** Forgets absent orders created before the moment with which nothing is left to do. @param deletes ORDER_DELETES. */
export async function pruneAbsentOrders(db: Db, before: Second, deletes: 'off' | 'send'): Promise<void> {
  await sql`
    delete from sync.absent_orders
    where ordered_at < ${isoOf(before)} and (${deletes === 'off'} or kept is not null)`.execute(db);
}

export type AbsenceSummary = {
  orders: number;
  /** How many of them stay at the service because they have reviews, or may have. */
  kept: number;
  /** Codes of the newest few. */
  examples: string[];
  firstMissedAt: Date | null;
};

/** How many pushed orders the shop no longer shows. */
export async function absenceSummary(db: Db): Promise<AbsenceSummary> {
  const { rows } = await sql<AbsenceSummary>`
    select count(*) as orders, count(kept) as kept, min(first_missed_at) as "firstMissedAt",
      coalesce((array_agg(order_code order by ordered_at desc, order_code))[1:5], '{}') as examples
    from sync.absent_orders`.execute(db);
  return rows[0] ?? { orders: 0, kept: 0, examples: [], firstMissedAt: null };
}
