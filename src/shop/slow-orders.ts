import type { RawOrder } from './orders.ts';
import { isShopTimeout } from './shop-timeout.ts';

/** Parts of a reading that took too long. 8: one slow order of 200 costs four statements of 30 s, with halves nine. */
const parts = 8;

/** Statements of one reading that may take too long. 20: ten minutes, and at least six slow orders of 200. */
const timeoutsAtMost = 20;

type Reads = {
  /** One transaction, so that an order and its lines are of one moment. */
  read(codes: readonly string[]): Promise<RawOrder[]>;
  /** The first two codes after this one; the first two of all where it is empty. */
  nextCodes(code: string): Promise<string[]>;
};

/**
 * Reads orders so that one that takes too long costs only itself.
 *
 * 1. Read all of them at once.
 * 2. Where that takes too long, see whether any order of the shop can be read: else the shop fails for all of them.
 * 3. Read them in parts, and a part that takes too long in parts again, down to the single order.
 *
 * @throws ReviewSyncError `shop-timeout` where no other order can be read, or more than 20 statements take too long.
 */
export async function readSlowAlone(codes: readonly string[], { read, nextCodes }: Reads): Promise<RawOrder[]> {
  let isAnyRead = false;
  let timeouts = 0;

  async function readPart(some: readonly string[]): Promise<RawOrder[]> {
    try {
      const orders = await read(some);
      isAnyRead = true;
      return orders;
    } catch (error) {
      if (!isShopTimeout(error)) throw error;
      timeouts += 1;
      isAnyRead ||= await isOtherRead(some);
      if (!isAnyRead || timeouts > timeoutsAtMost) throw error;
      const [code] = some;
      if (some.length === 1 && code !== undefined) {
        return [{ order: { code }, lines: [], fault: `${error.message}, for this order alone. ${error.hint}` }];
      }
    }
    const size = Math.ceil(some.length / parts);
    const orders: RawOrder[] = [];
    for (let at = 0; at < some.length; at += size) orders.push(...(await readPart(some.slice(at, at + size))));
    return orders;
  }

  /** One order of two: the first may be slow itself. */
  async function isOtherRead(some: readonly string[]): Promise<boolean> {
    for (const code of await othersThan(some)) {
      try {
        await read([code]);
        return true;
      } catch (error) {
        if (!isShopTimeout(error)) throw error;
      }
    }
    return false;
  }

  /** Orders that were not asked for, because all that were may be slow; where there are none, two of those that were. */
  async function othersThan(some: readonly string[]): Promise<string[]> {
    const last = some.at(-1) ?? '';
    for (const after of [last, '']) {
      try {
        const others = (await nextCodes(after)).filter((code) => !some.includes(code));
        if (others.length > 0) return others;
      } catch (error) {
        // Where no index serves, the walk itself reads the slow order.
        if (!isShopTimeout(error)) throw error;
      }
    }
    return some.length > 1 ? [...some.slice(0, 1), last] : [];
  }

  return readPart(codes);
}
