import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
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
