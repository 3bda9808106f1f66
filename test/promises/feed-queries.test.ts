import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { openWorld } from '../harness/world.ts';

test('a corrected query is noticed by sync orders and status, until all orders were read again', async () => {
  const folder = await orderShopQueries();
  const world = await openWorld({ shop: 'empty', environment: { SHOP_SQL_DIR: folder, ORDER_OVERLAP_MINUTES: '0' } });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await createOrderShop(world.shopUrl);
  await world.shop(`insert into o (code, total_price, updated_at) values ('A', 100, now() - interval '2 hours'), ('B', 100, now());
    insert into l (order_code, line_code, product_id) values ('A', '1', 7), ('B', '1', 7)`);
  const run = async (...args: string[]) => {
    const end = await runCli(args, world.environment);
    expect(end).toMatchObject({ status: 0 });
    return end.stdout;
  };
  const noticed = /orders\.sql changed on .* UTC: orders that were pushed before were read by the earlier query/;
  expect(await run('sync', 'orders')).not.toMatch(noticed);

  // Another comment means the same.
  await writeFile(join(folder, 'orders.sql'), '-- mine\nselect  *\nfrom o');
  expect(await run('sync', 'orders')).not.toMatch(noticed);

  await writeFile(
    join(folder, 'orders.sql'),
    `select code, created_at, updated_at, total_price / 100 as total_price from o`,
  );
  const said = await run('sync', 'orders');
  expect(said).toMatch(noticed);
  expect(said).toContain('npx review-sync backfill orders');
  expect((await runCli(['status'], world.environment)).stdout).toMatch(noticed);
  const changedQueries = [{ file: 'orders', changedAt: expect.stringMatching(/Z$/) }];
  expect(JSON.parse(await run('sync', 'orders', '--json'))).toMatchObject({ changedQueries });
  const totals = 'select code, total_price::float8 as total from reference_service.orders order by code';
  expect(await world.atService(totals)).toEqual([
    { code: 'A', total: 100 },
    { code: 'B', total: 1 },
  ]);

  // A backfill of some days says nothing of the others.
  await run('backfill', 'orders', '--from', '2020-01-01');
  await run('backfill', 'orders', '--to', '2035-12-31');
  expect((await runCli(['status'], world.environment)).stdout).toMatch(noticed);
  await run('backfill', 'orders');
  expect(await world.atService(totals)).toEqual([
    { code: 'A', total: 1 },
    { code: 'B', total: 1 },
  ]);
  expect(await run('sync', 'orders')).not.toMatch(noticed);
  expect((await runCli(['status'], world.environment)).stdout).not.toMatch(noticed);

  // A backfill that is the first run to notice a query has read all orders by it.
  await writeFile(
    join(folder, 'orders.sql'),
    `select code, created_at, updated_at, total_price / 25 as total_price from o`,
  );
  await run('backfill', 'orders');
  expect((await runCli(['status'], world.environment)).stdout).not.toMatch(noticed);
});

test('a corrected SHOP_TIME_ZONE is noticed as a corrected query is, where a date of the shop is in it', async () => {
  const folder = await orderShopQueries();
  const world = await openWorld({ shop: 'empty', environment: { SHOP_SQL_DIR: folder } });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await createOrderShop(world.shopUrl);
  await world.shop(`insert into o (code, created_at) values ('A', '2026-07-01 10:00:00Z');
    insert into l (order_code, line_code, product_id) values ('A', '1', 7)`);
  const run = async (zone: string | undefined, ...args: string[]) => {
    const end = await runCli(args, { ...world.environment, ...(zone && { SHOP_TIME_ZONE: zone }) });
    expect(end).toMatchObject({ status: 0 });
    return end.stdout;
  };
  const noticed = /SHOP_TIME_ZONE changed on .* UTC: orders that were pushed before were read in the earlier zone/;
  const createdAt = `select to_char(created_at at time zone 'UTC', 'HH24:MI') as at from reference_service.orders`;

  // Every date has a zone of its own.
  await run('UTC', 'sync', 'orders');
  expect(await run('Asia/Seoul', 'sync', 'orders')).not.toMatch(noticed);

  // The zone is recorded for the first time: it did not change.
  await writeFile(
    join(folder, 'orders.sql'),
    `select code, created_at at time zone 'UTC' as created_at, updated_at, total_price from o`,
  );
  await run('UTC', 'backfill', 'orders');
  expect(await run('UTC', 'sync', 'orders')).not.toMatch(noticed);
  expect(await world.atService(createdAt)).toEqual([{ at: '10:00' }]);

  const said = await run('Asia/Seoul', 'sync', 'orders', '--json');
  expect(JSON.parse(said)).toMatchObject({ changedQueries: [{ file: 'SHOP_TIME_ZONE' }] });
  expect(await run('Asia/Seoul', 'sync', 'orders')).toMatch(noticed);
  const status = (await runCli(['status'], world.environment)).stdout;
  expect(status).toMatch(noticed);
  expect(status).toContain('npx review-sync backfill orders');

  await run('Asia/Seoul', 'backfill', 'orders');
  expect(await world.atService(createdAt)).toEqual([{ at: '01:00' }]);
  expect(await run('Asia/Seoul', 'sync', 'orders')).not.toMatch(noticed);
  expect((await runCli(['status'], world.environment)).stdout).not.toMatch(noticed);
});
