import { expect } from 'vitest';
import { orderTest as test } from '../harness/order-test.ts';
import { line, order } from '../harness/shop-orders.ts';

test('a worker that is stopped while it waits for what a creation without response did ends at once', async ({
  world,
}) => {
  await world.place(order('O1', line('1', 1)));
  const stopped = new AbortController();
  world.serviceRule(({ path }) => {
    if (!path.endsWith('/sub_orders')) return 'pass';
    stopped.abort();
    return { carriedOutAfter: Promise.resolve() };
  });
  // It would look again in a quarter of an hour.
  const limits = { giveUpAfterMs: 50, settleMs: 900_000 };
  await expect(world.sync({ signal: stopped.signal, limits })).rejects.toThrow();
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(await world.atService('select count(*)::integer as n from reference_service.sub_orders')).toEqual([{ n: 1 }]);
});

test.for([
  ['the POST of an order', 'POST', `update o set total_price = 7`, `update o set total_price = 100`],
  [
    'the change of a sub-order',
    'PUT',
    `update l set invoice = 'second'`,
    // The order changes too, so that it is pushed at all.
    `update l set invoice = 'first'; update o set total_price = 7`,
  ],
] as const)(
  '%s was sent and not recorded: the shop goes back to the value before, and so does the service',
  async ([_, method, change, back], { world }) => {
    await world.place(order('O1', line('1', 1, { invoice: 'first' })));
    await world.sync();
    const dead = new AbortController();
    world.serviceRule((request) => {
      if (request.method !== method) return 'pass';
      dead.abort();
      return 'lose';
    });
    await world.shop(`${change}; update o set updated_at = now()`);
    const app = await world.openApp();
    dead.signal.addEventListener('abort', () => app.abort.abort());
    await expect(world.sync({ api: app.api, signal: dead.signal })).rejects.toThrow();
    world.serviceRule(() => 'pass');
    await world.shop(`${back}; update o set updated_at = now()`);
    await world.sync();
    expect(
      await world.atService(`select o.total_price::text as total, s.invoice from reference_service.orders o
      join reference_service.sub_orders s on s.order_id = o.id`),
    ).toEqual([{ total: method === 'POST' ? '100' : '7', invoice: 'first' }]);
  },
);
