import { isTooLong } from '../base/codes.ts';
import { columnsOf } from './queries.ts';
import { computed, readByKey } from './read-by-key.ts';
import type { RawRow } from './rows.ts';
import {
  attempt,
  codesByCreation,
  isShopConflict,
  isShopTimeout,
  keylessRows,
  type OrderKey,
  type OrderPage,
  type OrderQueries,
  type OrderRange,
  rowsByKey,
  rowsWithout,
  type ShopSession,
  tooManyAtOnce,
  valuesOf,
  walkedColumn,
  walkOrders,
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
 *
 * @throws ReviewSyncError `shop-query` if the database cannot compute the date of some order, `shop-timeout` if the
 *   statement takes longer than 30 s.
 */
export async function readOrderPage(
  session: ShopSession,
  { orders, feed }: OrderQueries,
  range: OrderRange,
): Promise<OrderPage> {
  const query = range.axis === 'updated' && feed ? feed : orders;
  const walked = await computed(session, query, () => walkOrders(session, query, range)).catch((error: unknown) => {
    if (!isShopTimeout(error) || isShopConflict(error)) throw error;
    const what = query === orders ? 'orders' : 'changes';
    throw tooManyAtOnce(`the next ${range.size} ${what}`, walkedColumn(query, range.axis), error);
  });
  const newest = new Map<string, OrderKey>();
  for (const key of walked.filter(({ code }) => !isTooLong(code))) {
    newest.delete(key.code);
    newest.set(key.code, key);
  }
  const [keys, last] = [[...newest.values()], walked.at(-1)];
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
  const found = await readByKey(session, queries.orders, 'code', [...new Set(codes)]);
  const orders = found.flatMap(({ key, rows, fault }): RawOrder[] => {
    if (fault !== undefined) return [{ order: { ...rows[0], code: rows[0]?.code ?? key }, lines: [], fault }];
    if (rows.length === 1)
      return rows.map((order) => ({ order, lines: [], ...(order.code !== key && { asked: key }) }));
    const byCode = new Map(rows.map((order) => [order.code, order]));
    const repeated = `orders.sql: code is there in ${rows.length} rows, expected one; a join may multiply rows`;
    return [...byCode.values()].map((order) => ({ order, lines: [], fault: repeated, asked: key }));
  });
  const readable = orders.filter((one) => one.fault === undefined).map(({ order }) => order.code ?? '');
  const lines = new Map((await readByKey(session, queries.lines, 'order_code', readable)).map((one) => [one.key, one]));
  return orders.map((raw): RawOrder => {
    const of = raw.fault === undefined ? lines.get(raw.order.code ?? '') : undefined;
    if (of === undefined) return raw;
    if (of.fault !== undefined) return { ...raw, fault: of.fault };
    const sorted = of.rows.toSorted((a, b) => ((a.line_code ?? '') < (b.line_code ?? '') ? -1 : 1));
    return { ...raw, lines: sorted.map((line) => ({ ...line, order_code: of.key })) };
  });
}

/** Rows that `readKeylessOrders` gives at most. */
export const keylessAtMost = 1000;

/**
 * Rows whose code is null, blank, longer than `longestCode` or has a NUL, or whose date is null or outside the years 1
 * to 9999.
 */
export async function readKeylessOrders(session: ShopSession, { orders, feed }: OrderQueries): Promise<RawRow[]> {
  const dates = feed === undefined ? ['created_at', 'updated_at'] : ['created_at'];
  return computed(session, orders, () => keylessRows(session, orders, dates, columnsOf(orders), keylessAtMost));
}

/** Orders looked at to see whether lines belong to orders at all. */
const sampleSize = 200;

/** The newest and the oldest orders with their lines. */
export async function readOrderSample(
  session: ShopSession,
  queries: OrderQueries,
): Promise<{ orders: RawOrder[]; linesWithoutOrderCode: number }> {
  const { orders, lines } = queries;
  const codes: string[] = [];
  for (const which of ['newest', 'oldest'] as const) {
    codes.push(...(await computed(session, orders, () => codesByCreation(session, orders, which, sampleSize))));
  }
  const found = await readOrders(session, queries, codes);
  const orphans = await attempt(session, () => rowsWithout(session, lines, 'order_code', sampleSize));
  return { orders: found, linesWithoutOrderCode: 'value' in orphans ? orphans.value.length : 0 };
}

/**
 * Whether lines belong to orders at all: undefined if they do, else a sentence. They do not if none of the newest
 * orders has a line although order_lines.sql has rows: then its order_code is not the code of orders.sql.
 */
export async function findLinesFault(
  session: ShopSession,
  { orders, lines }: OrderQueries,
): Promise<string | undefined> {
  const looked = await attempt(session, async () => {
    const newest = await codesByCreation(session, orders, 'newest', sampleSize);
    const found = await rowsByKey(session, lines, 'order_code', newest, ['order_code']);
    const isWithout = newest.length > 0 && found.length === 0;
    return { newest, others: isWithout ? await valuesOf(session, lines, 'order_code', 1) : [] };
  });
  // A row that cannot be computed is another fault, reported under its own key.
  if ('dataFault' in looked || looked.value.others.length === 0) return undefined;
  const { newest, others } = looked.value;
  const shown = ([code]: readonly string[]) => JSON.stringify(code?.slice(0, 40));
  const none =
    newest.length === 1 ? 'The only order has no line' : `None of the newest ${newest.length} orders has a line`;
  return (
    `${none}, although order_lines.sql has rows: an order is called ${shown(newest)} in orders.sql, ` +
    `and ${shown(others)} in order_lines.sql`
  );
}
