import { type Db, isAny, listOf, rowsOf, write } from '../index.ts';

/** Whether requests about an order may carry contact. `forgotten`: never. Null: no push has begun yet. */
export type ContactDecision = 'allowed' | 'withheld' | 'forgotten' | null;

/** The warehouse's record of an order. */
export type OrderLink = {
  orderCode: string;
  /** The service's id. Null: no response was recorded yet, but a request may have been sent. */
  orderId: number | null;
  /** The shop's date of creation at the last push. Null: no push has begun. */
  orderedAt: Date | null;
  /** Hash of what was last pushed. Null: push again, for example because a push has begun and was not recorded. */
  fingerprint: string | null;
  /**
   * Decided when the first push began. Until a push is recorded, a run may still withhold what was allowed
   * (lease_orders.sql). Later only `forget` changes it.
   */
  contact: ContactDecision;
  /** Optional fields that were last sent with a value. */
  sentFields: readonly string[];
  /** Failed pushes or readings in a row. */
  failedPushes: number;
  /** When to push the order again although the shop did not change it. Null: never. */
  dueAt: Date | null;
  /** `dueAt` has passed. */
  isDue: boolean;
  pushedAt: Date | null;
};

/** The link of an order line: its sub-order, or a creation that is about to be sent (`subOrderId` null). */
export type LineLinkRow<Content = unknown> = Readonly<{
  /** The shop's code. `sub-order 12`: the line now has another sub-order, and this one is to be removed or stays. */
  lineCode: string;
  subOrderId: number | null;
  /** As last sent. */
  content: Content;
  /** Whether we created the sub-order. No other sub-order is ever deleted. */
  isOurs: boolean;
  /**
   * The order's sub-orders just before the creation was first sent. Null: the outcome of the creation is certain. If
   * `subOrderId` is also set, a copy may still appear: several requests were sent, or a response was lost.
   */
  idsBefore: readonly number[] | null;
  /** When the creation was saved. Absent: when the link is saved. */
  linkedAt?: Date | undefined;
}>;

/** The links of these orders, by code. */
export async function orderLinks(db: Db, codes: readonly string[]): Promise<Map<string, OrderLink>> {
  if (codes.length === 0) return new Map();
  const links = await listOf<OrderLink>(db)`
    select order_code as "orderCode", order_id as "orderId", ordered_at as "orderedAt", contact, sent_fields as "sentFields",
      failed_pushes as "failedPushes", due_at as "dueAt", coalesce(due_at <= clock_timestamp(), false) as "isDue",
      pushed_at as "pushedAt", case when lease_owner is null then fingerprint end as fingerprint
    from sync.order_links where order_code = any(${codes})`;
  return new Map(links.map((link) => [link.orderCode, link]));
}

/**
 * The line links of these orders, by order code. The lines of each order are looked up by themselves (`offset`): without
 * statistics, Postgres expects thousands of lines of an order, and would read all orders.
 */
export async function orderLines(db: Db, codes: readonly string[]): Promise<Map<string, LineLinkRow[]>> {
  if (codes.length === 0) return new Map();
  const lines = await listOf<LineLinkRow & { orderCode: string }>(db)`
    select order_code as "orderCode", line_code as "lineCode", sub_order_id as "subOrderId", content,
      is_ours as "isOurs", ids_before as "idsBefore", linked_at as "linkedAt"
    from unnest(${codes}::text[]) as code
    cross join lateral (select * from sync.sub_order_links where order_code = code offset 0) as line
    order by order_code, line_code`;
  return Map.groupBy(lines, (line) => line.orderCode);
}

/** Another order of the shop that goes before `orderCode`. A service may take both codes for one. */
export type AlikeOrder = Readonly<{
  orderCode: string;
  /** The code of the other order. */
  code: string;
  /** The service's id of the other order. Null: not known yet. */
  orderId: number | null;
  /** The other code that the service has shown for this order. Null: it has shown none. */
  shownCode: string | null;
}>;

/** The other orders that go before these. If an order has an id, only orders with the same id go before it. */
export async function alikeOrders(db: Db, codes: readonly string[]): Promise<readonly AlikeOrder[]> {
  return codes.length === 0 ? [] : rowsOf<AlikeOrder>(db, 'alike_orders', codes);
}

/** Whether the service's order with this id has another code, which the service may take for this one. */
export const isOfAnother = (db: Db, code: string, orderId: number) => isAny(db)`
  select from sync.order_links
  where sync.code_key(order_code) = sync.code_key(${code}) and order_code <> ${code} and order_id = ${orderId}`;

/** Makes orders with a link due: the next run pushes them although the shop did not change them. */
export const makeDue = (db: Db, codes: readonly string[]) => write(db)`
  update sync.order_links set due_at = clock_timestamp() where order_code in (
    select order_code from sync.order_links where order_code = any(${codes}) order by order_code for update
  )`;

/** Makes other orders due if a service may take their codes for one of these. */
export const makeAlikeDue = (db: Db, code: string, others: readonly string[]) => write(db)`
  update sync.order_links set due_at = clock_timestamp() where order_code in (
    select order_code from sync.order_links
    where sync.code_key(order_code) in (select sync.code_key(c) from unnest(${others}::text[]) as c) and order_code <> ${code}
    order by order_code for update
  )`;
