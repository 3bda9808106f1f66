import { sql } from 'kysely';
import type { Db } from '../index.ts';

/** What is remembered of an order from its last push. */
export type OrderLink = {
  orderCode: string;
  /** The service's id; null: no response was recorded yet, but a request may have been sent. */
  orderId: number | null;
  /** Hash of what was last pushed; null: push again. */
  fingerprint: string | null;
  /** Dead letters of the last push. */
  failures: number;
  /** Pushes that have failed one after the other since the shop last changed the order. */
  failedPushes: number;
  /** The time has come to push the order again although the shop did not change it. */
  isRetryDue: boolean;
  /** The contents of the line links may be older than what the service holds: a push did not record what it changed. */
  areLinesUnsure: boolean;
  /** Sub-orders that are to be removed, or 1 where the shop has deleted the order; and whether that is held back. */
  removalsWanted: number;
  removalsHeld: boolean;
  /** Hash of the contact that the shop had at the last push, and whether it was sent. */
  contactHash: string | null;
  contactSent: boolean;
  sentFields: readonly string[] | null;
  /** The shop's member grade at the last push, whether or not the service had it. */
  userGradeCode: string | null;
  /** Creations whose sub-orders the service has not shown, and may show yet. Their lines may have other sub-orders by now, or none. */
  unseen: readonly LineLinkRow[];
  pushedAt: Date | null;
  firstPushedAt: Date;
};

/** What is remembered of an order line: its sub-order, or that one is about to be created (`subOrderId` null). */
export type LineLinkRow<Content = unknown> = Readonly<{
  lineCode: string;
  subOrderId: number | null;
  /** As last pushed, or as being created. */
  content: Content;
  /** The order's sub-orders just before ours was created; null: we did not create it (an unmanaged sub-order). */
  idsBefore: readonly number[] | null;
}>;

/** What is remembered of these orders, by code. */
export async function orderLinks(db: Db, codes: readonly string[]): Promise<Map<string, OrderLink>> {
  if (codes.length === 0) return new Map();
  const links = await db
    .selectFrom('sync.order_links')
    .where('order_code', 'in', codes)
    .select(['order_code as orderCode', 'order_id as orderId', 'failures'])
    .select(['contact_hash as contactHash', 'contact_sent as contactSent', 'sent_fields as sentFields'])
    .select(['pushed_at as pushedAt', 'first_pushed_at as firstPushedAt'])
    .select(['failed_pushes as failedPushes', 'removals_held as removalsHeld', 'removals_wanted as removalsWanted'])
    .select(['lines_unsure as areLinesUnsure', 'user_grade_code as userGradeCode', 'unseen_creations as unseen'])
    // While a push is under way, or after one that died, the order may differ from what was last recorded.
    .select(sql<string | null>`case when lease_owner is null then fingerprint end`.as('fingerprint'))
    .select(sql<boolean>`coalesce(retry_at <= clock_timestamp(), false)`.as('isRetryDue'))
    .execute();
  return new Map(links.map((link) => [link.orderCode, link]));
}

/** What is remembered of the lines of these orders, by order code. */
export async function orderLines(db: Db, codes: readonly string[]): Promise<Map<string, LineLinkRow[]>> {
  if (codes.length === 0) return new Map();
  const lines = await db
    .selectFrom('sync.sub_order_links')
    .where('order_code', 'in', codes)
    .select(['order_code as orderCode', 'line_code as lineCode', 'sub_order_id as subOrderId', 'content'])
    .select('ids_before as idsBefore')
    .orderBy('order_code')
    .orderBy('line_code')
    .execute();
  return Map.groupBy(lines, (line) => line.orderCode);
}

/** Another process is pushing the order: which one, and when its lease expires unless it renews it. */
export type OtherLease = { orderCode: string; leasedBy: string; leasedUntil: Date };

/** Who pushes these orders at the moment, by code. */
export async function otherLeases(db: Db, codes: readonly string[]): Promise<Map<string, OtherLease>> {
  if (codes.length === 0) return new Map();
  const leased = await db
    .selectFrom('sync.order_links')
    .where('order_code', 'in', codes)
    .where('lease_owner', 'is not', null)
    .select(['order_code', 'lease_owner', 'lease_expires_at'])
    .execute();
  return new Map(
    leased.map((row) => [
      row.order_code,
      { orderCode: row.order_code, leasedBy: row.lease_owner ?? '', leasedUntil: row.lease_expires_at ?? new Date() },
    ]),
  );
}

/** Forgets the fingerprints of these orders, so that the next run pushes them although they have not changed. */
export async function forgetFingerprints(db: Db, orderCodes: readonly string[]): Promise<void> {
  if (orderCodes.length === 0) return;
  await db
    .updateTable('sync.order_links')
    .set({ fingerprint: null, retry_at: null })
    .where('order_code', 'in', orderCodes)
    .execute();
}

/** Marks what is remembered of these orders as unsure: the next push of each compares it with what the service shows. */
export async function markOrdersUnsure(db: Db, codes: readonly string[]): Promise<void> {
  if (codes.length === 0) return;
  await db
    .updateTable('sync.order_links')
    .set({ fingerprint: null, lines_unsure: true })
    .where('order_code', 'in', codes)
    .execute();
}
