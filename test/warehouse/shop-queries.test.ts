import { expect } from 'vitest';
import {
  changedQueriesNote,
  changedShopQueries,
  recordShopQueries,
  settleShopQueries,
} from '../../src/warehouse/shop-queries.ts';
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
  // No order was read by the earlier query.
  await world.warehouse('delete from sync.order_links');
  expect(await changed()).toEqual([]);
});

test('queries and a zone that changed are named in one sentence, with the moment of the last change', () => {
  const changed = ['SHOP_TIME_ZONE', 'orders', 'order_lines'].map((file, n) => {
    return { file, changedAt: new Date(`2026-03-0${n === 1 ? 5 : 1}T12:34:56Z`) };
  });
  expect(changedQueriesNote(changed)?.what).toBe(
    'SHOP_TIME_ZONE and orders.sql and order_lines.sql changed on 2026-03-05 12:34 UTC: ' +
      'orders that were pushed before were read by the earlier query and in the earlier zone',
  );
  expect(changedQueriesNote([])).toBeUndefined();
});
