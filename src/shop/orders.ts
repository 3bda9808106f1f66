import pg from 'pg';
import type { RawRow } from './rows.ts';

/** A place in the shop's orders, in the order of (moment, code). The moment is text with microseconds, in UTC. */
export type OrderKey = Readonly<{ at: string; code: string }>;

/** Which date the orders are walked by: the last change, or the creation. */
export type OrderAxis = 'updated' | 'created';

/** The orders after one place (exclusive) up to another (inclusive). */
export type OrderSlice = Readonly<{ axis: OrderAxis; after: OrderKey; upTo: OrderKey }>;

/** `fault`: why its lines could not be read. */
export type RawOrder = { order: RawRow; lines: RawRow[]; fault?: string };

type Queries = { orders: string; lines: string };

const column = { updated: 'q.updated_at', created: 'q.created_at' } as const;

/** What cannot be ordered by time: such rows are found by `readKeylessOrders`. */
const datable = 'isfinite(q.updated_at) and isfinite(q.created_at)';

/**
 * Cuts what comes after `after` (and, where given, lies before `before`) into slices of `size` orders.
 *
 * @param after.code the empty text starts with the first order of that moment.
 * @returns with `now`, the shop's clock: a cursor beyond it would pass over what changes until then.
 */
export async function planOrderSlices(
  client: pg.ClientBase,
  queries: Queries,
  range: { axis: OrderAxis; after: OrderKey; before?: string; size: number },
): Promise<{ slices: OrderSlice[]; orders: number; now: string }> {
  const at = column[range.axis];
  const { rows } = await client.query<{ at: string; code: string; place: string }>(
    `select at, code, place
     from (
       select ${at} as at, q.code as code, row_number() over walk as place, lead(q.code) over walk as following
       from (${queries.orders}) q
       where q.code is not null and ${datable} and (${at}, q.code) > ($1::timestamptz, $2) and ($3::timestamptz is null or ${at} < $3)
       window walk as (order by ${at}, q.code)
     ) numbered
     where place % $4 = 0 or following is null
     order by at, code`,
    [range.after.at, range.after.code, range.before ?? null, range.size],
  );
  let after = range.after;
  const slices = rows.map(({ at: end, code }) => {
    const slice = { axis: range.axis, after, upTo: { at: end, code } };
    after = slice.upTo;
    return slice;
  });
  const [clock] = (await client.query<{ now: string }>('select now()')).rows;
  return { slices, orders: Number(rows.at(-1)?.place ?? 0), now: clock?.now ?? '' };
}

/** The orders of a slice with their lines, as they are now. */
export async function readOrderSlice(client: pg.ClientBase, queries: Queries, slice: OrderSlice): Promise<RawOrder[]> {
  const at = column[slice.axis];
  const { rows } = await client.query<RawRow>(
    `select q.* from (${queries.orders}) q
     where q.code is not null and ${datable}
       and (${at}, q.code) > ($1::timestamptz, $2) and (${at}, q.code) <= ($3::timestamptz, $4)
     order by ${at}, q.code`,
    [slice.after.at, slice.after.code, slice.upTo.at, slice.upTo.code],
  );
  return withLines(client, queries, rows);
}

/** The orders of these codes with their lines, as they are now; those that are gone are left out. */
export async function readOrders(
  client: pg.ClientBase,
  queries: Queries,
  codes: readonly string[],
): Promise<RawOrder[]> {
  const { rows } = await client.query<RawRow>(`select q.* from (${queries.orders}) q where q.code = any($1)`, [codes]);
  return withLines(client, queries, rows);
}

/** Orders that no walk would ever meet, since a part of their key is null. */
export async function readKeylessOrders(client: pg.ClientBase, queries: Queries): Promise<RawRow[]> {
  const { rows } = await client.query<RawRow>(
    `select q.* from (${queries.orders}) q
     where q.code is null or (${datable}) is not true limit 1000`,
  );
  return rows;
}

/**
 * The orders with their lines. Where the query fails on some row's data (a number that is too large, say), each order is
 * read by itself, so that only the one at fault goes without.
 */
async function withLines(client: pg.ClientBase, queries: Queries, orders: RawRow[]): Promise<RawOrder[]> {
  const all = await tryLines(client, queries, orders);
  if (!('fault' in all)) return all;
  const each: RawOrder[] = [];
  for (const order of orders) {
    const [read] = [await tryLines(client, queries, [order])].flat();
    each.push(read && 'order' in read ? read : { order, lines: [], fault: read?.fault ?? '' });
  }
  return each;
}

async function tryLines(
  client: pg.ClientBase,
  queries: Queries,
  orders: RawRow[],
): Promise<RawOrder[] | { fault: string }> {
  await client.query('savepoint lines');
  try {
    return await readLines(client, queries, orders);
  } catch (error) {
    // Class 22 is about the data; anything else is no row's fault.
    if (!(error instanceof pg.DatabaseError) || !error.code?.startsWith('22')) throw error;
    await client.query('rollback to lines');
    return { fault: `order_lines.sql: ${error.message}` };
  }
}

async function readLines(client: pg.ClientBase, queries: Queries, orders: RawRow[]): Promise<RawOrder[]> {
  const codes = orders.map((order) => order.code);
  const { rows } = await client.query<RawRow>(
    `select q.* from (${queries.lines}) q where q.order_code = any($1) order by q.order_code, q.line_code`,
    [codes],
  );
  const byOrder = Map.groupBy(rows, (line) => line.order_code);
  return orders.map((order) => ({ order, lines: byOrder.get(order.code ?? null) ?? [] }));
}
