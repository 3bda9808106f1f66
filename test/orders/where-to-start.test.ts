import { expect, test } from 'vitest';
import {
  concludeChangedOrders,
  continueChangedOrders,
  planChangedOrders,
} from '../../src/orders/which/changed-orders.ts';
import { advanceCursor, readCursor } from '../../src/warehouse/runs/cursors.ts';
import { type OrderWorld, openOrderWorld } from '../harness/order-world.ts';
import { orders } from '../harness/shop-orders.ts';

/** Where the feed is asked from, after a run whose newest change was made at 11:58. */
async function startAt(shopNow: string, cursor: string | undefined = '2026-03-01T11:58:00.123456Z') {
  await using world = await openOrderWorld();
  const { shop, warehouse } = await world.openApp();
  if (cursor !== '') await advanceCursor(warehouse.db, 'orders', { at: cursor, code: 'A' });
  const asked: string[] = [];
  const watched: typeof shop = {
    ...shop,
    now: async () => shopNow,
    changedSince(after, size) {
      asked.push(after.at);
      return shop.changedSince(after, size);
    },
  };
  const options = { lookbackMinutes: 10, batchSize: 100, isAnyTime: false };
  await planChangedOrders({ shop: watched, db: warehouse.db }, options);
  return asked;
}

test('a run starts at the cursor minus the lookback, however long ago the last run was', async () => {
  expect(await startAt('2026-03-01T12:05:00Z')).toEqual(['2026-03-01T11:48:00.123Z']);
  expect(await startAt('2026-03-09T23:00:00Z')).toEqual(['2026-03-01T11:48:00.123Z']);
});

test('a run whose cursor is ahead of the shop’s clock, which was set back, starts at that clock minus the lookback', async () => {
  expect(await startAt('2026-03-01T11:05:00Z')).toEqual(['2026-03-01T10:55:00.000Z']);
});

test('a run without a cursor reads from the beginning', async () => {
  expect(await startAt('2026-03-01T12:05:00Z', '')).toEqual(['-infinity']);
});

/** Runs to its end over orders that are read one by one, the first of which cannot be pushed or can. */
async function cursorAfter(world: OrderWorld, { firstFails }: { firstFails: boolean }): Promise<string | undefined> {
  const { shop, warehouse } = await world.openApp();
  const deps = { shop, db: warehouse.db };
  const options = { lookbackMinutes: 10, batchSize: 1, isAnyTime: false };
  let { state } = await planChangedOrders(deps, options);
  for (let failed = firstFails; ; failed = false) {
    const next = await continueChangedOrders(deps, state, { failed, isLost: false }, options);
    if (!next) break;
    state = next.state;
  }
  await concludeChangedOrders(deps, state);
  return (await readCursor(warehouse.db, 'orders'))?.at;
}

test('a batch that failed holds the cursor back to the end of its run', async () => {
  await using world = await openOrderWorld();
  await world.place(...orders(3));
  expect(await cursorAfter(world, { firstFails: true })).toBeUndefined();
  expect(await cursorAfter(world, { firstFails: false })).toBeDefined();
});

test('a change that is dated in the shop’s future moves the cursor to the shop’s clock', async () => {
  await using world = await openOrderWorld();
  await world.place(...orders(2));
  await world.shop(`update o set updated_at = now() + interval '2 days' where code = (select min(code) from o)`);
  const cursor = await cursorAfter(world, { firstFails: false });
  expect(Date.parse(cursor ?? '')).toBeLessThanOrEqual(Date.now() + 60_000);
});
