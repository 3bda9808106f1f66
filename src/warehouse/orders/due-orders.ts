import { sql } from 'kysely';
import { type NewDeadLetter, putDeadLetters } from '../dead-letters.ts';
import { type Db, firstOf, rowOf, rowsOf, write } from '../index.ts';

/** Index: order_links_waiting. */
export const waitingLinesOf = sql`
  select order_code, waiting_since, line_code, product_code
  from sync.order_links cross join lateral jsonb_each_text(waiting_lines) as line (line_code, product_code)
  where waiting_lines is not null`;

/**
 * One page of the codes of orders to push although the shop did not change them (due_orders.sql), by code.
 *
 * @param page.before instant by the warehouse's clock. Orders that become due later are left to the next run, so a walk
 *   ends.
 * @param page.isAnyTime also orders that failed before and are not due yet.
 */
export async function dueOrders(db: Db, page: { before: string; isAnyTime: boolean; after: string; limit: number }) {
  const values = [page.before, page.isAnyTime, page.after, page.limit];
  return (await rowsOf<{ code: string }>(db, 'due_orders', ...values)).map(({ code }) => code);
}

/**
 * Records orders that cannot be read or recorded, each as a dead letter. The order is read again after
 * `delaysMs[failures so far]`; all further failures wait the last delay. What was pushed before stays remembered.
 */
export async function recordUnreadable(
  db: Db,
  deadLetters: readonly NewDeadLetter[],
  delaysMs: readonly number[],
): Promise<void> {
  if (deadLetters.length === 0) return;
  const codes = deadLetters.flatMap((one) => one.orderCode ?? []);
  await db.transaction().execute(async (trx) => {
    await write(trx)`
      insert into sync.order_links as l (order_code, failed_pushes, due_at)
      select distinct code collate "C" as code, 1, clock_timestamp() + ${delaysMs[0] ?? 0} * interval '1 millisecond'
      from unnest(${codes}::text[]) as code order by code
      on conflict (order_code) do update set fingerprint = null, failed_pushes = l.failed_pushes + 1,
        lease_owner = case when l.lease_expires_at >= clock_timestamp() then l.lease_owner end,
        due_at = clock_timestamp() + (${delaysMs}::bigint[])[least(l.failed_pushes + 1, ${delaysMs.length})] * interval '1 millisecond'`;
    await putDeadLetters(trx, deadLetters);
  });
}

/**
 * Nothing is left to do for these orders: the shop no longer has them, or deleted them before their first push. If the
 * service did not clear a value, its dead letter stays: the value is still there.
 */
export async function settleGone(db: Db, codes: readonly string[]): Promise<void> {
  if (codes.length > 0) await rowsOf(db, 'settle_gone', codes);
}

export type WaitingLines = {
  lines: number;
  orders: number;
  /** A line of the order that has waited longest. Undefined: no line waits. */
  oldest: Oldest | undefined;
};
type Oldest = { orderCode: string; lineCode: string; productCode: string; since: Date };

/** Order lines that wait until their product id is known. */
export async function waitingLines(db: Db): Promise<WaitingLines> {
  const counts = await rowOf<Pick<WaitingLines, 'lines' | 'orders'>>(db)`
    select count(*) as lines, count(distinct order_code) as orders from (${waitingLinesOf}) as waiting`;
  const oldest = await firstOf<Oldest>(db)`
    select order_code as "orderCode", line_code as "lineCode", product_code as "productCode", waiting_since as since
    from (${waitingLinesOf}) as waiting order by waiting_since, order_code, line_code limit 1`;
  return { ...counts, oldest };
}

const isWaitingForGrade = sql`user_grade_code is not null and user_grade_id is null`;

/** Orders that wait for the id of their member grade. Index: order_links_without_grade. */
export const waitingForGrades = (db: Db) => rowOf<{ orders: number; grades: number }>(db)`
  select count(*)::integer as orders, count(distinct user_grade_code)::integer as grades
  from sync.order_links where ${isWaitingForGrade}`;

/** Waiting lines and orders at the end of a run, as its counts. */
export async function waitingCounts(db: Db): Promise<Record<string, number>> {
  const { lines, orders } = await rowOf<{ lines: number; orders: number }>(db)`
    select (select count(*) from (${waitingLinesOf}) as waiting) as lines,
      (select count(*) from sync.order_links where ${isWaitingForGrade}) as orders`;
  return orders === 0 ? { lines_waiting: lines } : { lines_waiting: lines, orders_waiting_for_grade: orders };
}
