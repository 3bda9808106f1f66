import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { killAtQueueCalls, killAtRequests } from '../harness/killed-orders.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { openWorld, type World } from '../harness/world.ts';

/** A first push of five batches, in a shop with a feed, killed between and within them. */

async function shopWorld(): Promise<World> {
  const folder = await orderShopQueries();
  await writeFile(
    join(folder, 'changed_orders.sql'),
    'select code, updated_at as changed_at from o where updated_at >= :since',
  );
  const environment = { SHOP_SQL_DIR: folder, ORDER_LEASE_SECONDS: '1', ORDER_BATCH_SIZE: '2' };
  const world = await openWorld({ shop: 'empty', environment });
  await createOrderShop(world.shopUrl);
  await world.shop(`insert into o (code) select 'O' || n from generate_series(1, 9) n;
    insert into l (order_code, line_code, product_id, price) select code, '1', 7, 10 from o`);
  return world;
}

const every = Array.from({ length: 9 }, (_, index) => ({ code: `O${index + 1}`, lines: 1 }));

/** The next run ends with every order and line once, none due now, and the cursor at the shop's time. */
async function expectRecovery(world: World, where: unknown): Promise<void> {
  expect({ where, ...(await runCli(['sync', 'orders'], world.environment)) }).toMatchObject({ where, status: 0 });
  const orders = await world.atService(`
    select o.code, count(s.id)::integer as lines from reference_service.orders o
    left join reference_service.sub_orders s on s.order_id = o.id group by o.code order by o.code`);
  expect({ where, orders }).toEqual({ where, orders: every });
  expect(
    await world.warehouse('select order_code from sync.order_links where lease_owner is not null or due_at <= now()'),
  ).toEqual([]);
  const cursor = `select from sync.settings where (orders_cursor ->> 'at')::timestamptz <= now()`;
  expect(await world.warehouse(cursor)).toHaveLength(1);
  // Changes from before and during the first push are seen by the runs after it.
  await world.shop(`update o set user_code = 'x', updated_at = now() - interval '1 minute' where code in ('O1', 'O9')`);
  expect((await runCli(['sync', 'orders'], world.environment)).status).toBe(0);
  const changed = `select code from reference_service.orders where user_code = 'x' order by 1`;
  expect({ where, changed: await world.atService(changed) }).toEqual({
    where,
    changed: [{ code: 'O1' }, { code: 'O9' }],
  });
}

test(
  'killed with kill -9 at any request to the service, the next run ends in the same state',
  {
    timeout: 300_000,
  },
  () => killAtRequests(shopWorld, { requests: [1, 4, 9, 13, 18], sample: 2 }, expectRecovery),
);

test(
  'killed with kill -9 at any call to the queue, within or between batches, the next run ends in the same state',
  {
    timeout: 600_000,
  },
  () => killAtQueueCalls(shopWorld, { sample: 2 }, expectRecovery),
);

test('a step that fails leaves a first push without cursor, and the cursor of a run of changes where it was', async () => {
  await using world = await shopWorld();
  const sync = async () => (await runCli(['sync', 'orders'], world.environment)).status;
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
