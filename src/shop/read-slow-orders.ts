import type { ReviewSyncError } from '../base/errors.ts';
import type { RawOrder } from './orders.ts';
import { isShopTimeout, statementSeconds } from './shop-timeout.ts';

/** The limit with which slow orders are searched for. One order takes some milliseconds. */
const searchSeconds = 2;

/** Orders that are tried alone before the shop is taken to be slow: with fewer, they are what is slow. */
const triedAlone = 3;

/**
 * One transaction, so that an order and its lines are of one moment. @param seconds that each of its statements may
 * take.
 */
type Read = (codes: readonly string[], seconds: number) => Promise<RawOrder[]>;

/**
 * Reads orders so that those that take too long cost only themselves: all at once, each statement within 30 s; where
 * that takes too long in halves, each within 2 s, down to the single order, which may take 30 s again. One slow order of
 * 200 is found within a minute and a quarter.
 *
 * @returns with a `fault` for each order that took too long alone.
 * @throws ReviewSyncError `shop-timeout` where the first three orders that are tried alone take too long and no other was
 *   read before: then the shop is slow, not an order.
 */
export async function readSlowAlone(codes: readonly string[], read: Read): Promise<RawOrder[]> {
  let isAnyRead = false;
  let slow = 0;

  /** @returns the error of a statement that took too long. */
  async function attempt(some: readonly string[], seconds: number): Promise<RawOrder[] | ReviewSyncError> {
    try {
      const orders = await read(some, seconds);
      isAnyRead = true;
      return orders;
    } catch (error) {
      if (!isShopTimeout(error)) throw error;
      return error;
    }
  }

  async function readOne(code: string): Promise<RawOrder[]> {
    const result = await attempt([code], statementSeconds);
    if (Array.isArray(result)) return result;
    slow += 1;
    if (!isAnyRead && slow === triedAlone) throw result;
    return [slowOrder(code, result)];
  }

  async function readInHalves(some: readonly string[]): Promise<RawOrder[]> {
    const middle = Math.ceil(some.length / 2);
    const orders: RawOrder[] = [];
    for (const half of [some.slice(0, middle), some.slice(middle)]) {
      const [only] = half;
      if (half.length === 1 && only !== undefined) {
        orders.push(...(await readOne(only)));
      } else if (half.length > 1) {
        const result = await attempt(half, searchSeconds);
        orders.push(...(Array.isArray(result) ? result : await readInHalves(half)));
      }
    }
    return orders;
  }

  const all = await attempt(codes, statementSeconds);
  if (Array.isArray(all)) return all;
  const [only] = codes;
  return codes.length === 1 && only !== undefined ? [slowOrder(only, all)] : readInHalves(codes);
}

const slowOrder = (code: string, { message, hint }: ReviewSyncError): RawOrder => ({
  order: { code },
  lines: [],
  fault: `${message}, for this order alone. ${hint}`,
});
