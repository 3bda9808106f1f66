import type { ReviewSyncError } from '../base/errors.ts';
import { sleep } from '../base/timeout.ts';
import type { RawOrder } from './orders.ts';
import { readInHalves } from './read-by-key.ts';
import { isShopConflict, isShopTimeout, statementSeconds } from './shop-timeout.ts';

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
