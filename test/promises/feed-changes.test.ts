import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { line, order, sampleShopQueries, orderTest as test, writeQueries } from '../harness/order-world.ts';
import { openWorld } from '../harness/world.ts';

test('a feed without :since, or no feed and no updated_at, ends the command', async () => {
  const SHOP_SQL_DIR = await sampleShopQueries({
    changed_orders: () => 'select order_no as code, modified_at as changed_at from shop.orders -- >= :since',
  });
  await using world = await openWorld({ shop: 'sample', environment: { SHOP_SQL_DIR } });
  const { shop } = await world.openApp();
  const sync = async (sentence: RegExp) =>
    expect(await world.cli('sync orders')).toMatchObject({ status: 2, stderr: expect.stringMatching(sentence) });
  await sync(/does not use its parameter :since/);
  const feed = 'select order_no as code, modified_at as changed_at from shop.orders where modified_at >= :since';
  await writeFile(join(SHOP_SQL_DIR, 'changed_orders.sql'), feed);
  expect(await shop.hasFeed()).toBe(true);
  await rm(join(SHOP_SQL_DIR, 'changed_orders.sql'));
  const missing = /column updated_at \(timestamptz\) is missing; select it, or write changed_orders\.sql/;
  await sync(missing);
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
