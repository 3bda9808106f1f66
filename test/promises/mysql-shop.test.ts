import mysql from 'mysql2/promise';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startCli } from '../harness/cli.ts';
import { orderShopQueries, serviceState } from '../harness/order-world.ts';
import { createMysqlDatabase, mysqlKinds } from '../harness/servers.ts';
import { openWorld } from '../harness/world.ts';

// What every command does with a shop on MariaDB: the demo and the presets.
test.skipIf(mysqlKinds.length > 0)('left out: there is no mariadbd on the path', () => {});

describe.each(mysqlKinds)('%s', (kind) => {
  test('a NUL in a code costs only its record, and locked tables are waited for', async () => {
    const world = await openOwnShop(kind);
    await world.change(`insert into o values ('A', utc_timestamp(), 1), ('B', utc_timestamp(), 1), (concat('C', char(0), 'D'), utc_timestamp(), 1);
      insert into l values ('A', '1', 'P', 7), ('A', concat('2', char(0)), null, 7), ('B', '1', concat('Q', char(0)), null), ('B', '2', 'P', 7);
      insert into c values ('K1', 'One'), (concat('K', char(0)), 'Two');
      insert into g values ('G1', 'Gold'), (concat('G', char(0)), 'Silver'), (concat('long', repeat(md5(rand()), 200)), 'Long')`);
    const failing = async (command: string, failed: number) => {
      const stderr = expect.stringContaining(`${failed} records could not be synced`);
      expect(await world.cli('sync', command)).toMatchObject({ status: 1, stderr });
    };
    await failing('catalog', 3);
    for (const _run of [1, 2]) await failing('orders', 2);
    expect(await world.atService(serviceState)).toMatchObject([
      { code: 'A', sub_orders: [[7, 1, {}, 'paid', null]] },
      { code: 'B', sub_orders: [[7, 1, {}, 'paid', null]] },
    ]);
    const rows = await world.warehouse('select kind, reason from sync.dead_letters order by kind::text');
    const unusable = expect.stringMatching(/code holds a character that cannot be stored|code has 6404 bytes/);
    const kinds = ['category', 'order_line', 'order_line', 'user_grade', 'user_grade'];
    expect(rows).toEqual(kinds.map((of) => ({ kind: of, reason: unusable })));
    expect((await world.cli('verify orders')).stderr).not.toContain('doctor');
    await world.says('doctor', /orders\.sql: 1 row that runs may not find/);

    // Tables that are locked for some seconds are waited for.
    await world.change(`delete from l where line_code like '2_'; update o set price = 5, at = utc_timestamp()`);
    const lock = await mysql.createConnection(world.environment.SHOP_DATABASE_URL ?? '');
    onTestFinished(() => lock.end());
    await lock.query('lock tables o write, l write');
    const run = startCli(['sync', 'orders'], world.environment);
    await run.says('trying again: The shop database cannot be read: Lock wait timeout exceeded');
    await lock.query('unlock tables');
    await run.ended;
    const totals = await world.atService('select total_price::integer as total from reference_service.orders');
    expect(totals).toEqual([{ total: 5 }, { total: 5 }]);
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
  const environment = { SHOP_DATABASE_URL: shop.url, SHOP_SQL_DIR: folder, SHOP_TIME_ZONE: 'UTC' };
  const world = await openWorld({ shop: 'empty', environment });
  onTestFinished(() => world[Symbol.asyncDispose]());
  return { ...world, change: shop.query };
}
