import { expect } from 'vitest';
import { line, order, orderTest as test } from '../harness/order-world.ts';
import type { ProxiedRequest } from '../harness/proxy.ts';

test('a process dies while it takes over a foreign sub-order: it is not created again', async ({ world }) => {
  await world.place(order('A', line('1', 7, { price: 20 })));
  await world.atService(`
    insert into reference_service.orders (code, total_price, created_at, updated_at) values ('A', 1, now(), now());
    insert into reference_service.products (id) values (7);
    insert into reference_service.sub_orders (order_id, product_id, price, created_at, updated_at)
    select id, 7, 10, now(), now() from reference_service.orders`);
  // After the change nothing more of this process arrives, neither at the service nor in the warehouse.
  const dead = new AbortController();
  world.serviceRule(async ({ method }) => {
    if (method !== 'PUT') return 'pass';
    await world.warehouse(`update sync.order_links set lease_owner = 'dead', lease_expires_at = now()`);
    dead.abort();
    return 'lose';
  });
  await expect(world.sync({ signal: dead.signal })).rejects.toThrow();
  // The response to the order's POST shows no sub-order, as a copy of the database that lags behind.
  const [shown] = await world.atService(
    `select id::integer, code, '[]'::jsonb as sub_orders from reference_service.orders`,
  );
  const lagging = { status: 201, body: JSON.stringify(shown) };
  world.serviceRule(({ method, path }) => (method === 'POST' && path === '/v1/orders' ? lagging : 'pass'));
  await world.sync();
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(await world.atService('select product_id, price from reference_service.sub_orders')).toEqual([
    { product_id: '7', price: '20' },
  ]);
  expect(await world.openDeadLetters()).toEqual([]);
});

const isCreate = ({ method, path }: ProxiedRequest) => method === 'POST' && path.endsWith('/sub_orders');
test.for([429, 401])('what a service made that answers %i is removed an hour later', async (status, { world }) => {
  await world.place(order('A', line('1', 7)), order('B', line('1', 7)));
  let left = 1;
  world.serviceRule((request) => (isCreate(request) && left-- > 0 ? { carriedOutWith: status } : 'pass'));
  expect(await world.sync()).toMatchObject({ sub_orders_added: 2 });
  const count = async () => (await world.atService('select from reference_service.sub_orders')).length;
  expect(await count()).toBe(3);
  await world.timePasses('59 minutes');
  await world.sync();
  expect(await count()).toBe(3);
  await world.timePasses('1 minute');
  // Refused once, it goes a day later.
  world.serviceRule(({ method }) => (method === 'DELETE' ? { status: 403 } : 'pass'));
  await world.sync();
  expect(world.requests().map(({ method }) => method)).toEqual(['POST', 'DELETE']);
  expect(await world.openDeadLetters()).not.toEqual([]);
  world.serviceRule(() => 'pass');
  await world.timePasses('1 day');
  expect(await world.sync()).toMatchObject({ sub_orders_removed: 1 });
  expect([await count(), await world.openDeadLetters()]).toEqual([2, []]);
  world.serviceRule(() => 'pass');
  await world.syncDaily(1);
  expect(world.requests()).toEqual([]);
});

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
