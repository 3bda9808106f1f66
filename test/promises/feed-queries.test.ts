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
