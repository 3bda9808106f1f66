import { sql } from 'kysely';
import type { Db } from '../index.ts';

/**
 * Open dead letters of orders that take too long to read, as `slow_order`. `is_due`: the order is to be read again, 10 minutes after
 * it was read first, then after 20, 40 and so on, up to a day; or because a shop query has changed since.
 */
export const slowOrders = sql`
  select order_code, checked_at, checked_at + least(interval '1 day', interval '10 minutes' * 2 ^ least(attempts - 1, 10)) <= now()
    or exists (select from sync.shop_queries q where q.changed_at > checked_at) as is_due
  from sync.dead_letters where resolved_at is null and kind = 'order' and order_code is not null and payload ? 'slowSeconds'`;

/** Those of the orders that are known to take too long to read, and whether they are to be read again by now. */
export async function readSlowOrders(db: Db, codes: readonly string[]): Promise<Map<string, { isDue: boolean }>> {
  if (codes.length === 0) return new Map();
  const { rows } = await sql<{ order_code: string; is_due: boolean }>`
    select order_code, is_due from (${slowOrders}) slow where order_code = any(${codes})`.execute(db);
  return new Map(rows.map((row) => [row.order_code, { isDue: row.is_due }]));
}

/** Lets the next run read orders again that take too long to read. @param ids of their dead letters. */
export async function readSlowOrdersNow(db: Db, ids: readonly number[]): Promise<void> {
  await sql`
    update sync.dead_letters set checked_at = to_timestamp(0) where resolved_at is null and payload ? 'slowSeconds'
      and id = any(${ids})`.execute(db);
}
