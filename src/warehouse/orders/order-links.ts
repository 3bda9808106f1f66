import { type Db, isAny, listOf, rowsOf, write } from '../index.ts';

/** Whether requests about an order may carry contact data; `forgotten`: never; null: no push has begun yet. */
export type ContactDecision = 'allowed' | 'withheld' | 'forgotten' | null;

/** What is remembered of an order. */
export type OrderLink = {
  orderCode: string;
  /** The service's id; null: no response was recorded yet, but a request may have been sent. */
  orderId: number | null;
  /** The shop's date of creation when it was last pushed; null: no push of it has begun. */
  orderedAt: Date | null;
  /** Hash of what was last pushed; null: push again, also because a push has begun and was not recorded. */
  fingerprint: string | null;
  /** Decided when a push of the order first began, or by a backfill before one was recorded; later only by `forget`. */
  contact: ContactDecision;
  /** Optional fields that the service was last sent a value of. */
  sentFields: readonly string[];
  /** Pushes or readings that have failed one after the other. */
  failedPushes: number;
  /** When the order is to be pushed again although the shop did not change it; null: never. */
  dueAt: Date | null;
  /** That time has come. */
  isDue: boolean;
  pushedAt: Date | null;
};

/** What is remembered of an order line: its sub-order, or that one is about to be created (`subOrderId` null). */
export type LineLinkRow<Content = unknown> = Readonly<{
  /** The shop's; `sub-order 12` if the line has another sub-order by now, and this one is to be removed or stays. */
  lineCode: string;
  subOrderId: number | null;
  /** As last sent. */
  content: Content;
  /** Whether we created the sub-order. Only such a one is ever deleted. */
  isOurs: boolean;
  /**
   * The order's sub-orders just before the creation was first sent; null: it is certain what became of the creation. With
   * `subOrderId`, another copy may still appear: several requests were sent, or a response was lost.
   */
  idsBefore: readonly number[] | null;
  /** When the creation was written down; absent: when the link is written. */
  linkedAt?: Date | undefined;
}>;

/** What is remembered of these orders, by code. */
export async function orderLinks(db: Db, codes: readonly string[]): Promise<Map<string, OrderLink>> {
  if (codes.length === 0) return new Map();
  const links = await listOf<OrderLink>(db)`
    select order_code as "orderCode", order_id as "orderId", ordered_at as "orderedAt", contact, sent_fields as "sentFields",
      failed_pushes as "failedPushes", due_at as "dueAt", coalesce(due_at <= clock_timestamp(), false) as "isDue",
      pushed_at as "pushedAt", case when lease_owner is null then fingerprint end as fingerprint
    from sync.order_links where order_code = any(${codes})`;
  return new Map(links.map((link) => [link.orderCode, link]));
}

/** What is remembered of the lines of these orders, by order code. */
export async function orderLines(db: Db, codes: readonly string[]): Promise<Map<string, LineLinkRow[]>> {
  if (codes.length === 0) return new Map();
  const lines = await listOf<LineLinkRow & { orderCode: string }>(db)`
    select order_code as "orderCode", line_code as "lineCode", sub_order_id as "subOrderId", content,
      is_ours as "isOurs", ids_before as "idsBefore", linked_at as "linkedAt"
    from sync.sub_order_links where order_code = any(${codes}) order by order_code, line_code`;
  return Map.groupBy(lines, (line) => line.orderCode);
}

/** Another order of the shop that goes before one, and whose code a service may hold for the same. */
export type AlikeOrder = Readonly<{
  orderCode: string;
  /** The code of the other order. */
  code: string;
  /** The id of the other one at the service; null: not known yet. */
  orderId: number | null;
  /** The other code by which the service has shown an order for this one; null: it has not. */
  shownCode: string | null;
}>;

/** The other orders that go before these; before an order with an id only those with the same one. */
export async function alikeOrders(db: Db, codes: readonly string[]): Promise<readonly AlikeOrder[]> {
  return codes.length === 0 ? [] : rowsOf<AlikeOrder>(db, 'alike_orders', codes);
}

/** Whether the order with this id at the service is that of another code, which the service may hold for this one. */
export const isOfAnother = (db: Db, code: string, orderId: number) => isAny(db)`
  select from sync.order_links
  where sync.code_key(order_code) = sync.code_key(${code}) and order_code <> ${code} and order_id = ${orderId}`;

/** The next run pushes those of these orders that the warehouse remembers, although the shop did not change them. */
export const makeDue = (db: Db, codes: readonly string[]) => write(db)`
  update sync.order_links set due_at = clock_timestamp() where order_code in (
    select order_code from sync.order_links where order_code = any(${codes}) order by order_code for update
  )`;

/** Makes the other orders due whose codes a service may hold for one of these. */
export const makeAlikeDue = (db: Db, code: string, others: readonly string[]) => write(db)`
  update sync.order_links set due_at = clock_timestamp() where order_code in (
    select order_code from sync.order_links
    where sync.code_key(order_code) in (select sync.code_key(c) from unnest(${others}::text[]) as c) and order_code <> ${code}
    order by order_code for update
  )`;
