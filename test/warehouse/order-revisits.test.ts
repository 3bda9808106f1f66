import { expect, test } from 'vitest';
import { ordersToRevisit } from '../../src/warehouse/orders/order-revisits.ts';
import { openOrderWorld } from '../harness/order-world.ts';

test('one run pushes at most 200 orders again that failed more than once, those first that are due for the longest time', async () => {
  await using world = await openOrderWorld();
  await world.warehouse(`insert into sync.order_links (order_code, failed_pushes, failures, retry_at)
    select 'F' || n, case when n > 250 then 1 else 5 end, 1, now() - n * interval '1 minute' from generate_series(1, 260) n`);
  await world.warehouse(`insert into sync.dead_letters (kind, key, order_code, reason, payload)
    select 'order', order_code, order_code, 'refused', '{}' from sync.order_links`);
  const { db } = (await world.openApp()).warehouse;
  const codes = await ordersToRevisit(db);
  expect(codes).toHaveLength(210);
  expect(codes).not.toContain('F50');
  expect(codes).toEqual(expect.arrayContaining(['F51', 'F250', 'F251', 'F260']));
});
