import { sql } from 'kysely';
import type { Db } from './index.ts';

export type OrderLink = {
  orderCode: string;
  orderId: number | null;
  withContact: boolean;
  fingerprint: string | null;
  firstPushedAt: Date;
  pushedAt: Date | null;
};

export async function orderLinks(db: Db, codes: readonly string[]): Promise<Map<string, OrderLink>> {
  if (codes.length === 0) return new Map();
  const rows = await db
    .selectFrom('sync.order_links')
    .where('order_code', 'in', codes)
    .select(['order_code as orderCode', 'order_id as orderId', 'with_contact as withContact', 'fingerprint'])
    .select(['first_pushed_at as firstPushedAt', 'pushed_at as pushedAt'])
    .execute();
  return new Map(rows.map((row) => [row.orderCode, row]));
}

/** Before the first request for an order: so that what was decided about its contact outlives a crash. */
export async function decideContact(
  db: Db,
  decisions: readonly { order_code: string; with_contact: boolean }[],
): Promise<void> {
  if (decisions.length === 0) return;
  await sql`
    insert into sync.order_links (order_code, with_contact)
    select * from jsonb_to_recordset(${JSON.stringify(decisions)}::jsonb) as d (order_code text, with_contact boolean)
    on conflict (order_code) do update set with_contact = excluded.with_contact
  `.execute(db);
}

/** `shop_updated_at` is the shop's own text; `ordered_at` is its created_at. */
export type PushedOrder = {
  order_code: string;
  order_id: number | null;
  fingerprint: string;
  shop_updated_at: string;
  ordered_at: Date;
};

export async function recordOrdersPushed(db: Db, pushed: readonly PushedOrder[]): Promise<void> {
  if (pushed.length === 0) return;
  await sql`
    update sync.order_links l
    set order_id = p.order_id, fingerprint = p.fingerprint, shop_updated_at = p.shop_updated_at,
      ordered_at = p.ordered_at, pushed_at = clock_timestamp()
    from jsonb_to_recordset(${JSON.stringify(pushed)}::jsonb)
      as p (order_code text, order_id bigint, fingerprint text, shop_updated_at timestamptz, ordered_at timestamptz)
    where l.order_code = p.order_code
  `.execute(db);
}

export type SubOrderLink = {
  lineCode: string;
  subOrderId: number | null;
  content: unknown;
  idsBefore: number[] | null;
};

/** What is remembered of the lines of these orders, by order code. */
export async function subOrderLinksOf(db: Db, orderCodes: readonly string[]): Promise<Map<string, SubOrderLink[]>> {
  if (orderCodes.length === 0) return new Map();
  const rows = await db
    .selectFrom('sync.sub_order_links')
    .where('order_code', 'in', orderCodes)
    .select(['order_code as orderCode', 'line_code as lineCode', 'sub_order_id as subOrderId', 'content'])
    .select('ids_before as idsBefore')
    .orderBy('order_code')
    .orderBy('line_code')
    .execute();
  return Map.groupBy(rows, (row) => row.orderCode);
}

export async function saveSubOrderLinks(
  db: Db,
  links: readonly (SubOrderLink & { orderCode: string })[],
): Promise<void> {
  if (links.length === 0) return;
  const rows = links.map(({ orderCode, lineCode, subOrderId, content, idsBefore }) => ({
    ...{ order_code: orderCode, line_code: lineCode, sub_order_id: subOrderId, content, ids_before: idsBefore },
  }));
  await sql`
    insert into sync.sub_order_links
      (order_code, line_code, sub_order_id, content, ids_before, product_id, status, delivered_at)
    select order_code, line_code, sub_order_id, content, nullif(ids_before, 'null'),
      (content ->> 'product_id')::bigint, content ->> 'status', (content ->> 'delivered_at')::timestamptz
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as r (order_code text, line_code text, sub_order_id bigint, content jsonb, ids_before jsonb)
    on conflict (order_code, line_code) do update
    set sub_order_id = excluded.sub_order_id, content = excluded.content, ids_before = excluded.ids_before,
      product_id = excluded.product_id, status = excluded.status, delivered_at = excluded.delivered_at
  `.execute(db);
}

export async function forgetSubOrderLinks(
  db: Db,
  lines: readonly { order_code: string; line_code: string }[],
): Promise<void> {
  if (lines.length === 0) return;
  await sql`
    delete from sync.sub_order_links l
    using jsonb_to_recordset(${JSON.stringify(lines)}::jsonb) as r (order_code text, line_code text)
    where l.order_code = r.order_code and l.line_code = r.line_code
  `.execute(db);
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
 * Runs `work` while nobody else, in any process on this warehouse, works under one of the same keys. The locks belong
 * to one connection, so they go with a process that dies; in one order for all, so that two never wait for each other.
 */
export async function withLocks<T>(db: Db, keys: readonly string[], work: (db: Db) => Promise<T>): Promise<T> {
  const sorted = [...new Set(keys)].sort();
  return db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(hashtextextended(key, 7265766965)) from unnest(${sorted}::text[]) as key`.execute(
      connection,
    );
    try {
      return await work(connection);
    } finally {
      await sql`select pg_advisory_unlock(hashtextextended(key, 7265766965)) from unnest(${sorted}::text[]) as key`.execute(
        connection,
      );
    }
  });
}

/** The warehouse's clock, for what is compared with what it wrote. */
export async function warehouseNow(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  return rows[0]?.now ?? new Date(0);
}
