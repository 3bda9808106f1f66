import { columnsOf } from './queries.ts';
import { describeDataFault, type FoundRows, notComputable, readByKey } from './read-by-key.ts';
import type { RawRow } from './rows.ts';
import type { OrderKey, OrderPage, OrderPosition, OrderRange, ShopQuery, ShopSession, WalkedKey } from './session.ts';

export type { OrderKey, OrderPage, OrderPosition, OrderRange } from './session.ts';

/**
 * An order with its lines. `fault`: the order cannot be read, and why; it becomes a dead letter under its code, and
 * `order` holds what could be read, at least the code.
 */
export type RawOrder = { order: RawRow; lines: RawRow[]; fault?: string };

export type OrderQueries = { orders: ShopQuery; lines: ShopQuery; feed: ShopQuery | undefined };

/** The beginning of every walk. */
export const fromTheStart: OrderPosition = { at: '-infinity', code: '' };

/**
 * One page of a walk over the orders. Where the database cannot compute the date of some order, the walk goes on by
 * code: it then reads the dates by code, leaves out orders outside the range, and includes those whose date cannot be
 * computed.
 *
 * @throws ReviewSyncError `shop-timeout` where the statement takes longer than 30 s.
 */
export async function readOrderPage(
  session: ShopSession,
  { orders }: OrderQueries,
  range: OrderRange,
): Promise<OrderPage> {
  const { axis, after, size } = range;
  if (axis !== 'code' && after.byCode === undefined) {
    const walked = await session.attempt(() => session.walk(orders, range));
    if ('value' in walked) return pageByDate(walked.value, size);
  }
  const from = after.byCode ?? (axis === 'code' ? after.code : '');
  const start: OrderPosition = { at: '-infinity', code: from };
  const walked = await session.attempt(() => session.walk(orders, { axis: 'code', after: start, size }));
  if ('dataFault' in walked) throw notComputable(orders, describeDataFault(walked.dataFault));
  const codes = [...new Set(walked.value.map(({ code }) => code))];
  const last = walked.value.length < size ? undefined : walked.value.at(-1)?.code;
  if (axis === 'code') {
    const next = last === undefined ? {} : { next: { at: '-infinity', code: last } };
    return { keys: codes.map((code) => ({ at: '', code })), ...next, isByDate: false };
  }
  const name = axis === 'updated' ? 'updated_at' : 'created_at';
  const dated = await readByKey(session, orders, 'code', codes, ['code', name]);
  const [least, most] = [sortableMs(after.at), sortableMs(range.before ?? 'infinity')];
  const keys = dated.flatMap(({ key, rows, fault }): OrderKey[] => {
    if (fault !== undefined) return [{ at: '', code: key }];
    const at = rows[0]?.[name] ?? undefined;
    return at === undefined || sortableMs(at) < least || sortableMs(at) >= most ? [] : [{ at, code: key }];
  });
  return { keys, ...(last !== undefined && { next: { ...after, byCode: last } }), isByDate: false };
}

/**
 * One page of changed_orders.sql: each code once, with its newest change of the page, the newest change last.
 *
 * @throws ReviewSyncError `shop-timeout` where the statement takes longer than 30 s.
 */
export async function readChangePage(
  session: ShopSession,
  feed: ShopQuery,
  { after, size }: { after: OrderPosition; size: number },
): Promise<OrderPage> {
  const read = await session.attempt(() => session.changes(feed, after, size));
  if ('dataFault' in read) throw notComputable(feed, describeDataFault(read.dataFault));
  const newest = new Map<string, OrderKey>();
  for (const { at, code } of read.value) {
    newest.delete(code);
    newest.set(code, { at, code });
  }
  return { ...pageByDate(read.value, size), keys: [...newest.values()] };
}

function pageByDate(walked: readonly WalkedKey[], size: number): OrderPage {
  const keys = walked.map(({ at, code }) => ({ at, code }));
  const last = walked.at(-1);
  if (last === undefined || walked.length < size) return { keys, isByDate: true };
  if (!Number.isNaN(Date.parse(last.at))) return { keys, next: last, isByDate: true };
  // A full page of dates before the year 1 or after 9999. The former come first in the walk, the latter last.
  const isBefore = last.at.startsWith('year -') || last.at === 'year 1';
  return isBefore ? { keys, next: { at: '0001-01-03T00:00:00Z', code: '' }, isByDate: true } : { keys, isByDate: true };
}

/** In milliseconds. Dates before the year 1 come before, other texts that are no date after all dates. */
function sortableMs(at: string): number {
  const ms = Date.parse(at);
  if (!Number.isNaN(ms)) return ms;
  return at.startsWith('-') || at.startsWith('year -') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/**
 * The orders of these codes with their lines, as they are now; those that are gone are left out. Each order comes once,
 * under the code that orders.sql gives it, and so do its lines, whatever their query writes.
 */
export async function readOrders(
  session: ShopSession,
  queries: OrderQueries,
  codes: readonly string[],
): Promise<RawOrder[]> {
  const found = await readByKey(session, queries.orders, 'code', [...new Set(codes)]);
  const orders = found.flatMap(({ key, rows: [order, ...more], fault }): RawOrder[] => {
    if (fault !== undefined) return [{ order: { ...order, code: order?.code ?? key }, lines: [], fault }];
    if (order === undefined) return [];
    if (more.length === 0) return [{ order, lines: [] }];
    return [
      {
        order,
        lines: [],
        fault: `orders.sql: code is there in ${more.length + 1} rows, expected one; a join may multiply rows`,
      },
    ];
  });
  const readable = orders.filter((one) => one.fault === undefined).map(({ order }) => order.code ?? '');
  const lines = await readByKey(session, queries.lines, 'order_code', readable);
  const byCode = new Map(lines.map((one) => [one.key, one]));
  const others = await otherOrders(session, queries.orders, lines);
  return orders.map((raw): RawOrder => {
    const of = raw.fault === undefined ? byCode.get(raw.order.code ?? '') : undefined;
    if (of === undefined) return raw;
    if (of.fault !== undefined) return { order: raw.order, lines: [], fault: of.fault };
    const own = of.rows.filter((line) => !others.has(line.order_code ?? ''));
    const sorted = own.toSorted((a, b) => ((a.line_code ?? '') < (b.line_code ?? '') ? -1 : 1));
    return { order: raw.order, lines: sorted.map((line) => ({ ...line, order_code: of.key })) };
  });
}

/**
 * The codes of lines that are found under another spelling of their code, and whose own spelling is an order too: where
 * a column ignores case, the lines of `a1` are found for `A1`.
 */
async function otherOrders(session: ShopSession, orders: ShopQuery, lines: readonly FoundRows[]): Promise<Set<string>> {
  const spelled = lines.flatMap(({ key, rows }) =>
    rows.flatMap(({ order_code: code }) => (code && code !== key ? code : [])),
  );
  if (spelled.length === 0) return new Set();
  const found = await readByKey(session, orders, 'code', [...new Set(spelled)], ['code']);
  return new Set(found.flatMap(({ key, rows }) => (rows.some(({ code }) => code === key) ? key : [])));
}

/** Rows that the check of orders without key gives at most. */
const keylessAtMost = 1000;

/**
 * Rows whose code is null, blank, longer than `longestCode` or has a NUL, or whose date is null. `isComplete`: false
 * where there may be more of them than the 1000 given.
 */
export type KeylessOrders = { rows: RawRow[]; isComplete: boolean };

export async function readKeylessOrders(session: ShopSession, { orders, feed }: OrderQueries): Promise<KeylessOrders> {
  const dates = feed === undefined ? ['created_at', 'updated_at'] : ['created_at'];
  const given = (rows: RawRow[]) => ({ rows, isComplete: rows.length < keylessAtMost });
  const whole = await session.attempt(() => session.keylessRows(orders, dates, columnsOf(orders), keylessAtMost));
  if ('value' in whole) return given(whole.value);
  const keys = await session.attempt(() => session.keylessRows(orders, dates, ['code', ...dates], keylessAtMost));
  if ('value' in keys) return given(keys.value);
  // The date of some order cannot be computed: the walk finds that order and reads it by code.
  const codeless = await session.attempt(() => session.rowsWithout(orders, 'code', keylessAtMost));
  if ('value' in codeless) return given(codeless.value);
  throw notComputable(orders, describeDataFault(codeless.dataFault));
}

/** Orders looked at to see whether lines belong to orders at all. */
const sampleSize = 200;

/** The newest and the oldest orders with their lines. */
export async function readOrderSample(
  session: ShopSession,
  queries: OrderQueries,
): Promise<{ orders: RawOrder[]; linesWithoutOrderCode: number }> {
  const codes: string[] = [];
  for (const which of ['newest', 'oldest'] as const) {
    const some = await session.attempt(() => session.codesByCreation(queries.orders, which, sampleSize));
    if ('value' in some) codes.push(...some.value);
    else {
      const range = { axis: 'created', after: fromTheStart, size: sampleSize } as const;
      codes.push(...(await readOrderPage(session, queries, range)).keys.map(({ code }) => code));
    }
  }
  const orders = await readOrders(session, queries, codes);
  const orphans = await session.attempt(() => session.rowsWithout(queries.lines, 'order_code', sampleSize));
  return { orders, linesWithoutOrderCode: 'value' in orphans ? orphans.value.length : 0 };
}

/**
 * Whether lines belong to orders at all: undefined where they do, else a sentence. They do not where none of the newest
 * orders has a line although order_lines.sql has rows: then its order_code is not the code of orders.sql.
 */
export async function findLinesFault(session: ShopSession, queries: OrderQueries): Promise<string | undefined> {
  const newest = await session.attempt(() => session.codesByCreation(queries.orders, 'newest', sampleSize));
  // A row that cannot be computed is another fault, reported under its own key.
  if ('dataFault' in newest || newest.value.length === 0) return undefined;
  const lines = await session.attempt(() =>
    session.rowsByKey(queries.lines, 'order_code', newest.value, ['order_code']),
  );
  if ('dataFault' in lines || lines.value.length > 0) return undefined;
  const some = await session.attempt(() => session.values(queries.lines, 'order_code', 1));
  if ('dataFault' in some || some.value[0] === undefined) return undefined;
  const shown = (code: string | undefined) => JSON.stringify(code?.slice(0, 40));
  const [orders, code] = [newest.value.length, shown(newest.value[0])];
  const none = orders === 1 ? 'The only order has no line' : `None of the newest ${orders} orders has a line`;
  return (
    `${none}, although order_lines.sql has rows: an order is called ${code} in orders.sql, ` +
    `and ${shown(some.value[0])} in order_lines.sql`
  );
}
