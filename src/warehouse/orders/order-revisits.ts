import { sql } from 'kysely';
import type { Db } from '../index.ts';
import { removalsWaiting } from './order-removals.ts';
import { slowOrders } from './slow-orders.ts';

/** Orders of each kind that one run reads again although the shop did not change them. */
const mostAtOnce = 2000;
/** Orders that one run pushes again after at least two failed pushes. Each may cost a slot of the run 5 s. */
const mostFailingAtOnce = 200;
/** Orders that take too long to read and that one run reads again: at most ten minutes. */
const mostSlowAtOnce = 200;

/**
 * Codes of orders to read again although the shop did not change them, at most 2,000 of each kind:
 *
 * - orders with an open dead letter, because its rows may have been corrected without a newer `updated_at`; those first
 *   that were not read for the longest time;
 * - of orders that take too long to read, only 200, and those only that are due;
 * - orders to push again although their rows are the same (`retry_at`), of those that failed more than once only 200;
 * - orders with a line that waited for a product id that is known by now;
 * - orders whose member grade has another id at the service than was last sent, or none was known then.
 */
export async function ordersToRevisit(db: Db): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    with slow as (${slowOrders}),
    slow_due as (select order_code as code from slow where is_due order by checked_at limit ${mostSlowAtOnce}),
    checked as (
      update sync.dead_letters d set checked_at = now()
      from (
        select d.order_code from sync.dead_letters d left join sync.order_links l using (order_code)
        where d.resolved_at is null and d.order_code is not null and (l.retry_at is null or l.retry_at > now())
          and d.order_code not in (select order_code from slow)
        group by d.order_code order by min(d.checked_at), d.order_code limit ${mostAtOnce}
      ) oldest
      where d.order_code = oldest.order_code and d.resolved_at is null
      returning d.order_code as code
    ),
    failed_once as (
      select order_code as code from sync.order_links
      where retry_at <= now() and failed_pushes < 2 order by retry_at limit ${mostAtOnce}
    ),
    failing as (
      select order_code as code from sync.order_links
      where retry_at <= now() and failed_pushes >= 2 order by retry_at limit ${mostFailingAtOnce}
    ),
    arrived as (
      select distinct w.order_code as code
      from sync.waiting_lines w join sync.product_links p on p.product_code = w.product_code
      limit ${mostAtOnce}
    ),
    graded as (
      select l.order_code as code
      from sync.order_links l join sync.user_grade_links g on g.user_grade_code = l.user_grade_code
      where l.user_grade_code is not null and l.user_grade_id is distinct from g.user_grade_id
      order by l.pushed_at nulls first limit ${mostAtOnce}
    )
    select code from slow_due union select code from checked union select code from failed_once union select code from failing
    union select code from arrived union select code from graded
    order by code`.execute(db);
  return rows.map((row) => row.code);
}

export type WaitingLines = {
  lines: number;
  orders: number;
  products: number;
  /** The line that has waited longest; undefined where no line waits. */
  oldest: { orderCode: string; lineCode: string; productCode: string; since: Date } | undefined;
};

/** Order lines that wait until the service is known to have their product. */
export async function waitingLines(db: Db): Promise<WaitingLines> {
  const counted = await db
    .selectFrom('sync.waiting_lines')
    .select((eb) => [
      eb.fn.countAll<number>().as('lines'),
      sql<number>`count(distinct order_code)`.as('orders'),
      sql<number>`count(distinct product_code)`.as('products'),
    ])
    .executeTakeFirstOrThrow();
  const oldest = await db
    .selectFrom('sync.waiting_lines')
    .select(['order_code as orderCode', 'line_code as lineCode', 'product_code as productCode'])
    .select('waiting_since as since')
    .orderBy('waiting_since')
    .orderBy('order_code')
    .limit(1)
    .executeTakeFirst();
  return { ...counted, oldest };
}

export type WaitingForGrades = {
  /** Orders, at most 100,000: a shop may name a grade in each of its orders and have no user_grades.sql. */
  orders: number;
  isCut: boolean;
  /** How many grades they wait for. Their codes are the shop's own texts, which may name a customer. */
  grades: number;
};

const mostWaitingForGrades = 100_000;

/** Orders whose member grade in the shop the service is not known to have. They keep the grade that was sent before. */
export async function waitingForGrades(db: Db): Promise<WaitingForGrades> {
  const { rows } = await sql<{ orders: number; grades: number }>`
    select count(*)::integer as orders, count(distinct user_grade_code)::integer as grades from (
      select user_grade_code from sync.order_links
      where user_grade_code is not null and user_grade_id is null limit ${mostWaitingForGrades + 1}
    ) as waiting`.execute(db);
  const { orders, grades } = rows[0] ?? { orders: 0, grades: 0 };
  return { orders: Math.min(orders, mostWaitingForGrades), isCut: orders > mostWaitingForGrades, grades };
}

/** What waits at the end of a run, as counts of it. */
export async function waitingCounts(db: Db): Promise<Record<string, number>> {
  const { lines } = await waitingLines(db);
  const { orders } = await waitingForGrades(db);
  const removals = await removalsWaiting(db);
  return {
    lines_waiting: lines,
    ...(orders > 0 && { orders_waiting_for_grade: orders }),
    ...(removals > 0 && { removals_waiting: removals }),
  };
}

/**
 * For orders that the shop has deleted: nothing of them waits for a product, a grade or another attempt any more. An order that
 * comes back, even unchanged, is pushed again: its lines may have to wait again.
 */
export async function forgetWaiting(db: Db, orderCodes: readonly string[]): Promise<void> {
  if (orderCodes.length === 0) return;
  await sql`delete from sync.waiting_lines where order_code = any(${orderCodes})`.execute(db);
  await sql`
    update sync.order_links set user_grade_code = null, user_grade_id = null, fingerprint = null, retry_at = null,
      removals_wanted = 0, removals_held = false
    where order_code = any(${orderCodes})
      and (fingerprint is not null or user_grade_code is not null or retry_at is not null or removals_wanted > 0)`.execute(
    db,
  );
}

/**
 * Closes the dead letters of orders that were pushed as they are in the shop: their rows were corrected. Dead letters stay where
 * the last push failed in part, also when another process records such a push at this moment.
 */
export async function resolveUnchanged(
  db: Db,
  orders: readonly { order_code: string; fingerprint: string }[],
): Promise<void> {
  if (orders.length === 0) return;
  await sql`
    update sync.dead_letters d set resolved_at = now()
    from jsonb_to_recordset(${JSON.stringify(orders)}::jsonb) as g (order_code text, fingerprint text)
    join sync.order_links l on l.order_code = g.order_code and l.fingerprint = g.fingerprint and l.failures = 0
    where d.order_code = l.order_code and d.resolved_at is null`.execute(db);
}
