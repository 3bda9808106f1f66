import { expect } from 'vitest';
import { isAnyPresent, knownOrders, missedChanges } from '../../src/warehouse/orders/known-orders.ts';
import { orderTest as test } from '../harness/order-test.ts';

test('an order that no rescan reads does not vouch for a shop that shows none of the others', async ({ world }) => {
  await world.warehouse(`insert into sync.order_links (order_code, ordered_at, absent_since) values
    ('old', '2026-01-01', null), ('gone', '2026-03-01', now())`);
  const { db } = (await world.openApp()).warehouse;
  expect(await isAnyPresent(db, '2026-02-01T00:00:00Z')).toBe(false);
  expect(await isAnyPresent(db, '2025-12-01T00:00:00Z')).toBe(true);
});

test('an order of which no push has begun cannot have left', async ({ world }) => {
  await world.warehouse(`insert into sync.order_links (order_code, ordered_at, contact) values
    ('never', '2026-03-01', null), ('pushed', '2026-03-01', 'allowed')`);
  expect(await Array.fromAsync(knownOrders((await world.openApp()).warehouse.db, {}))).toEqual([['pushed']]);
});

test('what the rescans found is that of the period alone', async ({ world }) => {
  await world.warehouse(`
    insert into sync.runs (id, job, trigger, started_at, finished_at, outcome, counts) values
      ('1', 'rescan-orders', 'schedule', '2026-01-01', now(), 'done', '{"orders_pushed": 100}'),
      ('2', 'rescan-orders', 'schedule', '2026-03-01', now(), 'done', '{"orders_pushed": 1}'),
      ('3', 'sync-orders', 'schedule', '2026-03-02', now(), 'done', '{"orders_pushed": 10}')`);
  const { db } = (await world.openApp()).warehouse;
  expect(await missedChanges(db, new Date('2026-02-01'))).toMatchObject({ missed: 1, changes: 11 });
});
