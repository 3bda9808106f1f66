import { sql } from 'kysely';
import type { Db } from './index.ts';

export type OrderLink = {
  orderCode: string;
  orderId: number | null;
  withContact: boolean;
  fingerprint: string | null;
  /** The shop's text, in UTC with microseconds. */
  shopUpdatedAt: string | null;
};

/** Microseconds are kept: of two changes in one millisecond the later one must win. */
const shopUpdatedAt = sql<string | null>`to_char(shop_updated_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US+00')`;

export async function orderLinks(db: Db, codes: readonly string[]): Promise<Map<string, OrderLink>> {
  if (codes.length === 0) return new Map();
  const rows = await db
    .selectFrom('sync.order_links')
    .where('order_code', 'in', codes)
    .select(['order_code as orderCode', 'order_id as orderId', 'with_contact as withContact', 'fingerprint'])
    .select(shopUpdatedAt.as('shopUpdatedAt'))
    .execute();
  return new Map(rows.map((row) => [row.orderCode, row]));
}

/** One order's link with its dates. */
export async function orderHistory(
  db: Db,
  code: string,
): Promise<(OrderLink & { firstPushedAt: Date; pushedAt: Date | null }) | undefined> {
  const link = (await orderLinks(db, [code])).get(code);
  const dates = await db
    .selectFrom('sync.order_links')
    .where('order_code', '=', code)
    .select(['first_pushed_at as firstPushedAt', 'pushed_at as pushedAt'])
    .executeTakeFirst();
  return link && dates && { ...link, ...dates };
}

/** Before the first request for an order: so that what was decided about its contact outlives a crash. */
export async function decideContact(db: Db, orderCode: string, withContact: boolean): Promise<void> {
  await db
    .insertInto('sync.order_links')
    .values({ order_code: orderCode, with_contact: withContact, order_id: null, fingerprint: null })
    .onConflict((conflict) => conflict.column('order_code').doUpdateSet({ with_contact: withContact }))
    .execute();
}

export async function recordOrderPushed(
  db: Db,
  pushed: { orderCode: string; orderId: number | null; fingerprint: string; shopUpdatedAt: string },
): Promise<void> {
  await db
    .updateTable('sync.order_links')
    .set({
      order_id: pushed.orderId,
      fingerprint: pushed.fingerprint,
      shop_updated_at: pushed.shopUpdatedAt,
      pushed_at: new Date(),
    })
    .where('order_code', '=', pushed.orderCode)
    .execute();
}

export type SubOrderLink = {
  lineCode: string;
  subOrderId: number | null;
  content: unknown;
  idsBefore: number[] | null;
};

export async function subOrderLinks(db: Db, orderCode: string): Promise<SubOrderLink[]> {
  return db
    .selectFrom('sync.sub_order_links')
    .where('order_code', '=', orderCode)
    .select(['line_code as lineCode', 'sub_order_id as subOrderId', 'content', 'ids_before as idsBefore'])
    .orderBy('line_code')
    .execute();
}

export async function saveSubOrderLink(db: Db, orderCode: string, link: SubOrderLink): Promise<void> {
  const values = {
    sub_order_id: link.subOrderId,
    content: JSON.stringify(link.content),
    ids_before: link.idsBefore === null ? null : JSON.stringify(link.idsBefore),
  };
  await db
    .insertInto('sync.sub_order_links')
    .values({ order_code: orderCode, line_code: link.lineCode, ...values })
    .onConflict((conflict) => conflict.columns(['order_code', 'line_code']).doUpdateSet(values))
    .execute();
}

export async function forgetSubOrderLinks(db: Db, orderCode: string, lineCodes: readonly string[]): Promise<void> {
  if (lineCodes.length === 0) return;
  await db
    .deleteFrom('sync.sub_order_links')
    .where('order_code', '=', orderCode)
    .where('line_code', 'in', lineCodes)
    .execute();
}

/** The service's product ids of these codes of the shop, as far as they were learned. */
export async function productIds(db: Db, codes: readonly string[]): Promise<Map<string, number>> {
  if (codes.length === 0) return new Map();
  const rows = await db
    .selectFrom('sync.product_links')
    .where('product_code', 'in', codes)
    .select(['product_code', 'product_id'])
    .execute();
  return new Map(rows.map((row) => [row.product_code, row.product_id]));
}

export async function userGradeIds(db: Db): Promise<Map<string, number>> {
  const rows = await db.selectFrom('sync.user_grade_links').select(['user_grade_code', 'user_grade_id']).execute();
  return new Map(rows.map((row) => [row.user_grade_code, row.user_grade_id]));
}

/**
 * Runs `work` while nobody else, in any process on this warehouse, works on the same order. The lock belongs to one
 * connection, so it goes with a process that dies.
 */
export async function withOrderLock<T>(db: Db, orderCode: string, work: (db: Db) => Promise<T>): Promise<T> {
  return db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(hashtextextended(${orderCode}, 7265766965))`.execute(connection);
    try {
      return await work(connection);
    } finally {
      await sql`select pg_advisory_unlock(hashtextextended(${orderCode}, 7265766965))`.execute(connection);
    }
  });
}
