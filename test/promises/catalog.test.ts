import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { openWorld, type World } from '../harness/world.ts';

let world: World;
afterEach(() => world[Symbol.asyncDispose]());

async function catalogWorld(): Promise<void> {
  const folder = await orderShopQueries();
  await writeFile(join(folder, 'categories.sql'), 'select code, name, parent as parent_code from c order by code');
  await writeFile(join(folder, 'user_grades.sql'), 'select * from g');
  world = await openWorld({ shop: 'empty', environment: { SHOP_SQL_DIR: folder } });
  await createOrderShop(world.shopUrl);
  await world.shop('create table c (code text, name text, parent text); create table g (code text, name text)');
}

const syncCatalog = () => runCli(['sync', 'catalog', '--json'], world.environment);
const writes = () => Object.entries(world.service.requests()).filter(([route]) => /^(POST|PATCH) \/v1/.test(route));

test('parents come before their children whatever order the rows come in; a second run sends nothing', async () => {
  await catalogWorld();
  await world.shop(
    `insert into c values ('a-leaf', 'Leaf', 'b-branch'), ('b-branch', 'Branch', 'c-root'), ('c-root', 'Root', null)`,
  );
  expect(await syncCatalog()).toMatchObject({ status: 0 });
  expect(
    await world.atService(`select c.code, p.code as parent from reference_service.categories c
      left join reference_service.categories p on p.id = c.parent_category_id order by c.code`),
  ).toEqual([
    { code: 'a-leaf', parent: 'b-branch' },
    { code: 'b-branch', parent: 'c-root' },
    { code: 'c-root', parent: null },
  ]);
  const sent = writes();
  await syncCatalog();
  expect(writes()).toEqual(sent);
});

test('a cycle and an unknown parent are dead letters that name it, and go once they are mended', async () => {
  await catalogWorld();
  await world.shop(
    `insert into c values ('x', 'X', 'y'), ('y', 'Y', 'x'), ('lost', 'Lost', 'nowhere'), ('fine', 'Fine', null)`,
  );
  expect((await syncCatalog()).status).toBe(1);
  expect(
    await world.warehouse('select key, reason from sync.dead_letters where resolved_at is null order by key'),
  ).toEqual([
    { key: 'lost', reason: 'its parent nowhere is not among the categories' },
    { key: 'x', reason: expect.stringMatching(/cycle: .*x.*y|could not be synced/) },
    { key: 'y', reason: expect.stringMatching(/cycle: .*x.*y/) },
  ]);
  expect(await world.atService('select code from reference_service.categories')).toEqual([{ code: 'fine' }]);
  await world.shop(`update c set parent = null where code in ('y', 'lost')`);
  expect((await syncCatalog()).status).toBe(0);
  expect(await world.atService('select code from reference_service.categories')).toHaveLength(4);
});

test('a grade is created once, renamed rather than doubled, and found by its name when its link is lost', async () => {
  await catalogWorld();
  await world.shop(`insert into g values ('G1', 'Silver'), ('G2', 'Gold')`);
  expect((await syncCatalog()).status).toBe(0);
  await world.shop(`update g set name = 'Platinum' where code = 'G2'`);
  await syncCatalog();
  const names = 'select id::integer, name from reference_service.user_grades order by id';
  const both = [
    { id: 1, name: 'Silver' },
    { id: 2, name: 'Platinum' },
  ];
  expect(await world.atService(names)).toEqual(both);
  await world.warehouse('delete from sync.user_grade_links');
  await syncCatalog();
  expect(await world.atService(names)).toEqual(both);
  expect(await world.warehouse('select user_grade_code from sync.user_grade_links order by 1')).toHaveLength(2);
});

test('two runs at once create each grade once, and an order carries the grade of its customer', async () => {
  await catalogWorld();
  await world.shop(`insert into g select 'G' || n, 'Grade ' || n from generate_series(1, 8) n`);
  await Promise.all([syncCatalog(), syncCatalog()]);
  expect(await world.atService('select id from reference_service.user_grades')).toHaveLength(8);
  await world.shop(
    `alter table o add column user_grade_code text; insert into o (code, user_grade_code) values ('A', 'G5')`,
  );
  await runCli(['sync', 'orders'], world.environment);
  expect(
    await world.atService(`select g.name from reference_service.orders o
      join reference_service.user_grades g on g.id = o.user_grade_id`),
  ).toEqual([{ name: 'Grade 5' }]);
});

test('a product that no review tells is learned from the service’s order list once a line waits for it', async () => {
  await catalogWorld();
  await world.shop(
    `insert into o (code) values ('W'); insert into l (order_code, line_code, product_code) values ('W', '1', 'rare')`,
  );
  expect((await runCli(['sync', 'orders'], world.environment)).status).toBe(1);
  await world.atService(`insert into reference_service.products (id, code) values (77, 'rare');
    insert into reference_service.orders (code, total_price, created_at, updated_at) values ('elsewhere', 1, now(), now());
    insert into reference_service.sub_orders (order_id, product_id, created_at, updated_at)
      select id, 77, now(), now() from reference_service.orders where code = 'elsewhere'`);
  await syncCatalog();
  expect(await runCli(['sync', 'orders'], world.environment)).toMatchObject({ status: 0 });
  expect(
    await world.atService(`select s.product_id::integer from reference_service.sub_orders s
      join reference_service.orders o on o.id = s.order_id where o.code = 'W'`),
  ).toEqual([{ product_id: 77 }]);
});
