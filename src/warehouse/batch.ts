import { setTimeout as delay } from 'node:timers/promises';
import { isErrorOfTheData } from './index.ts';

type WaitingCall<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void };

/** How long calls collect for a batch, in milliseconds (docs/benchmarks.md). */
const collectMs = 20;
const callsAtOnce = 200;

/**
 * Turns single calls into batches. Calls collect for 20 ms; while a batch runs, they collect for the next. Each call
 * resolves when its batch has committed. If the database refuses an item, only the call with that item rejects.
 *
 * @param run writes all items in one statement or transaction, and returns one result for each, in the same order.
 */
export function openBatch<Item, Result>(run: (items: Item[]) => Promise<Result[]>): (item: Item) => Promise<Result> {
  const waiting: WaitingCall<Item, Result>[] = [];
  let isRunning = false;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      await delay(collectMs);
      await settle(waiting.splice(0, callsAtOnce));
    }
    isRunning = false;
  }

  async function settle(batch: WaitingCall<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map((one) => one.item));
      for (const [index, one] of batch.entries()) one.resolve(results[index] as Result);
    } catch (error) {
      if (batch.length > 1 && isErrorOfTheData(error)) for (const one of batch) await settle([one]);
      else for (const one of batch) one.reject(error);
    }
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isRunning) return;
      isRunning = true;
      void drain();
    });
}
