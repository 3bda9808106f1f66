import { expect } from 'vitest';
import { orderShopQueries } from '../harness/order-world.ts';
import { shopFindings } from '../harness/shop-servers.ts';
import { type OpenWorld, worldTest as test, type World } from '../harness/world.ts';

async function keyShop(open: OpenWorld): Promise<World> {
  const folder = await orderShopQueries({
    orders: 'select code, created_at, updated_at, total_price from o',
    order_lines: 'select order_code, line_code, product_id, price from l',
  });
  const world = await open({ environment: { SHOP_SQL_DIR: folder } });
  await world.shop(`
    create table o (code text primary key, created_at timestamptz default now() - interval '1 hour',
      updated_at timestamptz default now() - interval '1 hour', total_price numeric default 1, internal_id integer);
    create table l (order_code text, line_code text default '1',
      product_id bigint default 7, price numeric default 1)`);
  return world;
}

const atService = (world: World) =>
  world.atService(
    `select o.code, count(s.id)::integer as lines from reference_service.orders o
     left join reference_service.sub_orders s on s.order_id = o.id group by o.code order by o.code`,
  );
const doctor = async (world: World) =>
  (await shopFindings(world)).filter((one) => !/^(ok|\w+: Postgres)/.test(one)).map((one) => one.split(' → ')[0]);

test('if lines carry another key than the orders, a run pushes none, as doctor says', async ({ openWorld }) => {
  const world = await keyShop(openWorld);
  await world.shop(`insert into o values ('2026-0001'); insert into l values ('101'), ('102')`);
  expect(await doctor(world)).toEqual([
    expect.stringMatching(
      /The only order has no line, .* called "2026-0001" in orders\.sql, and "10\d" in order_lines\.sql$/,
    ),
  ]);
  await world.shop(`insert into o values ('2026-0002')`);
  const stdout = expect.stringContaining('None of the newest 2 orders has a line, although order_lines.sql has rows');
  expect(await world.cli('sync', 'orders', '--json')).toMatchObject({ status: 1, stdout });
  expect(await atService(world)).toEqual([]);
  await world.shop(`update l set order_code = '2026-000' || right(order_code, 1)`);
  expect((await world.cli('sync', 'orders')).status).toBe(0);
  expect(await atService(world)).toEqual(['2026-0001', '2026-0002'].map((code) => ({ code, lines: 1 })));
});

test('doctor names what a run would make a dead letter, by reason, with an example', async ({ openWorld }) => {
  const world = await keyShop(openWorld);
  // The newest 200 and the oldest 200 are looked at.
  await world.shop(`insert into o (code, created_at) select 'O' || n, now() - n * interval '1 hour' from generate_series(1, 401) n;
    insert into l (order_code) select 'O' || n from generate_series(1, 401) n;
    insert into l values (null);
    update o set total_price = 'NaN' where code in ('O4', 'O201', 'O401');
    update l set product_id = 0 where order_code = 'O5'`);
  expect((await doctor(world)).toSorted()).toEqual([
    expect.stringMatching(/^warning: order_lines\.sql: 1 of 398 rows .*product_id is 0.*\(order_line O5\/1\)$/),
    'warning: order_lines.sql: 1 row without order_code: no order will show them',
    expect.stringMatching(
      /^warning: orders\.sql: 2 of 400 rows .*total_price is NaN, expected an amount \(order O\d+\)$/,
    ),
  ]);
});
