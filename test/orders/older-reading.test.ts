import { expect } from 'vitest';
import type { PushRights } from '../../src/orders/contact-rule.ts';
import { pushOrders } from '../../src/orders/push/push-slice.ts';
import { line, type OrderWorld, order, serviceState, orderTest as test } from '../harness/order-world.ts';
import { orderDeps, rightsOf } from '../harness/sync-orders.ts';

/** Pushes the order R by a process that reads it, and goes on once this has happened. */
async function pushLate(world: OrderWorld, happens: () => Promise<unknown>, rights: Partial<PushRights> = {}) {
  const app = await world.openApp();
  let isRead = false;
  const orders: typeof app.shop.orders = async (codes) => {
    const read = await app.shop.orders(codes);
    if (!isRead) {
      isRead = true;
      await happens();
    }
    return read;
  };
  return pushOrders(orderDeps(app, { shop: { ...app.shop, orders } }), ['R'], rightsOf(app, rights));
}

test('a worker with an older reading does not undo what another has pushed since', async ({ world }) => {
  await world.place(order('R', line('1', 1)));
  const change = (price: number) => world.shop(`update o set total_price = ${price}; update l set price = ${price}`);
  // Read by one worker, then changed in the shop on the same day, and pushed by another.
  const pushed = await pushLate(world, async () => {
    await change(77);
    expect((await world.run('sync-orders')).outcome).toBe('done');
  });
  expect(pushed).toMatchObject({ orders: 1, orders_unchanged: 1 });
  // A third one broke off while it pushed a newer version still: the last push on record is from before the reading.
  const again = await pushLate(world, async () => {
    await change(78);
    await world.warehouse(`update sync.order_links set pushed_at = pushed_at - interval '1 hour', fingerprint = null`);
  });
  expect(again).toMatchObject({ orders: 1, orders_pushed: 1 });
  expect(await world.atService(serviceState)).toMatchObject([
    { total_price: '78', sub_orders: [[1, 78, {}, 'paid', null]] },
  ]);
});

test('an order that another process pushed and deleted meanwhile is not brought back', async ({ world }) => {
  await world.place(order('R', line('1', 1)));
  const pushAndDelete = async () => {
    const other = await world.openApp();
    for (const change of ['null', 'now()']) {
      await world.shop(`update o set deleted_at = ${change}`);
      await pushOrders(orderDeps(other), ['R'], rightsOf(other, { deletes: 'send' }));
    }
  };
  // This process must not delete, so it looks for no order that it has not pushed.
  expect(await pushLate(world, pushAndDelete, { deletes: 'off' })).toMatchObject({ orders: 1 });
  expect(await world.atService(serviceState)).toEqual([]);
});
