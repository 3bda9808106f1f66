import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { orderTest as test, writeQueries } from '../harness/order-world.ts';

test('a run whose page takes too long says which file, for what, and what helps', async ({ world }) => {
  const write = (queries: Record<string, string>) => writeQueries(world.environment.SHOP_SQL_DIR, queries);
  const isSlow = 'pg_sleep(0.05) is not null';
  await write({
    changed_orders: `select code, updated_at as changed_at from o where updated_at >= :since and ${isSlow}`,
  });
  await world.shop(`insert into o (code, updated_at) select 'O' || n, now() from generate_series(1, 50) n`);
  await runCli(['sync', 'orders'], world.environment);
  await world.shop(`alter database ${new URL(world.shopUrl).pathname.slice(1)} set statement_timeout = '100ms'`);
  const { status, stdout, stderr } = await runCli(['sync', 'orders'], world.environment);
  expect([status, stderr + stdout]).toEqual([
    1,
    expect.stringMatching(
      /changed_orders\.sql: one statement took longer than 30 s, or than a limit of the database, to find the next 50000 changes by changed_at[\s\S]*An index of the table on the column of[\s\S]*ORDER_BATCH_SIZE/,
    ),
  ]);
  await rm(join(`${world.environment.SHOP_SQL_DIR}`, 'changed_orders.sql'));
  await write({ orders: `select * from o where ${isSlow}` });
  const { shop } = await world.openApp();
  for (const [axis, column] of [
    ['code', 'code'],
    ['created', 'created_at'],
    ['updated', 'updated_at'],
  ] as const) {
    const page = shop.orderCodes({ axis, after: { at: '-infinity', code: '' }, size: 500 });
    await expect(page).rejects.toThrow(
      `orders.sql: one statement took longer than 30 s, or than a limit of the database, to find the next 500 orders by ${column}`,
    );
  }
});
