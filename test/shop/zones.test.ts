import { expect } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { forgetDatabase } from '../harness/database.ts';
import { orderShopQueries, writeQueries } from '../harness/order-shop.ts';
import { until, type World } from '../harness/world.ts';
import { type OpenWorld, worldTest as test } from '../harness/world-test.ts';

/** Dates are read right whatever zone and date style the shop's database forces on its sessions. */

async function zoneShop(
  open: OpenWorld,
  options: { date?: string; settings?: string[]; zone?: string; type?: string },
): Promise<World> {
  const date = options.date ?? 'at';
  const folder = await orderShopQueries({
    orders: `select code, ${date} as created_at, ${date} as updated_at, 1::numeric as total_price from o`,
    order_lines: `select code as order_code, '1' as line_code, 7 as product_id, 1::numeric as price, ${date} as delivered_at from o`,
  });
  const zone = options.zone === undefined ? {} : { SHOP_TIME_ZONE: options.zone };
  const world = await open({ shop: 'empty', environment: { SHOP_SQL_DIR: folder, ...zone } });
  const database = new URL(world.shopUrl).pathname.slice(1);
  for (const setting of options.settings ?? []) await world.shop(`alter database ${database} set ${setting}`);
  // A setting holds for connections that are opened after it.
  await forgetDatabase(world.shopUrl);
  await world.shop(`create table o (code text, at ${options.type ?? 'timestamp'})`);
  return world;
}

const syncOrders = (world: World, environment = {}) =>
  runCli(['sync', 'orders', '--json'], { ...world.environment, ...environment });
const dates = (world: World) =>
  world.atService<{ code: string; at: string; delivered: string }>(
    `select o.code, to_char(o.created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as at,
       to_char(s.delivered_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as delivered
     from reference_service.orders o join reference_service.sub_orders s on s.order_id = o.id order by o.code`,
  );
const odd = ["timezone = 'America/New_York'", "datestyle = 'German'"];
const both = (code: string, at: string) => ({ code, at, delivered: at });

test.for([
  ['a date without zone is in SHOP_TIME_ZONE, not in the zone of the session', { zone: 'Asia/Seoul' }, '01'],
  ['a cast in the query takes the zone of the session', { date: 'at::timestamptz' }, '14'],
  ['a date with zone is itself', { type: 'timestamptz' }, '14'],
] as const)('%s, whatever the date style', async ([_name, options, hour], { openWorld }) => {
  const world = await zoneShop(openWorld, { ...options, settings: odd });
  await world.shop(`insert into o values ('A', '2026-07-01 10:00:00'), ('B', '2026-07-01 10:20:00.000004')`);
  expect(await syncOrders(world)).toMatchObject({ status: 0 });
  expect(await dates(world)).toEqual([both('A', `2026-07-01 ${hour}:00:00`), both('B', `2026-07-01 ${hour}:20:00`)]);
  // The cursor stands at the newest order: that one and what comes after it are read, the older one is not.
  await world.shop(`insert into o values ('C', '2026-07-01 10:30:00')`);
  const { counts } = JSON.parse((await syncOrders(world, { ORDER_OVERLAP_MINUTES: '0' })).stdout);
  expect(counts).toMatchObject({ orders: 2 });
  expect(await dates(world)).toHaveLength(3);
});

test('a query file with a byte order mark, Windows line ends, comments and semicolons at its end runs', async ({
  openWorld,
}) => {
  const world = await zoneShop(openWorld, { type: 'timestamptz' });
  await world.shop(`insert into o values ('A', now())`);
  const write = (orders: string) => writeQueries(world.environment.SHOP_SQL_DIR, { orders });
  await write(
    '\uFEFF-- the orders\r\nselect code, at as created_at,\r\n  at as updated_at, 1::numeric as total_price\r\nfrom o;;\r\n-- as people end; their queries\r\n',
  );
  expect(await syncOrders(world)).toMatchObject({ status: 0 });
  expect(await dates(world)).toHaveLength(1);
  await write('\uFEFFselect code,\r\n  at as created_at\r\nfrom nowhere;\r\n');
  expect((await syncOrders(world)).stderr).toMatch(
    /orders\.sql cannot be run \(line 3\): relation "nowhere" does not exist/,
  );
});

test('an index on the dates serves, whether they have a zone or not', async ({ openWorld }) => {
  for (const type of ['timestamp', 'timestamptz']) {
    const world = await zoneShop(openWorld, { type, zone: 'Asia/Seoul' });
    await world.shop(`insert into o select 'O' || n, timestamp '2026-01-01' + n * interval '1 minute'
      from generate_series(1, 5000) n; create index on o (at, code); analyze o`);
    const app = await world.openApp();
    const after = { at: '2026-01-04T00:00:00.000Z', code: '' };
    await app.shop.changedSince(after, 200);
    await app.close();
    // The server counts the scans when it has ended the connection.
    await until(async () => {
      const [stat] = await world.shop<{ scans: string }>(
        `select idx_scan as scans from pg_stat_user_tables where relname = 'o'`,
      );
      return Number(stat?.scans) > 0;
    });
    await world[Symbol.asyncDispose]();
  }
});
