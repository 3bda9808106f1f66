import { expect } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { writeQueries } from '../harness/order-shop.ts';
import { orderTest as test } from '../harness/order-test.ts';

test('orders stand as the earlier query and zone read them until a backfill reads all of them again', async ({
  openWorld,
}) => {
  const world = await openWorld({ environment: { ORDER_OVERLAP_MINUTES: '0' } });
  await world.shop(`insert into o (code, total_price, created_at, updated_at) values
      ('A', 100, '2026-07-01 10:00:00Z', now() - interval '2 hours'), ('B', 100, '2026-07-01 10:00:00Z', now());
    insert into l (order_code, line_code, product_id) values ('A', '1', 7), ('B', '1', 7)`);
  const run = async (zone: string, ...args: string[]) =>
    expect(await runCli(args, { ...world.environment, SHOP_TIME_ZONE: zone })).toMatchObject({ status: 0 });
  const orders = () =>
    world.atService(`select code, total_price::float8 as total, to_char(created_at at time zone 'UTC', 'HH24:MI') as at
      from reference_service.orders order by code`);
  await run('UTC', 'sync', 'orders');

  await writeQueries(world.environment.SHOP_SQL_DIR, {
    orders: `select code, created_at at time zone 'UTC' as created_at, updated_at, total_price / 100 as total_price from o`,
  });
  await run('Asia/Seoul', 'sync', 'orders');
  const [before, after] = [
    { total: 100, at: '10:00' },
    { total: 1, at: '01:00' },
  ];
  expect(await orders()).toEqual([
    { code: 'A', ...before },
    { code: 'B', ...after },
  ]);
  await run('Asia/Seoul', 'backfill', 'orders');
  expect(await orders()).toEqual([
    { code: 'A', ...after },
    { code: 'B', ...after },
  ]);
});
