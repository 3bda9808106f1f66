import type { RawOrder } from './orders.ts';
import { isShopTimeout, statementSeconds } from './shop-timeout.ts';

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

  async function readSome(some: readonly string[], seconds: number): Promise<RawOrder[]> {
    try {
      const orders = await read(some, seconds);
      isAnyRead = true;
      return orders;
    } catch (error) {
      if (!isShopTimeout(error)) throw error;
      const [code = ''] = some;
      if (some.length > 1) {
        const middle = Math.ceil(some.length / 2);
        return [...(await readHalf(some.slice(0, middle))), ...(await readHalf(some.slice(middle)))];
      }
      slow += 1;
      if (!isAnyRead && slow === triedAlone) throw error;
      return [{ order: { code }, lines: [], fault: `${error.message}, for this order alone. ${error.hint}` }];
    }
  }

  const readHalf = (half: readonly string[]) => readSome(half, half.length === 1 ? statementSeconds : searchSeconds);
  return readSome(codes, statementSeconds);
}
