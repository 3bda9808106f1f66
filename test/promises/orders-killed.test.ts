import { expect, test } from 'vitest';
import { runCli, startCli } from '../harness/cli.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { sampled } from '../harness/sampled.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { openWorld, type World } from '../harness/world.ts';

/**
 * A first push of five batches, in a shop with a feed, killed with SIGKILL between them, or with a step that fails. Killed
 * within one: orders/orders-crash.
 */

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Nine orders, the first with two equal lines. */
async function openShop(): Promise<World> {
  const folder = await orderShopQueries({
    changed_orders: 'select code, updated_at as changed_at from o where updated_at >= :since',
  });
  const environment = { SHOP_SQL_DIR: folder, ORDER_LEASE_SECONDS: '1', ORDER_BATCH_SIZE: '2' };
  const world = await openWorld({ shop: 'empty', environment });
  await createOrderShop(world.shopUrl);
  await world.shop(`insert into o (code) select 'O' || n from generate_series(1, 9) n;
    insert into l (order_code, line_code, product_id, price) select code, '1', 7, 10 from o;
    insert into l (order_code, line_code, product_id, price) values ('O1', '2', 7, 10)`);
  return world;
}

const every = numbers(9).map((n) => ({ code: `O${n}`, lines: n === 1 ? 2 : 1 }));

/** The next run ends with every order and line once, none due now, and the cursor at the shop's time. */
async function expectRecovery(world: World, where: object): Promise<void> {
  const sync = async () =>
    expect({ where, ...(await world.cli('sync', 'orders')) }).toMatchObject({ where, status: 0 });
  await sync();
  const orders = await world.atService(`
    select o.code, count(s.id)::integer as lines from reference_service.orders o
    left join reference_service.sub_orders s on s.order_id = o.id group by o.code order by o.code`);
  expect({ where, orders }).toEqual({ where, orders: every });
  const due = 'select order_code from sync.order_links where lease_owner is not null or due_at <= now()';
  expect(await world.warehouse(due)).toEqual([]);
  const cursor = `select from sync.settings where (orders_cursor ->> 'at')::timestamptz <= now()`;
  expect(await world.warehouse(cursor)).toHaveLength(1);
  // A change from before the first push is seen by the run after it, which sends nothing else.
  const posts = () => world.service.requests()['POST /v1/orders'] ?? 0;
  const before = posts();
  await world.shop(`update o set user_code = 'x', updated_at = now() - interval '1 minute' where code in ('O1', 'O9')`);
  await sync();
  const changed = await world.atService(`select code from reference_service.orders where user_code = 'x' order by 1`);
  expect({ where, changed, sent: posts() - before }).toEqual({
    where,
    changed: [{ code: 'O1' }, { code: 'O9' }],
    sent: 2,
  });
}

test('killed at any call to the queue, the next run ends in the same state', { timeout: 600_000 }, async () => {
  /** The command, with a proxy before its queue. */
  const openQueue = async (world: World) => {
    const queue = new URL(world.warehouseUrl);
    const between = await startTcpProxy(Number(queue.port));
    queue.port = String(between.port);
    return { between, environment: { ...world.environment, QUEUE_URL: queue.href } };
  };
  let total = 0;
  {
    await using world = await openShop();
    const { between, environment } = await openQueue(world);
    expect((await runCli(['sync', 'orders'], environment)).status).toBe(0);
    total = between.sent();
    await between.close();
  }
  for (const n of sampled(numbers(total), 1)) {
    await using world = await openShop();
    const { between, environment } = await openQueue(world);
    const command = startCli(['sync', 'orders'], environment);
    between.at(n, () => command.kill('SIGKILL'));
    await command.ended;
    await between.close();
    await expectRecovery(world, { n, total });
  }
});

test('a step that fails leaves a first push without cursor, and the cursor of a run of changes where it was', async () => {
  await using world = await openShop();
  const sync = async () => (await world.cli('sync', 'orders')).status;
  // Where no order has a line, and other rows are there, the queries of the shop may be wrong: nothing is pushed.
  const hide = () =>
    world.shop(`create table if not exists hidden (like l); insert into hidden select * from l; delete from l;
    insert into l (order_code, line_code) values ('of none', '1')`);
  const show = () => world.shop('delete from l; insert into l select * from hidden; delete from hidden');
  const cursor = `select orders_cursor from sync.settings where orders_cursor is not null`;
  await hide();
  expect(await sync()).toBe(1);
  expect(await world.warehouse(cursor)).toEqual([]);
  await show();
  expect(await sync()).toBe(0);
  await world.shop(`update o set user_code = 'x', updated_at = now() where code in ('O3', 'O4')`);
  await hide();
  const before = await world.warehouse(cursor);
  expect(before).toHaveLength(1);
  expect(await sync()).toBe(1);
  expect(await world.warehouse(cursor)).toEqual(before);
  await show();
  expect(await sync()).toBe(0);
  expect(
    await world.atService(`select code from reference_service.orders where user_code = 'x' order by code`),
  ).toEqual([{ code: 'O3' }, { code: 'O4' }]);
});
