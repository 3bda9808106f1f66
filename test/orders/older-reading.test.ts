import { expect, test } from 'vitest';
import { type DesiredOrder, desiredOrder } from '../../src/orders/order/desired-order.ts';
import { prepareOrder } from '../../src/orders/order/prepare-order.ts';
import { pushOrder } from '../../src/orders/push/push-order.ts';
import { openServiceHealth } from '../../src/orders/service-health.ts';
import { warehouseNow } from '../../src/warehouse/clock.ts';
import { serviceState } from '../harness/order-shop.ts';
import { openOrderWorld } from '../harness/order-world.ts';

test('a worker that read an order before another pushed a newer version does not undo it', async () => {
  await using world = await openOrderWorld();
  await world.shop(
    `insert into o (code, updated_at) values ('R', current_date); insert into l (order_code, line_code, product_id) values ('R', '1', 1)`,
  );
  const app = await world.openApp();
  const { db } = app.warehouse;
  const prepared = async (codes: readonly string[]) =>
    (await app.shop.orders(codes))
      .map((raw) => prepareOrder(raw, new Map()))
      .flatMap((one) => ('order' in one ? desiredOrder(one, new Map()) : []));
  // Read by one worker, then changed in the shop on the same day, and pushed by another.
  const readAt = await warehouseNow(db);
  const [old] = await prepared(['R']);
  await world.shop(`update o set total_price = 77; update l set price = 77`);
  expect((await world.run('sync-orders')).outcome).toBe('done');
  const outcome = await pushOrder(
    {
      api: app.api,
      store: app.orderStore,
      log: app.log,
      now: app.now,
      signal: app.abort.signal,
      settleMs: 1,
      service: openServiceHealth(app.api),
      readAgain: async (code) => (await prepared([code]))[0],
      contactMaxAgeDays: 30,
      deletes: 'off',
      policy: { contact: 'young', removals: 'usual' },
    },
    old as DesiredOrder,
    readAt,
  );
  expect(outcome).toEqual({ kind: 'ended', counts: { orders_unchanged: 1 } });
  expect(await world.atService(serviceState)).toMatchObject([
    { total_price: '77', sub_orders: [[1, 77, {}, 'paid', null]] },
  ]);
});
