import { expect } from 'vitest';
import { changedShopQueries, recordShopQueries, settleShopQueries } from '../../src/warehouse/shop-queries.ts';
import { orderTest as test } from '../harness/order-test.ts';

test('a query that changed is named until all orders are read by it, also where it changes while they are read', async ({
  world,
}) => {
  await world.warehouse(`insert into sync.order_links (order_code) values ('A')`);
  const { db } = (await world.openApp()).warehouse;
  const changed = async () => (await changedShopQueries(db)).map(({ file }) => file);
  await recordShopQueries(db, { orders: '1', order_lines: '1' });
  await recordShopQueries(db, { orders: '2', order_lines: '1' });
  const before = await recordShopQueries(db, { orders: '2', order_lines: '1' });
  expect(await changed()).toEqual(['orders']);
  await recordShopQueries(db, { orders: '2', order_lines: '2' });
  await settleShopQueries(db, before);
  expect(await changed()).toEqual(['order_lines']);
});
