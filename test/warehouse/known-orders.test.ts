import { expect } from 'vitest';
import { absenceSummary, absentOrders, isAnyPresent, knownOrders } from '../../src/warehouse/orders/known-orders.ts';
import { orderTest as test } from '../harness/order-test.ts';

test('an order that no rescan reads does not vouch for a shop that shows none of the others', async ({ world }) => {
  await world.warehouse(`insert into sync.order_links (order_code, order_id, ordered_at, absent_since) values
    ('old', 1, '2026-01-31T23:59:59Z', null), ('gone', 2, '2026-03-01', now()), ('refused', null, '2026-03-01', null)`);
  const { db } = (await world.openApp()).warehouse;
  expect(await isAnyPresent(db, '2026-02-01T00:00:00Z')).toBe(false);
  expect(await isAnyPresent(db, '2025-12-01T00:00:00Z')).toBe(true);
});

test('an order of which no push has begun, or that the service never accepted, cannot have left, and all others are looked at, however many', async ({
  world,
}) => {
  await world.warehouse(`insert into sync.order_links (order_code, ordered_at, contact)
    select n::text, '2026-03-01', case when n > 0 then 'allowed' end from generate_series(0, 2000) n`);
  await world.warehouse(`insert into sync.order_links (order_code, ordered_at, contact, pushed_at, failed_pushes)
    values ('refused', '2026-03-01', 'allowed', now(), 1)`);
  const known = (await Array.fromAsync(knownOrders((await world.openApp()).warehouse.db, {}))).flat();
  expect(known).not.toContain('0');
  expect(known).not.toContain('refused');
  expect(new Set(known).size).toBe(2000);
});

test('orders from a week before the oldest that a rescan reads stay absent, older ones do not; status names the newest five', async ({
  world,
}) => {
  await world.warehouse(`insert into sync.order_links (order_code, ordered_at, absent_since)
    select n::text, timestamptz '2026-03-01Z' + n * interval '1 day', now() - n * interval '5 hours' from generate_series(0, 8) n`);
  const { db } = (await world.openApp()).warehouse;
  const absent = await absentOrders(db, '2026-03-10T00:00:00Z');
  const waited = (code: string) => ({ code, hasWaited: Number(code) >= 5 });
  expect(absent).toEqual(['2', '3', '4', '5', '6', '7', '8'].map(waited));
  expect(await absenceSummary(db)).toEqual({ orders: 7, examples: ['8', '7', '6', '5', '4'] });
});
