import { expect } from 'vitest';
import { pushOrders } from '../../src/orders/push/push-slice.ts';
import { serviceState } from '../harness/order-shop.ts';
import { orderTest as test } from '../harness/order-test.ts';
import { line, order } from '../harness/shop-orders.ts';
import { orderDeps } from '../harness/sync-orders.ts';

test('a worker that read an order before another pushed a newer version does not undo it', async ({ world }) => {
  await world.place(order('R', line('1', 1)));
  const app = await world.openApp();
  let isFirst = true;
  // Read by one worker, then changed in the shop on the same day, and pushed by another.
  const orders: typeof app.shop.orders = async (codes) => {
    const read = await app.shop.orders(codes);
    if (!isFirst) return read;
    isFirst = false;
    await world.shop(`update o set total_price = 77; update l set price = 77`);
    expect((await world.run('sync-orders')).outcome).toBe('done');
    return read;
  };
  const deps = orderDeps(app, { shop: { ...app.shop, orders } });
  const counts = await pushOrders(deps, ['R'], { contact: 'young', allowRemovals: false });
  expect(counts).toMatchObject({ orders: 1, orders_unchanged: 1 });
  expect(await world.atService(serviceState)).toMatchObject([
    { total_price: '77', sub_orders: [[1, 77, {}, 'paid', null]] },
  ]);
});
