import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { line, order, orderTest as test, writeQueries } from '../harness/order-world.ts';

test('a feed without :since, or no feed and no updated_at, ends the command', async ({ world }) => {
  const { SHOP_SQL_DIR = '' } = world.environment;
  const { shop } = await world.openApp();
  const orders = 'select code, created_at, total_price from o';
  await writeQueries(SHOP_SQL_DIR, { orders, changed_orders: 'select code, updated_at as changed_at from o' });
  await world.ends(2, 'sync orders', 'does not use its parameter :since');
  const feed = 'select code, updated_at as changed_at from o where updated_at >= :since';
  await writeQueries(SHOP_SQL_DIR, { changed_orders: feed });
  expect(await shop.hasFeed()).toBe(true);
  await rm(join(SHOP_SQL_DIR, 'changed_orders.sql'));
  const missing = 'column updated_at (timestamptz) is missing; select it, or write changed_orders.sql';
  await world.ends(2, 'sync orders', missing);
  // A process that has read the queries before says the same.
  await expect(shop.hasFeed()).rejects.toThrow(missing);
});

const notice = 'orders that were pushed before are at the service as they were read then';

test('a changed query is said by the next run, status and doctor until a backfill', async ({ world }) => {
  await world.place(order('A', line('1', 1)), order('B', line('1', 1)));
  const folder = world.environment.SHOP_SQL_DIR;
  const said = async (...command: string[]) => {
    const { stdout, stderr } = await world.cli(...command);
    return (stdout + stderr).includes(notice);
  };
  const looks = async () => [await said('status'), await said('doctor')];
  expect(await said('sync', 'orders')).toBe(false);
  await writeQueries(folder, {
    order_lines: `select order_code, line_code, product_id, price * 2 as price, status from l`,
  });
  expect(await looks()).toEqual([false, true]);
  expect([await said('sync', 'orders'), ...(await looks())]).toEqual([true, true, true]);
  // The next run says it no more, and neither some days nor the earlier query end it: orders were read by both.
  expect(await said('sync', 'orders')).toBe(false);
  for (const days of [{ from: '2026-01-01' }, { to: '2026-01-01' }]) await world.run('backfill-orders', days);
  await writeQueries(folder, { order_lines: 'select * from l' });
  expect([await said('status'), await said('sync', 'orders')]).toEqual([true, true]);

  await world.done('backfill-orders');
  expect(await looks()).toEqual([false, false]);
});
