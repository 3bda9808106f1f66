import { describeWithHint } from '../base/errors.ts';
import { sleep } from '../base/timeout.ts';
import { isShopCancelled, isShopConflict, isShopFault, statementSeconds } from './shop-errors.ts';

/** Keys that a statement names. */
const keysAtOnce = 500;

/** The limit with which slow rows are searched for. One order takes some milliseconds. */
const searchSeconds = 2;

/** If so many single keys were cancelled before any other key was read, the shop is slow, and not a row. */
const cancelledAtMost = 3;

/**
 * Reads the rows of these keys so that a bad one costs only itself: one that the database cannot compute, that takes too long,
 * or that a standby cancels. First 500 keys at a time. If that fails, in halves, down to the single key. After a statement that
 * took too long, a half has 2 s; a single key always has 30 s.
 *
 * @param read one transaction, so that an order and its lines are of one moment; each of its statements may take `seconds`.
 * @param faulty what comes of a key that cannot be read, and why.
 * @throws ReviewSyncError `shop-timeout` if the first three keys that are tried alone take too long and no other was read
 *   before: then the shop is slow.
 */
export async function readApart<T>(
  keys: readonly string[],
  read: (some: readonly string[], seconds: number) => Promise<T[]>,
  faulty: (key: string, why: string) => T,
): Promise<T[]> {
  let isAnyRead = false;
  let cancelled = 0;

  async function readSome(some: readonly string[], seconds: number): Promise<T[]> {
    try {
      const found = await read(some, some.length === 1 ? statementSeconds : seconds);
      isAnyRead = true;
      return found;
    } catch (error) {
      if (!isShopFault(error)) throw error;
      const isCancelled = isShopCancelled(error);
      const [key] = some;
      if (some.length > 1 || key === undefined) {
        const middle = Math.ceil(some.length / 2);
        const limit = isCancelled ? searchSeconds : seconds;
        return [...(await readSome(some.slice(0, middle), limit)), ...(await readSome(some.slice(middle), limit))];
      }
      if (isCancelled) cancelled += 1;
      if (isCancelled && !isAnyRead && cancelled === cancelledAtMost) throw error;
      return [faulty(key, describeWithHint(error))];
    }
  }

  const unique = [...new Set(keys)];
  const found: T[] = [];
  for (let at = 0; at < unique.length; at += keysAtOnce) {
    found.push(...(await readSome(unique.slice(at, at + keysAtOnce), statementSeconds)));
  }
  return found;
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
  let some = size;
  let pauseMs = 500;
  for (;;) {
    try {
      return await read(some);
    } catch (error) {
      if (!isShopConflict(error) || some === 1) throw error;
    }
    await sleep(pauseMs, signal);
    some = Math.ceil(some / 10);
    pauseMs *= 2;
  }
}
