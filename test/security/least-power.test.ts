import { expect, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { openWorld } from '../harness/world.ts';

test('a shop query that writes changes nothing in the shop, although the user may write', async () => {
  const SHOP_SQL_DIR = await orderShopQueries({ categories: `select write_one() as code, 'name'::text as name` });
  await using world = await openWorld({ shop: 'empty', environment: { SHOP_SQL_DIR } });
  await createOrderShop(world.shopUrl);
  await world.shop(`create table written (n int);
    create function write_one() returns text language plpgsql as $$ begin insert into written values (1); return 'C'; end $$`);
  const end = await runCli(['sync', 'catalog'], world.environment);
  expect(end.stderr).toMatch(/25006|read-only/);
  expect(await world.shop('select * from written')).toEqual([]);
});
