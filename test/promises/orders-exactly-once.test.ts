import { expect } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { createOrderShop, orderShopQueries, serviceState } from '../harness/order-shop.ts';
import type { World } from '../harness/world.ts';
import { worldTest } from '../harness/world-test.ts';

const test = worldTest.extend('worldOptions', { shop: 'empty' });

/** Gives the world the shop of two plain tables. */
async function makeShop(world: World): Promise<void> {
  world.environment.SHOP_SQL_DIR = await orderShopQueries();
  await createOrderShop(world.shopUrl);
}

const syncOrders = (world: World) => world.run('sync-orders');
const byCommand = (world: World) => runCli(['sync', 'orders', '--json'], world.environment);
const orders = (from: number, to: number) => `
  insert into o (code) select 'O' || n from generate_series(${from}, ${to}) n;
  insert into l (order_code, line_code, product_id, price)
    select 'O' || n, line::text, n, 10 from generate_series(${from}, ${to}) n cross join generate_series(1, 2) line`;
const subOrders = 'select count(*)::integer as n from reference_service.sub_orders';
/** What the service was asked to write, tokens left out. */
const writes = (world: World) =>
  Object.fromEntries(Object.entries(world.service.requests()).filter(([route]) => !/oauth|GET/.test(route)));

test('two runs at once over the same orders add no sub-order twice', async ({ world }) => {
  await makeShop(world);
  await world.shop(orders(1, 20));
  const ends = await Promise.all([byCommand(world), byCommand(world), byCommand(world)]);
  expect(ends.map((end) => end.status)).toEqual([0, 0, 0]);
  expect(await world.atService(subOrders)).toEqual([{ n: 40 }]);
});

test('a service that fails, limits, loses responses and tokens has each line once in the end', async ({
  openWorld,
}) => {
  const world = await openWorld({
    service: { failRate: 0.15, tokenTtlSeconds: 1, rateLimitPerSecond: 400 },
  });
  await makeShop(world);
  await world.shop(orders(1, 15));
  let isDone = false;
  for (let run = 0; run < 8 && !isDone; run += 1) isDone = (await byCommand(world)).status === 0;
  if (isDone) expect(await world.atService(subOrders)).toEqual([{ n: 30 }]);
  world.service.setFaults({ failRate: 0, rateLimitPerSecond: undefined });
  // An order that failed several times in a row may wait for an hour: this command reads it all the same.
  expect(await runCli(['sync', 'orders', '--allow-removals'], world.environment)).toMatchObject({ status: 0 });
  expect(await world.atService(subOrders)).toEqual([{ n: 30 }]);
});

test('an order committed behind the cursor is still pushed within the overlap, and left to the rescan beyond it', async ({
  world,
}) => {
  await makeShop(world);
  await world.shop(`insert into o (code, updated_at) values ('NEW', now())`);
  await syncOrders(world);
  await world.shop(`insert into o (code, updated_at)
    values ('LATE', now() - interval '9 minutes'), ('TOO LATE', now() - interval '11 minutes')`);
  await syncOrders(world);
  expect(await world.atService('select code from reference_service.orders order by code')).toEqual([
    { code: 'LATE' },
    { code: 'NEW' },
  ]);
});

test('a shop whose updated_at is a date loses nothing at the seams of the batches', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_BATCH_SIZE: '10' } });
  await makeShop(world);
  await world.shop(`insert into o (code, updated_at) select 'D' || n, current_date from generate_series(1, 25) n`);
  await syncOrders(world);
  expect(await world.atService('select count(*)::integer as n from reference_service.orders')).toEqual([{ n: 25 }]);
  // The same day again, behind codes that were read before.
  await world.shop(`insert into o (code, updated_at) values ('AAA', current_date)`);
  await world.shop(`insert into l (order_code, line_code, product_id) values ('D7', '1', 1)`);
  await syncOrders(world);
  expect(await world.atService('select count(*)::integer as n from reference_service.orders')).toEqual([{ n: 26 }]);
  expect(await world.atService(subOrders)).toEqual([{ n: 1 }]);
});

test('bad rows stay alone: they are kept whole, counted, and go once they are corrected', async ({ world }) => {
  await makeShop(world);
  await world.shop(`insert into o (code, order_device) values ('GOOD', 'pc'), ('DEVICE', 'fridge')`);
  await world.shop(`insert into l (order_code, line_code, product_id, product_code, product_options) values
    ('GOOD', '1', 1, null, '{}'), ('GOOD', '2', null, 'unknown', '{}'), ('GOOD', '1', 2, null, '{}'),
    ('GOOD', '4', null, null, '{}'), ('GOOD', '5', 3, null, '[1]')`);
  const end = await byCommand(world);
  expect(end).toMatchObject({ status: 1, stdout: expect.not.stringContaining('steps failed') });
  expect(await world.atService(subOrders)).toEqual([{ n: 0 }]);
  const deadLetters = await world.warehouse(
    'select kind, key, reason from sync.dead_letters where resolved_at is null order by kind, key collate "C"',
  );
  expect(deadLetters).toEqual([
    { kind: 'order', key: 'DEVICE', reason: 'order_device is a text of 6 characters, expected pc or mobile' },
    { kind: 'order_line', key: 'GOOD/1', reason: expect.stringContaining('line_code is there twice in its order') },
    { kind: 'order_line', key: 'GOOD/4', reason: expect.stringContaining('both empty') },
    { kind: 'order_line', key: 'GOOD/5', reason: expect.stringContaining('expected an object') },
  ]);
  expect((await runCli(['dead-letters'], world.environment)).stdout).toContain('expected pc or mobile');

  // Mended in the shop, without moving updated_at; and the product has become known.
  await world.shop(`update o set order_device = 'mobile' where code = 'DEVICE'`);
  await world.shop(`delete from l where product_id = 2; update l set product_id = 4 where line_code = '4';
    update l set product_options = '{"a": "b"}' where line_code = '5'`);
  await world.warehouse(`insert into sync.product_links (product_code, product_id) values ('unknown', 9)`);
  expect((await byCommand(world)).status).toBe(0);
  expect(await world.atService('select product_id from reference_service.sub_orders order by product_id')).toEqual(
    [1, 3, 4, 9].map((id) => ({ product_id: String(id) })),
  );
  expect(await world.warehouse('select id from sync.dead_letters where resolved_at is null')).toEqual([]);
});

test('what the service refuses is kept with its words, and tried again when asked or changed', async ({ world }) => {
  await makeShop(world);
  await world.shop(`insert into o (code, total_price) values ('HUGE', 1), ('FINE', 1)`);
  // More digits than the service's integer takes.
  await world.shop(`alter table o add column mileage integer; update o set mileage = 2147483647`);
  await world.atService(`alter table reference_service.orders add check (code <> 'HUGE')`);
  const end = await byCommand(world);
  expect(end.status).toBe(1);
  const [deadLetter] = await world.warehouse<{ reason: string }>('select reason from sync.dead_letters');
  expect(deadLetter?.reason).toContain('POST /v1/orders: refused by the review service (status 422)');
  const asked = writes(world)['POST /v1/orders'];
  await byCommand(world);
  expect(writes(world)['POST /v1/orders']).toBe(asked);
  await world.atService('alter table reference_service.orders drop constraint orders_code_check');
  expect(await runCli(['dead-letters', 'retry'], world.environment)).toMatchObject({ status: 0 });
  expect(await world.atService('select code from reference_service.orders order by code')).toEqual([
    { code: 'FINE' },
    { code: 'HUGE' },
  ]);
});

test('money loses no cent on its way', async ({ world }) => {
  await makeShop(world);
  await world.shop(`insert into o (code, total_price) values ('M', 1234567890123.45);
    insert into l (order_code, line_code, product_id, price) values ('M', '1', 1, 0.1 + 0.2), ('M', '2', 1, 19.99)`);
  await syncOrders(world);
  expect(await world.atService(serviceState)).toMatchObject([{ total_price: '1234567890123.45' }]);
  expect(await world.atService('select price::text from reference_service.sub_orders order by price')).toEqual([
    { price: '0.3' },
    { price: '19.99' },
  ]);
});

test('more orders without a code than a batch holds do not keep a first push from its end', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_BATCH_SIZE: '2' } });
  await makeShop(world);
  await world.shop(
    `insert into o (code) select '' from generate_series(1, 5); insert into o (code) values ('A'), ('B')`,
  );
  expect((await syncOrders(world)).outcome).toBe('done');
  // No run reads the orders without a code; doctor names them.
  expect((await runCli(['doctor'], world.environment)).stdout).toMatch(
    /orders\.sql: 5 rows that runs may not find, such as: code is an empty text, expected a value \(an order created at 20/,
  );
  expect(await world.atService('select code from reference_service.orders order by code')).toEqual([
    { code: 'A' },
    { code: 'B' },
  ]);
});
