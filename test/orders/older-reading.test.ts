import { expect } from 'vitest';
import { type DesiredOrder, desiredOrder } from '../../src/orders/order/desired-order.ts';
import { pushOrder } from '../../src/orders/push/push-order.ts';
import { openBreaker } from '../../src/orders/requests.ts';
import { warehouseNow } from '../../src/warehouse/clock.ts';
import { serviceState } from '../harness/order-shop.ts';
import { orderTest as test } from '../harness/order-test.ts';
import { line, order } from '../harness/shop-orders.ts';
import { orderDeps } from '../harness/sync-orders.ts';

test('a worker that read an order before another pushed a newer version does not undo it', async ({ world }) => {
  await world.place(order('R', line('1', 1)));
  const app = await world.openApp();
  const facts = { products: new Map(), grades: new Map(), deletes: 'off' as const };
  const read = async (code: string) => {
    const [raw] = await app.shop.orders([code]);
    return raw && (desiredOrder(raw, facts) as DesiredOrder);
  };
  // Read by one worker, then changed in the shop on the same day, and pushed by another.
  const readAt = await warehouseNow(app.warehouse.db);
  const old = (await read('R')) as DesiredOrder;
  await world.shop(`update o set total_price = 77; update l set price = 77`);
  expect((await world.run('sync-orders')).outcome).toBe('done');
  const outcome = await pushOrder(orderDeps(app), old, {
    policy: { contact: 'young', allowRemovals: false },
    readAt,
    now: app.now,
    breaker: openBreaker(),
    readAgain: read,
  });
  expect(outcome).toEqual({ kind: 'ended', counts: { orders_unchanged: 1 } });
  expect(await world.atService(serviceState)).toMatchObject([
    { total_price: '77', sub_orders: [[1, 77, {}, 'paid', null]] },
  ]);
});
