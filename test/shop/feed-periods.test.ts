import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { continueChangedOrders, planChangedOrders } from '../../src/orders/which/changed-orders.ts';
import { runCli } from '../harness/cli.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { openWorld } from '../harness/world.ts';

test('a feed that takes too long as a whole is read in shorter periods, and no change is left out', async () => {
  const folder = await orderShopQueries();
  // Each change costs 50 ms: all of them take five seconds, and the shop cancels statements after one.
  await writeFile(
    join(folder, 'changed_orders.sql'),
    'select code, updated_at as changed_at from o where updated_at >= :since and pg_sleep(0.05) is not null',
  );
  const world = await openWorld({ shop: 'empty', environment: { SHOP_SQL_DIR: folder } });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await createOrderShop(world.shopUrl);
  await world.shop(`create index on o (updated_at);
    insert into o (code, updated_at) select 'O' || n, now() - n * interval '10 minutes' from generate_series(1, 100) n;
    analyze o`);
  const database = new URL(world.shopUrl).pathname.slice(1);
  await world.shop(`alter database ${database} set statement_timeout = '1s'`);
  await world.shop(`alter database ${database} set enable_seqscan = off`);
  const { shop } = await world.openApp();
  const found: string[] = [];
  let pages = 0;
  let after = { at: new Date(Date.now() - 2 * 86_400_000).toISOString(), code: '' };
  for (;;) {
    const page = await shop.changedSince(after, 50);
    pages += 1;
    found.push(...page.keys.map(({ code }) => code));
    if (page.next === undefined) break;
    after = page.next;
  }
  expect(new Set(found).size).toBe(100);
  expect(found).toHaveLength(100);
  expect(pages).toBeGreaterThan(4);
});

test('where even a minute of changes takes too long, the error names the file', async () => {
  const folder = await orderShopQueries();
  await writeFile(
    join(folder, 'changed_orders.sql'),
    'select code, updated_at as changed_at from o where updated_at >= :since and pg_sleep(60) is not null',
  );
  const world = await openWorld({ shop: 'empty', environment: { SHOP_SQL_DIR: folder } });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await createOrderShop(world.shopUrl);
  await world.shop(`insert into o (code, updated_at) values ('A', now())`);
  await world.shop(`alter database ${new URL(world.shopUrl).pathname.slice(1)} set statement_timeout = '100ms'`);
  const { shop } = await world.openApp();
  const after = { at: new Date(Date.now() - 60_000).toISOString(), code: '' };
  await expect(shop.changedSince(after, 50)).rejects.toMatchObject({
    code: 'shop-timeout',
    message: expect.stringContaining('changed_orders.sql'),
  });
});

/**
 * Orders whose queries the shop cancels once they have computed more than so many codes, as it does after some time.
 */
async function shopOf(count: number, codesAtMost: number) {
  const folder = await orderShopQueries();
  await writeFile(
    join(folder, 'orders.sql'),
    'select costly(code) as code, created_at, updated_at, total_price from o',
  );
  const environment = { SHOP_SQL_DIR: folder, ORDER_BATCH_SIZE: String(count) };
  const world = await openWorld({ shop: 'empty', environment });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await createOrderShop(world.shopUrl);
  await world.shop(`create function costly(code text) returns text stable language plpgsql as $$
    declare computed integer := coalesce(nullif(current_setting('test.computed', true), '')::integer, 0) + 1;
    begin
      perform set_config('test.computed', computed::text, true);
      if computed > ${codesAtMost} then raise exception using errcode = 'query_canceled'; end if;
      return code;
    end $$;
    create index on o (updated_at); create index on o (created_at);
    insert into o (code, updated_at) select 'O' || n, now() - n * interval '1 minute' from generate_series(1, ${count}) n;
    analyze o`);
  await world.shop(`alter database ${new URL(world.shopUrl).pathname.slice(1)} set enable_seqscan = off`);
  return world;
}

test('a first run whose pages of orders.sql take too long reads smaller pages, and plans each order once', async () => {
  const world = await shopOf(3000, 6000);
  const { shop, warehouse } = await world.openApp();
  const [deps, options] = [
    { shop, db: warehouse.db },
    { lookbackMinutes: 10, batchSize: 3000, isAnyTime: false },
  ];
  const sizes: number[] = [];
  const codes: string[] = [];
  for (let batch = await planChangedOrders(deps, options); ; ) {
    const planned = batch.steps.flat();
    codes.push(...planned);
    sizes.push(planned.length);
    const next = await continueChangedOrders(deps, batch.state, { failed: false, isLost: false }, options);
    if (next === undefined) break;
    batch = next;
  }
  expect(new Set(codes).size).toBe(3000);
  expect(codes).toHaveLength(3000);
  expect(sizes.slice(0, 2)).toEqual([500, 1000]);
});

test('a run whose smallest page takes too long says which file, how long, what it looked for and which index helps', async () => {
  const world = await shopOf(600, 10);
  const run = await runCli(['sync', 'orders'], world.environment);
  expect(run.status).toBe(1);
  expect(run.stderr + run.stdout).toContain(
    'orders.sql: one statement took longer than 30 s, to find the next 500 orders by updated_at',
  );
  expect(run.stderr + run.stdout).toContain('An index of the table on the column of updated_at');
});
