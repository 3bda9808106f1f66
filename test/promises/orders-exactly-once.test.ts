import { expect } from 'vitest';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import type { World } from '../harness/world.ts';
import { worldTest } from '../harness/world-test.ts';

const test = worldTest.extend('worldOptions', { shop: 'empty' });

/** Gives the world the shop of two plain tables. */
async function makeShop(world: World): Promise<void> {
  world.environment.SHOP_SQL_DIR = await orderShopQueries();
  await createOrderShop(world.shopUrl);
}

const syncOrders = (world: World) => world.run('sync-orders');
const byCommand = (world: World) => world.cli('sync', 'orders', '--json');
const orders = (from: number, to: number) => `
  insert into o (code) select 'O' || n from generate_series(${from}, ${to}) n;
  insert into l (order_code, line_code, product_id, price)
    select 'O' || n, line::text, n, 10 from generate_series(${from}, ${to}) n cross join generate_series(1, 2) line`;
const subOrders = 'select count(*)::integer as n from reference_service.sub_orders';

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
  expect(await world.cli('sync', 'orders', '--allow-removals')).toMatchObject({ status: 0 });
  expect(await world.atService(subOrders)).toEqual([{ n: 30 }]);
});

test('more orders without a code than a batch holds do not keep a first push from its end', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_BATCH_SIZE: '2' } });
  await makeShop(world);
  await world.shop(
    `insert into o (code) select '' from generate_series(1, 5); insert into o (code) values ('A'), ('B')`,
  );
  expect((await syncOrders(world)).outcome).toBe('done');
  // No run reads the orders without a code; doctor names them.
  expect((await world.cli('doctor')).stdout).toMatch(
    /orders\.sql: 5 rows that runs may not find, such as: code is an empty text, expected a value \(an order created at 20/,
  );
  expect(await world.atService('select code from reference_service.orders order by code')).toEqual([
    { code: 'A' },
    { code: 'B' },
  ]);
});
