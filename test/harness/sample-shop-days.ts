import pg from 'pg';
import {
  type ChangeScriptOptions,
  changeScript,
  lateTransaction,
} from '../../src/sandbox/sample-shop/change-script.ts';
import type { StateDifference } from './sample-shop-state.ts';

/** A day passes for what is remembered of absent orders, of pushes and of removals. */
export const aDayPasses = `
  update sync.order_links set pushed_at = pushed_at - interval '1 day', absent_since = absent_since - interval '1 day';
  update sync.settings set removals_taken_at = array(select at - interval '1 day' from unnest(removals_taken_at) as at)`;

/** Two ends with the same orders, and the means to change the one and to sync the other. */
export type Ends = {
  shopUrl: string;
  warehouseUrl: string;
  /** A command that ends with status 0, such as `sync orders --json`. Returns what it reports. */
  cli(...args: string[]): Promise<{ counts: Record<string, number> }>;
  differences(): Promise<StateDifference[]>;
};

export type Day = {
  day: 1 | 2 | 3;
  /** Orders that each change of the day is about. */
  changes: { name: string; orders: number }[];
  /** Orders that differ once the incremental runs have ended, and how many the script says. */
  afterFeed: StateDifference[];
  afterFeedExpected: number;
  /** Orders that the rescan pushed, and how many changes the script says that no incremental run finds. */
  missed: number;
  missedExpected: number;
  /** Orders that differ after the rescan. */
  afterRescan: StateDifference[];
  afterRescanExpected: number;
};

/**
 * Lives through the three days of the change script. On each of them: change the shop, run `sync orders`, run
 * `sync reconcile`. On the first day a transaction is open during a run that reads newer changes, and commits after it.
 */
export async function* changedDays(ends: Ends, options: ChangeScriptOptions): AsyncGenerator<Day> {
  const script = changeScript(options);
  await using opened = new AsyncDisposableStack();
  const [shop, late, warehouse] = await Promise.all(
    [ends.shopUrl, ends.shopUrl, ends.warehouseUrl].map(async (connectionString) => {
      const client = new pg.Client({ connectionString });
      // The server may end before this connection does.
      client.on('error', () => {});
      await client.connect();
      opened.defer(() => client.end());
      return client;
    }),
  );
  if (!shop || !late || !warehouse) return;
  for (const day of [1, 2, 3] as const) {
    if (day === 1) await late.query(`begin; ${lateTransaction(options)}`);
    const changes: Day['changes'] = [];
    const found = { feed: 0, rescan: 0, absence: 0 };
    let removed = 0;
    for (const { name, foundBy, sql } of script[day]) {
      const orders = [await shop.query(sql)].flat().at(-1)?.rowCount ?? 0;
      changes.push({ name, orders });
      found[foundBy] += orders;
      if (name === 'an order is marked as removed without a date') removed += orders;
    }
    // The script deletes far more than usual.
    await ends.cli('sync', 'orders', '--allow-removals', '--json');
    if (day === 1) {
      await late.query('commit');
      await ends.cli('sync', 'orders', '--json');
    }
    const afterFeed = await ends.differences();
    const { counts } = await ends.cli('sync', 'reconcile', '--allow-removals', '--json');
    yield {
      day,
      changes,
      afterFeed,
      // Orders that were deleted on the first day are still at the service until the second one; half of them return on
      // it.
      afterFeedExpected: found.rescan + (day === 3 ? 0 : found.absence),
      missed: counts.orders_pushed ?? 0,
      missedExpected: found.rescan - removed,
      afterRescan: await ends.differences(),
      afterRescanExpected: day === 1 ? found.absence : 0,
    };
    await warehouse.query(aDayPasses);
  }
}
