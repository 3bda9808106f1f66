import { isTooLong } from '../base/codes.ts';
import type { RawRow } from './rows.ts';
import {
  type OrderKey,
  type OrderPage,
  type OrderQueries,
  type OrderRange,
  orderKeys,
  rowsByKey,
  type ShopSession,
  sampleCodes,
  valuesOf,
} from './session.ts';

export type { OrderPage, OrderPosition, OrderRange } from './session.ts';

/**
 * An order with its lines. `fault`: the order cannot be read, and why; it becomes a dead letter under its code, and
 * `order` holds what could be read, at least the code. `asked`: the code by which it was asked for, where that is written
 * otherwise and the column holds both for equal.
 */
export type RawOrder = { order: RawRow; lines: RawRow[]; fault?: string; asked?: string };

/**
 * By the last change, the change feed is read if there is one: each code once, with its newest change of the page, the
 * newest change last. A code that is too long is left out: nothing can be remembered of its order.
 */
export async function readOrderPage(
  session: ShopSession,
  { orders, feed }: OrderQueries,
  range: OrderRange,
): Promise<OrderPage> {
  const walked = await orderKeys(session, range.axis === 'updated' && feed ? feed : orders, range);
  const newest = new Map<string, OrderKey>();
  for (const key of walked.filter(({ code }) => !isTooLong(code))) {
    newest.delete(key.code);
    newest.set(key.code, key);
  }
  const keys = [...newest.values()];
  const last = walked.at(-1);
  return last === undefined || walked.length < range.size ? { keys } : { keys, next: last };
}

/**
 * The orders of these codes with their lines, as they are now; those that are gone are left out. Each order comes once,
 * under the code that orders.sql gives it, and so do its lines, whatever their query writes. Codes that the column
 * holds for equal, such as `a1` and `A1`, are one code in two rows.
 */
export async function readOrders(
  session: ShopSession,
  queries: OrderQueries,
  codes: readonly string[],
): Promise<RawOrder[]> {
  const found = await rowsByKey(session, queries.orders, 'code', codes);
  const orders = codes.flatMap((key): RawOrder[] => {
    const rows = found.get(key) ?? [];
    if (rows.length <= 1) return rows.map((order) => ({ order, lines: [], ...(order.code !== key && { asked: key }) }));
    const byCode = new Map(rows.map((order) => [order.code, order]));
    const fault = `orders.sql: code is there in ${rows.length} rows, expected one; a join may multiply rows`;
    return [...byCode.values()].map((order) => ({ order, lines: [], fault, asked: key }));
  });
  const readable = orders.flatMap(({ order, fault }) => (fault === undefined ? (order.code ?? []) : []));
  const lines = await rowsByKey(session, queries.lines, 'order_code', readable);
  return orders.map((raw) => {
    const code = raw.order.code ?? '';
    const own = raw.fault === undefined ? (lines.get(code) ?? []) : [];
    const sorted = own.toSorted((a, b) => ((a.line_code ?? '') < (b.line_code ?? '') ? -1 : 1));
    return { ...raw, lines: sorted.map((line) => ({ ...line, order_code: code })) };
  });
}

/** Rows that `keylessOrders` of the shop gives at most. */
export const keylessAtMost = 1000;

/** Orders looked at to see whether lines belong to orders at all. */
export const sampleSize = 200;

/**
 * Whether lines belong to orders at all: undefined if they do, else a sentence. They do not if none of the newest
 * orders has a line although order_lines.sql has rows: then its order_code is not the code of orders.sql.
 */
export async function findLinesFault(
  session: ShopSession,
  { orders, lines }: OrderQueries,
): Promise<string | undefined> {
  const newest = await sampleCodes(session, orders, 'newest', sampleSize);
  const found = await rowsByKey(session, lines, 'order_code', newest);
  if (newest.length === 0 || found.size > 0) return undefined;
  const others = await valuesOf(session, lines, 'order_code', 'where w.order_code is not null limit 1');
  if (others.length === 0) return undefined;
  const shown = ([code]: readonly string[]) => JSON.stringify(code?.slice(0, 40));
  const none =
    newest.length === 1 ? 'The only order has no line' : `None of the newest ${newest.length} orders has a line`;
  return (
    `${none}, although order_lines.sql has rows: an order is called ${shown(newest)} in orders.sql, ` +
    `and ${shown(others)} in order_lines.sql`
  );
}
