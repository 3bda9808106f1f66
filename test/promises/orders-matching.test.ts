import { expect } from 'vitest';
import { line, type OrderWorld, order, orderTest as test } from '../harness/order-world.ts';
import type { Fate, ProxiedRequest } from '../harness/proxy.ts';

const subOrders = `select product_id::integer as product, price::text, status, product_options ->> 'size' as size
  from reference_service.sub_orders order by product_id, size, price, status`;
const ofSize = (code: string, size: string) => line(code, 7, { product_options: { size } });
const sizes = order('A', ofSize('1', 'S'), ofSize('2', 'M'));
const both = [
  { product: 7, price: '10', status: 'paid', size: 'M' },
  { product: 7, price: '10', status: 'paid', size: 'S' },
];

test('a process dies while it takes over a foreign sub-order: it is not created again', async ({ world }) => {
  await world.place(order('A', line('1', 7, { price: 20 })));
  await world.atService(`
    insert into reference_service.orders (code, total_price, created_at, updated_at) values ('A', 1, now(), now());
    insert into reference_service.products (id) values (7);
    insert into reference_service.sub_orders (order_id, product_id, price, created_at, updated_at)
    select id, 7, 10, now(), now() from reference_service.orders`);
  await dieAt(world, isChange);
  await hideSubOrders(world);
  await world.sync();
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(await world.atService(subOrders)).toEqual([{ product: 7, price: '20', status: 'paid', size: null }]);
  expect(await world.openDeadLetters()).toEqual([]);
});

const isChange = ({ method }: ProxiedRequest) => method === 'PUT';

/** After the first such request of this run nothing more of its process arrives, neither at the service nor in the warehouse. */
async function dieAt(world: OrderWorld, isLast: (request: ProxiedRequest) => boolean): Promise<void> {
  const dead = new AbortController();
  world.serviceRule(async (request) => {
    if (!isLast(request)) return 'pass';
    await world.warehouse(`update sync.order_links set lease_owner = 'dead', lease_expires_at = now()`);
    dead.abort();
    return 'lose';
  });
  await expect(world.sync({ signal: dead.signal })).rejects.toThrow();
  world.serviceRule(() => 'pass');
}

/** The response to the order's POST shows none of its sub-orders, as a copy of the database that lags behind. */
async function hideSubOrders(world: OrderWorld, { changes = 'pass' as Fate } = {}): Promise<void> {
  const [shown] = await world.atService(`select o.id::integer, o.code, jsonb_build_array() as sub_orders
    from reference_service.orders o`);
  const response = { status: 201, body: JSON.stringify(shown) };
  world.serviceRule(({ method, path }) => {
    if (method === 'PUT') return changes;
    return method === 'POST' && path === '/v1/orders' ? response : 'pass';
  });
}

test('sub-orders that the service does not show, denies or has lost are never doubled', async ({ world }) => {
  await world.place(sizes);
  await world.sync();
  const atPrice = (price: string) => both.map((one) => ({ ...one, price }));
  const change = (price: number) => world.shop(`update l set price = ${price}; update o set updated_at = now()`);
  // It answers 404 to a change although it shows the sub-order.
  await change(20);
  let changes = 0;
  world.serviceRule(({ method }) => (method === 'PUT' && ++changes <= 2 ? { status: 404 } : 'pass'));
  await world.sync();
  expect(await world.atService(subOrders)).toEqual(atPrice('20'));
  await hideSubOrders(world);
  for (const price of [30, 40]) {
    await change(price);
    expect(await world.sync()).toMatchObject({ orders_pushed: 1, sub_orders_changed: 2 });
  }
  expect(await world.atService(subOrders)).toEqual(atPrice('40'));
  expect(await world.warehouse('select 1 from sync.order_links where due_at is not null')).toEqual([]);
  // It does not say whether it has them.
  await hideSubOrders(world, { changes: { status: 403, body: '{}' } });
  await change(50);
  expect(await world.sync()).toMatchObject({ lines_failed: 2 });
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'A/1' }, { key: 'A/2' }]);
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(await world.atService(subOrders)).toEqual(atPrice('50'));
  expect(await world.openDeadLetters()).toEqual([]);
  // They were deleted there: they are made again.
  await world.atService('delete from reference_service.sub_orders returning 1');
  await world.shop(`update o set total_price = 30, updated_at = now()`);
  expect(await world.sync()).toMatchObject({ sub_orders_added: 2 });
  expect(await world.atService(subOrders)).toEqual(atPrice('50'));
  // One line is removed and one gets a new code while they are not shown: the first stays, and verify names it.
  await hideSubOrders(world);
  await world.shop(
    `delete from l where line_code = '1'; update l set line_code = 'new'; update o set updated_at = now()`,
  );
  await world.sync();
  expect(world.requests().map(({ method }) => method)).toEqual(['POST', 'PUT']);
  world.serviceRule(() => 'pass');
  expect(await world.atService(subOrders)).toEqual(atPrice('50'));
  const verified = await world.cli('verify', 'orders', '--json');
  expect(JSON.parse(verified.stdout)).toMatchObject({ unmatched: { subOrders: 1, codes: ['A'] } });
});

const isCreate = ({ method, path }: ProxiedRequest) => method === 'POST' && path.endsWith('/sub_orders');
const small = { product: 7, price: '10', size: 'S' };
const medium = { product: 7, price: '10', size: 'M' };

/** An order with a line of size S, and one of size M: its creation is carried out when `appear` is called, after the run. */
async function lostCreation(world: OrderWorld) {
  const [inM, inS] = ['M', 'S'].map((size) => ({ product_options: { size } }));
  await world.place(order('A', line('1', 7, inM), line('2', 7, inS)));
  const late = Promise.withResolvers<void>();
  world.serviceRule((request) =>
    isCreate(request) && request.form.getAll('product_options[]').join().endsWith('M')
      ? { carriedOutAfter: late.promise }
      : 'pass',
  );
  expect(await world.sync()).toMatchObject({ sub_orders_added: 1, lines_failed: 1 });
  world.serviceRule(() => 'pass');
  return {
    subOrders: () =>
      world.atService(`select product_id::integer as product, price::text, product_options ->> 'size' as size
        from reference_service.sub_orders order by size`),
    appear: late.resolve,
  };
}

test('verify names a second sub-order as one that a push removes, and --repair does', async ({ world }) => {
  const { subOrders, appear } = await lostCreation(world);
  expect(await world.sync()).toMatchObject({ sub_orders_added: 1 });
  appear();
  await expect.poll(async () => (await subOrders()).length, { timeout: 20_000 }).toBe(4);
  const verified = await world.cli('verify', 'orders', '--json');
  expect(JSON.parse(verified.stdout)).toMatchObject({ differing: 1, unmatched: { subOrders: 0 } });
  await world.cli('verify', 'orders', '--repair');
  expect(await subOrders()).toEqual([medium, small]);
});

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
  await world.timePasses('1 day');
  await world.sync();
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
