import type { ReviewSyncError } from '../base/errors.ts';
import type { RawOrder } from './orders.ts';
import { isShopTimeout, statementSeconds } from './shop-timeout.ts';

/**
 * Parts of a reading that took too long. With 8, one slow order of 200 is found with three cancelled statements; with
 * 2, with eight.
 */
const parts = 8;

/**
 * The limit with which slow orders are found, where another order can be read within it. One order takes some
 * milliseconds.
 */
const searchSeconds = 2;

/** Of one reading, in statements that were cancelled. To find 200 slow orders of 200 takes nine minutes. */
const cancelledSecondsAtMost = 600;

type Reads = {
  /**
   * One transaction, so that an order and its lines are of one moment. @param seconds that each of its statements may
   * take.
   */
  read(codes: readonly string[], seconds: number): Promise<RawOrder[]>;
  /** The first two codes after this one; the first two of all where it is empty. */
  nextCodes(code: string): Promise<string[]>;
};

type Suspect = { suspect: string; error: ReviewSyncError };

/**
 * Reads orders so that those that take too long cost only themselves.
 *
 * 1. Read all of them at once, each statement within 30 s.
 * 2. Where that takes too long, see within how many seconds another order of the shop can be read: 2 or 30. Where none
 *    can, the shop fails for all of them.
 * 3. Read them in parts within that limit, and a part that takes too long in parts again, down to the single order.
 * 4. Read each order that took longer than 2 s alone within 30 s, as long as the ten minutes of the reading last.
 *
 * @returns with a `fault` for each order that took too long alone.
 * @throws ReviewSyncError `shop-timeout` where no other order can be read, or where single orders take longer than 2 s
 *   each and
 * more than 20 statements longer than 30 s.
 */
export async function readSlowAlone(codes: readonly string[], { read, nextCodes }: Reads): Promise<RawOrder[]> {
  let cancelledSeconds = 0;

  /** @returns the error of a statement that took too long. */
  async function attempt(some: readonly string[], seconds: number): Promise<RawOrder[] | ReviewSyncError> {
    try {
      return await read(some, seconds);
    } catch (error) {
      if (!isShopTimeout(error)) throw error;
      cancelledSeconds += seconds;
      return error;
    }
  }

  /** The seconds within which some other order can be read; undefined where none can. */
  async function findLimit(): Promise<number | undefined> {
    const tried: string[] = [];
    for await (const code of others()) {
      if (Array.isArray(await attempt([code], searchSeconds))) return searchSeconds;
      tried.push(code);
    }
    for (const code of tried) if (Array.isArray(await attempt([code], statementSeconds))) return statementSeconds;
    return undefined;
  }

  /**
   * Orders that were not asked for, because all that were may be slow; where there are none, two of those that were.
   */
  async function* others(): AsyncGenerator<string, void, undefined> {
    const last = codes.at(-1) ?? '';
    let isAnother = false;
    for (const after of [last, '']) {
      for (const code of await codesAfter(after)) {
        if (codes.includes(code)) continue;
        isAnother = true;
        yield code;
      }
    }
    if (!isAnother && codes.length > 1) yield* [...codes.slice(0, 1), last];
  }

  /** None where no index serves: then the walk itself reads the slow order. */
  const codesAfter = (code: string) =>
    nextCodes(code).catch((error: unknown): string[] => {
      if (isShopTimeout(error)) return [];
      throw error;
    });

  async function readPart(some: readonly string[], seconds: number): Promise<(RawOrder | Suspect)[]> {
    const result = await attempt(some, seconds);
    if (Array.isArray(result)) return result;
    const [code] = some;
    if (some.length === 1 && code !== undefined) return [{ suspect: code, error: result }];
    if (cancelledSeconds > cancelledSecondsAtMost) throw result;
    return readInParts(some, seconds);
  }

  async function readInParts(some: readonly string[], seconds: number): Promise<(RawOrder | Suspect)[]> {
    const size = Math.ceil(some.length / parts);
    const found: (RawOrder | Suspect)[] = [];
    for (let at = 0; at < some.length; at += size) {
      found.push(...(await readPart(some.slice(at, at + size), seconds)));
    }
    return found;
  }

  async function readSuspect({ suspect, error }: Suspect, seconds: number): Promise<RawOrder[]> {
    if (seconds === statementSeconds) return [slowOrder(suspect, error)];
    if (cancelledSeconds + statementSeconds > cancelledSecondsAtMost) return [slowOrder(suspect, error)];
    const result = await attempt([suspect], statementSeconds);
    return Array.isArray(result) ? result : [slowOrder(suspect, result)];
  }

  const all = await attempt(codes, statementSeconds);
  if (Array.isArray(all)) return all;
  const seconds = await findLimit();
  if (seconds === undefined) throw all;
  const [only] = codes;
  if (codes.length === 1 && only !== undefined) return [slowOrder(only, all)];
  const orders: RawOrder[] = [];
  for (const one of await readInParts(codes, seconds)) {
    orders.push(...('suspect' in one ? await readSuspect(one, seconds) : [one]));
  }
  return orders;
}

const slowOrder = (code: string, { message, hint }: ReviewSyncError): RawOrder => ({
  order: { code },
  lines: [],
  fault: `${message}, for this order alone. ${hint}`,
});
