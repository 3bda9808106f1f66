import { expect, test } from 'vitest';
import { planChangedOrders } from '../../src/orders/which/changed-orders.ts';
import { advanceCursor } from '../../src/warehouse/runs/cursors.ts';
import { openOrderWorld } from '../harness/order-world.ts';

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
