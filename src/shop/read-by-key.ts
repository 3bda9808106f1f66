import { ReviewSyncError } from '../base/errors.ts';
import { sleep } from '../base/timeout.ts';
import type { RawOrder } from './orders.ts';
import { columnsOf } from './queries.ts';
import type { RawRow } from './rows.ts';
import {
  attempt,
  isShopConflict,
  isShopTimeout,
  rowsByKey,
  type ShopQuery,
  type ShopSession,
  statementSeconds,
} from './session.ts';

/** What the database gave for one key. `fault`: why its rows cannot be read; `rows` then hold what could be read. */
type FoundRows = { key: string; rows: RawRow[]; fault?: string };

/** Keys read at a time. */
const keysAtOnce = 500;

/** Keys that fail for no column of theirs, before any other key was read: then the query fails whatever the key is. */
const unexplainedAtMost = 5;

/**
 * Reads the rows of these keys so that one bad row costs only its own key. First in bulk. If the database fails on some
 * row's data, half of the keys at a time, down to the single key; then the columns of that key one by one.
 *
 * @returns one entry a key, in the order of `keys`; without rows if there are none.
 * @throws ReviewSyncError if no single key is to blame, because the query fails on every key for another reason.
 */
export async function readByKey(
  session: ShopSession,
  query: ShopQuery,
  key: string,
  keys: readonly string[],
): Promise<FoundRows[]> {
  const columns = columnsOf(query);
  let unexplained = 0;
  let isAnyRead = false;

  async function readSome(some: readonly string[]) {
    const all = await attempt(session, () => rowsByKey(session, query, key, some, columns));
    if ('dataFault' in all) return { fault: all.dataFault };
    isAnyRead = true;
    const byPlace = Map.groupBy(all.value, ({ place }) => place);
    const rowsAt = (place: number) => (byPlace.get(place) ?? []).map(({ row }) => row);
    return { value: some.map((one, place): FoundRows => ({ key: one, rows: rowsAt(place) })) };
  }

  /** Names the columns that fail, and gives the others. If every column fails, a condition or a join does. */
  async function readSingle(one: string, dataFault: string): Promise<FoundRows> {
    const only = (names: readonly string[]) => attempt(session, () => rowsByKey(session, query, key, [one], names));
    const failing: string[] = [];
    for (const column of columns) if ('dataFault' in (await only([column]))) failing.push(column);
    const isRow = failing.length === columns.length;
    const rest = isRow ? undefined : await only(columns.filter((column) => !failing.includes(column)));
    if (isRow) unexplained += 1;
    if (keys.length > 1 && unexplained === Math.min(keys.length, unexplainedAtMost) && !isAnyRead) {
      throw notComputable(query, dataFault);
    }
    return {
      key: one,
      rows: rest && 'value' in rest ? rest.value.map(({ row }) => row) : [],
      fault: `${query.name}.sql: ${isRow ? 'a row' : failing.join(', ')} cannot be read: ${dataFault}`,
    };
  }

  const found: FoundRows[] = [];
  for (let at = 0; at < keys.length; at += keysAtOnce) {
    found.push(...(await readInHalves(keys.slice(at, at + keysAtOnce), readSome, readSingle)));
  }
  return found;
}

/** What `read` gives. @throws ReviewSyncError `shop-query` if the database cannot compute some row of the query. */
export async function computed<T>(session: ShopSession, query: ShopQuery, read: () => Promise<T>): Promise<T> {
  const done = await attempt(session, read);
  if ('dataFault' in done) throw notComputable(query, done.dataFault);
  return done.value;
}

/** The error of a query that fails as a whole, so that nothing of it can be read. */
const notComputable = (query: ShopQuery, why: string) =>
  new ReviewSyncError('shop-query', `${query.name}.sql cannot be computed, and no single row can be named: ${why}`, {
    hint: 'One of its conditions or joins fails on some row: write it so that it gives null or false for such a row.',
  });

/**
 * Reads all keys at once. If that fails because of the keys, reads half of them at a time, down to the single key.
 *
 * @param read throws if it fails for another reason.
 * @param alone what comes of a key that failed by itself.
 */
export async function readInHalves<T, Fault>(
  keys: readonly string[],
  read: (some: readonly string[]) => Promise<{ value: T[] } | { fault: Fault }>,
  alone: (key: string, fault: Fault) => T | Promise<T>,
): Promise<T[]> {
  const all = await read(keys);
  if ('value' in all) return all.value;
  const [key] = keys;
  if (keys.length === 1 && key !== undefined) return [await alone(key, all.fault)];
  const middle = Math.ceil(keys.length / 2);
  const first = await readInHalves(keys.slice(0, middle), read, alone);
  return [...first, ...(await readInHalves(keys.slice(middle), read, alone))];
}

/** The limit with which slow orders are searched for. One order takes some milliseconds. */
const searchSeconds = 2;

/** Orders that are tried alone before the shop is taken to be slow: with fewer, they are what is slow. */
const triedAlone = 3;

/** One transaction, so that an order and its lines are of one moment; each of its statements may take `seconds`. */
type Read = (codes: readonly string[], seconds: number) => Promise<RawOrder[]>;

/**
 * Reads orders so that a slow one, or one that a standby cancels, costs only itself. First all at once, each statement
 * within 30 s. If that takes too long, in halves, each within 2 s, down to the single order, which may take 30 s again.
 *
 * @returns with a `fault` for each order that took too long alone.
 * @throws ReviewSyncError `shop-timeout` if the first three orders that are tried alone take too long and no other was
 *   read before: then the shop is slow, not an order.
 */
export async function readSlowAlone(codes: readonly string[], read: Read): Promise<RawOrder[]> {
  let isAnyRead = false;
  let slow = 0;

  async function readSome(some: readonly string[]) {
    try {
      const isHalf = some.length > 1 && some.length < codes.length;
      const value = await read(some, isHalf ? searchSeconds : statementSeconds);
      isAnyRead = true;
      return { value };
    } catch (error) {
      if (!isShopTimeout(error)) throw error;
      return { fault: error };
    }
  }

  function alone(code: string, fault: ReviewSyncError): RawOrder {
    slow += 1;
    if (!isAnyRead && slow === triedAlone) throw fault;
    return { order: { code }, lines: [], fault: `${fault.message}, for this order alone. ${fault.hint}` };
  }

  return readInHalves(codes, readSome, alone);
}

/**
 * Reads a page. If a standby cancels the statement, reads a tenth of the page after a pause, down to one row: a shorter
 * statement, or a later one, may pass. 50,000 rows are given up after 15 s.
 */
export async function readPageInParts<Page>(
  size: number,
  signal: AbortSignal,
  read: (size: number) => Promise<Page>,
): Promise<Page> {
  for (let [some, pauseMs] = [size, 500]; ; [some, pauseMs] = [Math.ceil(some / 10), pauseMs * 2]) {
    try {
      return await read(some);
    } catch (error) {
      if (!isShopConflict(error) || some === 1) throw error;
      await sleep(pauseMs, signal);
    }
  }
}
