import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { openWorld } from '../harness/world.ts';

/** A shop that was synced before, and cancels statements after 100 ms. One of its queries needs 50 ms for each order. */
async function slowShop(file: string, query: string) {
  const folder = await orderShopQueries();
  await writeFile(join(folder, file), query);
  const world = await openWorld({ shop: 'empty', environment: { SHOP_SQL_DIR: folder } });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await createOrderShop(world.shopUrl);
  await world.shop(`insert into o (code, updated_at) select 'O' || n, now() from generate_series(1, 50) n`);
  await runCli(['sync', 'orders'], world.environment);
  await world.shop(`alter database ${new URL(world.shopUrl).pathname.slice(1)} set statement_timeout = '100ms'`);
  return world;
}

test.each([
  [
    'changed_orders.sql',
    'select code, updated_at as changed_at from o where updated_at >= :since and pg_sleep(0.05) is not null',
    'to find the next 50000 changes by changed_at',
  ],
  [
    'orders.sql',
    'select code, created_at, updated_at, total_price from o where pg_sleep(0.05) is not null',
    'to find the next 50000 orders by updated_at',
  ],
])(
  'a run whose page takes the shop too long says which file, what it looked for and what helps: %s',
  async (file, query, lookedFor) => {
    const { environment } = await slowShop(file, query);
    const run = await runCli(['sync', 'orders'], environment);
    expect(run.status).toBe(1);
    const said = run.stderr + run.stdout;
    expect(said).toContain(`${file}: one statement took longer than 30 s, ${lookedFor}`);
    expect(said).toContain('An index of the table on the column of');
    expect(said).toContain('ORDER_BATCH_SIZE');
  },
);
