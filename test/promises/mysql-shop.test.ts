import mysql from 'mysql2/promise';
import { describe, expect, onTestFinished, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { generateSampleShop } from '../../src/sandbox/sample-shop/generate.ts';
import { loadSampleShop } from '../../src/sandbox/sample-shop/load.ts';
import { loadSampleShopIntoMariadb } from '../../src/sandbox/sample-shop/load-mariadb.ts';
import { runCli, startCli } from '../harness/cli.ts';
import { createMysqlDatabase, mysqlKinds } from '../harness/mariadb.ts';
import { orderShopQueries, serviceState } from '../harness/order-shop.ts';
import { serviceStateSql } from '../harness/sample-shop-state.ts';
import { openWorld, type World } from '../harness/world.ts';

/** The sample shop on MariaDB (and MySQL): every command does with it what it does with the same shop on Postgres. */

type Both = { postgres: World; mysql: World; change(statement: string): Promise<void> };

/** Two worlds of the same shop, one on Postgres, and one on the other server. */
async function openBoth(kind: (typeof mysqlKinds)[number]): Promise<Both> {
  const sample = generateSampleShop({ seed: 7, orders: 40, reviews: 120, now: new Date() });
  const database = await createMysqlDatabase(kind);
  await database.drop();
  onTestFinished(() => database.drop());
  await loadSampleShopIntoMariadb(database.url, sample);
  const postgres = await openWorld({ shop: 'empty' });
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  await loadSampleShop(postgres.shopUrl, sample);
  const ofMysql = { SHOP_SQL_DIR: packagePath('sql', 'demo', 'mariadb'), SHOP_TIME_ZONE: 'Asia/Seoul' };
  const mysql = await openWorld({ shop: 'empty', environment: { SHOP_DATABASE_URL: database.url, ...ofMysql } });
  onTestFinished(() => mysql[Symbol.asyncDispose]());
  for (const world of [postgres, mysql]) await seedReviews(world.serviceDatabaseUrl, sample.reviews);
  return {
    postgres,
    mysql,
    async change(statement) {
      await postgres.shop(statement.replaceAll('$', 'shop.').replaceAll('NOW', 'now()'));
      // The shop writes the time of Seoul, whatever the zone of the server is.
      await database.query(statement.replaceAll('$', '').replaceAll('NOW', 'utc_timestamp(6) + interval 9 hour'));
    },
  };
}

test.skipIf(mysqlKinds.length > 0)('left out: there is no mariadbd on the path', () => {});

describe.each(mysqlKinds)('%s', (kind) => {
  test('every command does what it does with the same shop on Postgres', async () => {
    const both = await openBoth(kind);
    const each = async (...args: string[]) => {
      const worlds = [both.postgres, both.mysql];
      const ends = await Promise.all(worlds.map(({ environment }) => runCli(args, environment)));
      expect([args, ...ends.map(({ status }) => status)]).toEqual([args, 0, 0]);
      return ends.map(({ stdout }) => stdout);
    };
    const same = async (state = serviceState) => {
      const [one, other] = [await both.postgres.atService(state), await both.mysql.atService(state)];
      expect(other).toEqual(one);
      return one;
    };

    await each('sync', 'reviews');
    // Each status, and one that the queries do not know.
    const statuses = ['N10', 'N20', 'N30', 'N40', 'C40', 'R10', 'R40', 'E10', 'X99'];
    const cases = statuses.map((status, n) => `when ${n} then '${status}'`).join(' ');
    await both.change(`update $order_items set item_status = case mod(order_item_no, 9) ${cases} end`);
    await each('backfill', 'orders');
    // The newest first: young enough for the rescan. On some days one order of the sample shop is deleted.
    const codes = await both.postgres.shop<{ code: string }>(
      'select order_no as code from shop.orders where removed_at is null order by ordered_at desc, order_no desc',
    );
    expect(codes.length).toBeGreaterThan(30);
    expect(await same()).toHaveLength(codes.length);
    await same(`${serviceStateSql} order by o.code`);
    const [third, second, first] = codes.map(({ code }) => code);
    await both.change(`update $orders set paid_amount = 4321, modified_at = NOW where order_no = '${first}'`);
    await both.change(`update $order_items set item_status = 'R40', modified_at = NOW
      where order_id = (select order_id from $orders where order_no = '${second}')`);
    await each('sync', 'orders');
    await same();

    // A change that no date shows: only the rescan finds it.
    await both.change(`update $orders set paid_amount = 1234 where order_no = '${third}'`);
    await each('sync', 'orders');
    expect(await same()).not.toContainEqual(expect.objectContaining({ code: third, total_price: '1234.00' }));
    const [, before] = await each('preview', 'order', third ?? '');
    expect(before).toContain('1234');
    await each('sync', 'reconcile');
    await same();
    await each('verify', 'orders');
  });

  test('a NUL in a code of any kind of record costs only that record', async () => {
    const world = await openOwnShop(kind);
    await world.change(`insert into o values ('A', utc_timestamp(), 1), ('B', utc_timestamp(), 1), (concat('C', char(0), 'D'), utc_timestamp(), 1);
      insert into l values ('A', '1', 'P', 7), ('A', concat('2', char(0)), null, 7), ('B', '1', concat('Q', char(0)), null), ('B', '2', 'P', 7);
      insert into c values ('K1', 'One'), (concat('K', char(0)), 'Two');
      insert into g values ('G1', 'Gold'), (concat('G', char(0)), 'Silver'), (concat('long', repeat(md5(rand()), 200)), 'Long')`);
    for (const [command, failed] of [
      ['catalog', 3],
      ['orders', 2],
      ['orders', 2],
    ] as const) {
      const { status, stderr } = await world.cli('sync', command);
      expect([status, stderr]).toEqual([1, expect.stringContaining(`${failed} records could not be synced`)]);
    }
    expect(await world.atService(serviceState)).toMatchObject([
      { code: 'A', sub_orders: [[7, 1, {}, 'paid', null]] },
      { code: 'B', sub_orders: [[7, 1, {}, 'paid', null]] },
    ]);
    const rows = await world.warehouse('select kind, reason from sync.dead_letters order by kind::text');
    const unusable = expect.stringMatching(/code holds a character that cannot be stored|code has 6404 bytes/);
    expect(rows).toEqual(
      ['category', 'order_line', 'order_line', 'user_grade', 'user_grade'].map((of) => ({
        kind: of,
        reason: unusable,
      })),
    );
    expect((await world.cli('verify', 'orders')).stderr).not.toContain('doctor');
    expect((await world.cli('doctor')).stdout).toMatch(/orders\.sql: 1 row that runs may not find/);
  });

  test('a shop that locks its tables for some seconds is waited for', async () => {
    const world = await openOwnShop(kind);
    await world.change(`insert into o values ('A', utc_timestamp(), 1); insert into l values ('A', '1', 'P', 7)`);
    const lock = await mysql.createConnection(world.environment.SHOP_DATABASE_URL ?? '');
    onTestFinished(() => lock.end());
    await lock.query('lock tables o write, l write');
    const run = startCli(['sync', 'orders'], world.environment);
    await run.says('trying again: Lock wait timeout exceeded');
    await lock.query('unlock tables');
    expect(await run.ended).toMatchObject({ status: 0 });
    expect(await world.atService(serviceState)).toMatchObject([{ code: 'A' }]);
  });
});

/** A world whose shop has a table each of orders, lines, categories and grades, without a change feed. */
async function openOwnShop(kind: (typeof mysqlKinds)[number]) {
  const folder = await orderShopQueries({
    orders: 'select code, at as created_at, at as updated_at, price as total_price from o',
    order_lines: 'select order_code, line_code, product_code, product_id, 1 as price from l',
    categories: 'select code, name from c',
    user_grades: 'select code, name from g',
  });
  const shop = await createMysqlDatabase(kind);
  onTestFinished(() => shop.drop());
  await shop.query(`create table o (code varchar(20), at datetime, price int); create table c (code varchar(20), name varchar(20)); create table g (code text, name varchar(20));
    create table l (order_code varchar(20), line_code varchar(20), product_code varchar(20), product_id bigint)`);
  const world = await openWorld({
    shop: 'empty',
    environment: { SHOP_DATABASE_URL: shop.url, SHOP_SQL_DIR: folder, SHOP_TIME_ZONE: 'UTC' },
  });
  onTestFinished(() => world[Symbol.asyncDispose]());
  return { ...world, change: shop.query };
}
