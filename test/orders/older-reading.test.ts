import { expect } from 'vitest';
import { pushOrders } from '../../src/orders/push/push-slice.ts';
import { line, order, serviceState, orderTest as test } from '../harness/order-world.ts';
import { orderDeps, rightsOf } from '../harness/sync-orders.ts';

test('a worker with an older reading does not undo what another has pushed since', async ({ world }) => {
  await world.place(order('R', line('1', 1)));
  const app = await world.openApp();
  let meanwhile = async (): Promise<unknown> => undefined;
  const orders: typeof app.shop.orders = async (codes) => {
    const read = await app.shop.orders(codes);
    const happens = meanwhile;
    meanwhile = async () => undefined;
    await happens();
    return read;
  };
  const push = () => pushOrders(orderDeps(app, { shop: { ...app.shop, orders } }), ['R'], rightsOf(app));
  const change = (price: number) => world.shop(`update o set total_price = ${price}; update l set price = ${price}`);
  // Read by one worker, then changed in the shop on the same day, and pushed by another.
  meanwhile = async () => {
    await change(77);
    expect((await world.run('sync-orders')).outcome).toBe('done');
  };
  expect(await push()).toMatchObject({ orders: 1, orders_unchanged: 1 });
  // A third one broke off while it pushed a newer version still: the last push on record is from before the reading.
  meanwhile = async () => {
    await change(78);
    await world.warehouse(`update sync.order_links set pushed_at = pushed_at - interval '1 hour', fingerprint = null`);
  };
  expect(await push()).toMatchObject({ orders: 1, orders_pushed: 1 });
  expect(await world.atService(serviceState)).toMatchObject([
    { total_price: '78', sub_orders: [[1, 78, {}, 'paid', null]] },
  ]);
});

test('an order whose push broke off is pushed again, although the shop has it as it was before', async ({ world }) => {
  await world.place(order('R', line('1', 1), line('2', 2)));
  await world.sync();
  const before = await world.atService(serviceState);
  const change = (price: number) => world.shop(`update o set total_price = ${price}; update l set price = ${price}`);
  await change(77);
  const stopped = new AbortController();
  world.serviceRule(async ({ method }) => {
    if (method === 'PUT') {
      await world.shop(`update o set total_price = 100; update l set price = 10`);
      stopped.abort();
    }
    return 'pass' as const;
  });
  await expect(world.sync({ signal: stopped.signal })).rejects.toThrow();
  expect(await world.atService(serviceState)).toMatchObject([{ total_price: '77' }]);
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(await world.atService(serviceState)).toEqual(before);
});

test('an order that another process pushed and deleted since it was read is not brought back', async ({ world }) => {
  await world.place(order('R', line('1', 1)));
  const app = await world.openApp();
  let isRead = false;
  const orders: typeof app.shop.orders = async (codes) => {
    const read = await app.shop.orders(codes);
    if (isRead) return read;
    isRead = true;
    const other = await world.openApp();
    for (const change of ['null', 'now()']) {
      await world.shop(`update o set deleted_at = ${change}`);
      await pushOrders(orderDeps(other), ['R'], rightsOf(other, { deletes: 'send' }));
    }
    return read;
  };
  // This process must not delete, so it looks for no order that it has not pushed.
  const rights = rightsOf(app, { deletes: 'off' });
  expect(await pushOrders(orderDeps(app, { shop: { ...app.shop, orders } }), ['R'], rights)).toMatchObject({
    orders: 1,
  });
  expect(await world.atService(serviceState)).toEqual([]);
});
