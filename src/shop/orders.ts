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
 * An order with its lines. `fault`: why the order cannot be read. It becomes a dead letter under its code, and `order`
 * has what could be read, at least the code. `asked`: the requested code if it is spelled differently and the column
 * treats both as equal.
 */
export type RawOrder = { order: RawRow; lines: RawRow[]; fault?: string; asked?: string };

/**
 * Reads one page of a walk. By last change, it reads the change feed if there is one: each code once, with its newest
 * change on the page, the newest change last. Codes that are too long are left out: their orders cannot be stored.
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
 * The orders of these codes with their lines, as they are now, without orders that are gone. Each order comes once,
 * under its code in orders.sql. Its lines come under the same code, whatever order_lines.sql writes. Codes that the
 * column treats as equal, such as `a1` and `A1`, are one code in two rows.
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
  const lines = await linesByOrder(session, queries, readable);
  return orders.map((raw) => {
    const code = raw.order.code ?? '';
    const own = raw.fault === undefined ? (lines.get(code) ?? []) : [];
    const sorted = own.toSorted((a, b) => ((a.line_code ?? '') < (b.line_code ?? '') ? -1 : 1));
    return { ...raw, lines: sorted.map((line) => ({ ...line, order_code: code })) };
  });
}

/**
 * The lines of these orders, by code. If order_lines.sql ignores case and orders.sql does not, `A1` is found for `a1`,
 * too. Such a line belongs to the order that is spelled like it. Without such an order, it belongs to the order that
 * found it.
 */
async function linesByOrder(
  session: ShopSession,
  queries: OrderQueries,
  codes: readonly string[],
): Promise<Map<string, RawRow[]>> {
  const found = await rowsByKey(session, queries.lines, 'order_code', codes);
  const rows = [...found].flatMap(([key, lines]) => lines.map((line) => ({ key, line, own: line.order_code ?? key })));
  const spelled = [...new Set(rows.flatMap(({ key, own }) => (own === key ? [] : own)))];
  const alike = await rowsByKey(session, queries.orders, 'code', spelled);
  const isOrder = new Set([...alike.values()].flat().map(({ code }) => code));
  const byOrder = Map.groupBy(rows, ({ key, own }) => (isOrder.has(own) ? own : key));
  return new Map([...byOrder].map(([code, of]) => [code, of.map(({ line }) => line)]));
}

/** The most rows of `keylessOrders`. */
export const keylessAtMost = 1000;

/** Orders that are checked for lines. */
export const sampleSize = 200;

/**
 * A sentence if lines do not belong to orders, else undefined. If none of the newest orders has a line although
 * order_lines.sql has rows, its order_code is not the code of orders.sql.
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
