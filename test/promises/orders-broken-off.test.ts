import { expect } from 'vitest';
import { line, order, orderTest as test } from '../harness/order-world.ts';

test('a worker that is stopped while it waits for what a creation did ends at once', async ({ world }) => {
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
  expect(await world.atService('select from reference_service.sub_orders')).toHaveLength(1);
});

test.for([
  ['POST', `update o set total_price = 7`, `update o set total_price = 100`, { total: '100', invoice: 'first' }],
  // The order changes too, so that it is pushed at all.
  [
    'PUT',
    `update l set invoice = 'second'`,
    `update l set invoice = 'first'; update o set total_price = 7`,
    { total: '7', invoice: 'first' },
  ],
] as const)(
  'a %s that was sent and not recorded is taken back if the shop goes back',
  async ([method, change, back, expected], { world }) => {
    await world.place(order('O1', line('1', 1, { invoice: 'first' })));
    await world.sync();
    const app = await world.openApp();
    world.serviceRule((request) => {
      if (request.method !== method) return 'pass';
      app.abort.abort();
      return 'lose';
    });
    await world.shop(`${change}; update o set updated_at = now()`);
    await expect(world.sync({ api: app.api, signal: app.abort.signal })).rejects.toThrow();
    world.serviceRule(() => 'pass');
    await world.shop(`${back}; update o set updated_at = now()`);
    await world.sync();
    const shown = `select o.total_price::text as total, s.invoice from reference_service.orders o
      join reference_service.sub_orders s on s.order_id = o.id`;
    expect(await world.atService(shown)).toEqual([expected]);
  },
);
