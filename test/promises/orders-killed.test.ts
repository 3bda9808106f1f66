import { expect, test } from 'vitest';
import { runCli, startCli } from '../harness/cli.ts';
import { startFaultProxy } from '../harness/fault-proxy.ts';
import { createOrderShop, orderShopQueries, serviceState } from '../harness/order-shop.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { openWorld } from '../harness/world.ts';

const orders = `
  insert into o (code) values ('A'), ('B'), ('C');
  insert into l (order_code, line_code, product_id, price) values
    ('A', '1', 1, 10), ('A', '2', 1, 10), ('B', '1', 2, 20), ('C', '1', 3, 30)`;
const expected = [
  { code: 'A', lines: 2 },
  { code: 'B', lines: 1 },
  { code: 'C', lines: 1 },
];

async function shopWorld() {
  const world = await openWorld({ shop: 'empty', environment: { SHOP_SQL_DIR: await orderShopQueries() } });
  await createOrderShop(world.shopUrl);
  await world.shop(orders);
  return world;
}
type World = Awaited<ReturnType<typeof shopWorld>>;

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

test('killed with kill -9 at any request to the service, the command run again ends in the same state', {
  timeout: 300_000,
}, async () => {
  for (let n = 1; n <= 7; n += 1) {
    for (const mode of ['before', 'after', 'lost'] as const) {
      await using world = await shopWorld();
      const between = await startFaultProxy(world.serviceUrl);
      const command = startCli(['sync', 'orders'], { ...world.environment, REVIEW_API_BASE_URL: between.url });
      between.strike(n, mode, () => command.kill('SIGKILL'));
      expect((await command.ended).signal).toBe('SIGKILL');
      await between.close();
      await expectRecovery(world, { n, mode });
    }
  }
});

test('killed with kill -9 at any call to the queue, the command run again ends in the same state', {
  timeout: 600_000,
}, async () => {
  const queuePort = (world: World) => Number(new URL(world.warehouseUrl).port);
  const through = (world: World, port: number) => {
    const queue = new URL(world.warehouseUrl);
    queue.port = String(port);
    return { ...world.environment, QUEUE_URL: queue.href };
  };
  let total = 0;
  {
    await using world = await shopWorld();
    const between = await startTcpProxy(queuePort(world));
    expect((await runCli(['sync', 'orders'], through(world, between.port))).status).toBe(0);
    total = between.sent();
    await between.close();
  }
  // Every sixth call: BullMQ sends several statements for each thing it does.
  const moments = Array.from({ length: total }, (_, index) => index + 1).filter((n) => n % 6 === 0);
  for (const n of moments) {
    await using world = await shopWorld();
    const between = await startTcpProxy(queuePort(world));
    const command = startCli(['sync', 'orders'], through(world, between.port));
    between.at(n, () => command.kill('SIGKILL'));
    await command.ended;
    await between.close();
    await expectRecovery(world, { n, total });
  }
});
