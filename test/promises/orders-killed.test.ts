import { expect, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { killAtQueueCalls, killAtRequests } from '../harness/killed-orders.ts';
import { createOrderShop, orderShopQueries, serviceState } from '../harness/order-shop.ts';
import { openWorld, type World } from '../harness/world.ts';

const orders = `
  insert into o (code) values ('A'), ('B'), ('C');
  insert into l (order_code, line_code, product_id, price) values
    ('A', '1', 1, 10), ('A', '2', 1, 10), ('B', '1', 2, 20), ('C', '1', 3, 30)`;
const expected = [
  { code: 'A', lines: 2 },
  { code: 'B', lines: 1 },
  { code: 'C', lines: 1 },
];

async function shopWorld(): Promise<World> {
  const shopQueries = await orderShopQueries();
  const world = await openWorld({
    shop: 'empty',
    environment: { SHOP_SQL_DIR: shopQueries, ORDER_LEASE_SECONDS: '1' },
  });
  await createOrderShop(world.shopUrl);
  await world.shop(orders);
  return world;
}

/** Runs the command again to its end, then once more: the service holds each line once, and nothing more is sent. */
async function expectRecovery(world: World, where: unknown): Promise<void> {
  expect({ where, ...(await runCli(['sync', 'orders'], world.environment)) }).toMatchObject({ where, status: 0 });
  const state = await world.atService<{ code: string; sub_orders: unknown[] }>(serviceState);
  const lines = state.map(({ code, sub_orders }) => ({ code, lines: sub_orders.length }));
  expect({ where, lines }).toEqual({ where, lines: expected });
  const before = world.service.requests()['POST /v1/orders'];
  await runCli(['sync', 'orders'], world.environment);
  expect({ where, posts: world.service.requests()['POST /v1/orders'] }).toEqual({ where, posts: before });
}

test(
  'killed with kill -9 at any request to the service, the command run again ends in the same state',
  {
    timeout: 300_000,
  },
  () => killAtRequests(shopWorld, { requests: [1, 2, 3, 4, 5, 6, 7], sample: 2 }, expectRecovery),
);

test(
  'killed with kill -9 at any call to the queue, the command run again ends in the same state',
  {
    timeout: 600_000,
  },
  () => killAtQueueCalls(shopWorld, { sample: 2 }, expectRecovery),
);
