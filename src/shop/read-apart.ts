import { describeWithHint } from '../base/errors.ts';
import { sleep } from '../base/timeout.ts';
import { isShopCancelled, isShopConflict, isShopFault, statementSeconds } from './shop-errors.ts';

/** Keys in one statement. */
const keysAtOnce = 500;

/** The limit of a statement in the search for slow rows. One order takes some milliseconds. */
const searchSeconds = 2;

/** If this many single keys were cancelled before any other key was read, the whole shop is slow, not a row. */
const cancelledAtMost = 3;

/**
 * Reads the rows of these keys so that a bad row costs only itself: a row that the database cannot compute, that takes
 * too long, or that a standby cancels. Reads 500 keys at a time. If that fails, reads halves, down to the single key.
 * After a statement that took too long, a half has 2 s; a single key always has 30 s.
 *
 * @param read one transaction, so that an order and its lines have one snapshot. Each statement may take `seconds`.
 * @param faulty the result for a key that cannot be read, and why.
 * @throws ReviewSyncError `shop-timeout` if the first three single keys take too long and no other key was read before:
 *   the shop is slow.
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
 * or later statement may pass. A page of 50,000 rows is given up after 15 s.
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
