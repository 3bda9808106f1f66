import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { createMysqlDatabase, mysqlKinds } from '../harness/mariadb.ts';
import { mysqlSampleQueries, mysqlSampleSchema } from '../harness/mysql-sample-shop.ts';
import { orderShopQueries, serviceState } from '../harness/order-shop.ts';
import { openWorld, type World } from '../harness/world.ts';

/** The sample shop on MariaDB (and MySQL): every command does with it what it does with the same shop on Postgres. */

type Both = { postgres: World; mysql: World; change(statement: string): Promise<void> };

/** Two worlds of the same shop: one on Postgres, and one whose shop is a copy of it on the other server. */
async function openBoth(kind: (typeof mysqlKinds)[number]): Promise<Both> {
  const folder = await orderShopQueries();
  for (const [name, text] of Object.entries(mysqlSampleQueries)) await writeFile(join(folder, `${name}.sql`), text);
  const copy = await createMysqlDatabase(kind);
  onTestFinished(() => copy.drop());
  const postgres = await openWorld();
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  const mysql = await openWorld({
    environment: { SHOP_DATABASE_URL: copy.url, SHOP_SQL_DIR: folder, SHOP_TIME_ZONE: 'Asia/Seoul' },
  });
  onTestFinished(() => mysql[Symbol.asyncDispose]());
  await copy.query(mysqlSampleSchema);
  for (const [table] of mysqlSampleSchema.matchAll(/(?<=create table )\w+/g)) {
    const rows = await postgres.shop(`select * from shop.${table}`);
    const columns = Object.keys(rows[0] ?? {});
    const values = rows.map((row) => `(${columns.map((column) => literal(row[column])).join(', ')})`);
    if (values.length > 0) await copy.query(`insert into ${table} (${columns.join(', ')}) values ${values.join(', ')}`);
  }
  return {
    postgres,
    mysql,
    async change(statement) {
      await postgres.shop(statement.replaceAll('$', 'shop.').replaceAll('NOW', 'now()'));
      // The shop writes the time of Seoul, whatever the zone of the server is.
      await copy.query(statement.replaceAll('$', '').replaceAll('NOW', 'utc_timestamp(6) + interval 9 hour'));
    },
  };
}

function literal(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Date) {
    return `'${new Date(value.getTime() + 9 * 3_600_000).toISOString().slice(0, 23).replace('T', ' ')}'`;
  }
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

test.skipIf(mysqlKinds.length > 0)('left out: there is no mariadbd on the path', () => {});

describe.each(mysqlKinds)('%s', (kind) => {
  test('sync, backfill, preview and rescan leave the service exactly as with the same shop on Postgres', async () => {
    const both = await openBoth(kind);
    const each = async (...args: string[]) => {
      const worlds = [both.postgres, both.mysql];
      const ends = await Promise.all(worlds.map(({ environment }) => runCli(args, environment)));
      expect([args, ...ends.map(({ status }) => status)]).toEqual([args, 0, 0]);
      return ends.map(({ stdout }) => stdout);
    };
    const same = async () => {
      const [one, other] = [await both.postgres.atService(serviceState), await both.mysql.atService(serviceState)];
      expect(other).toEqual(one);
      return one;
    };

    const { stdout } = await runCli(['doctor', '--json'], both.mysql.environment);
    const findings = (JSON.parse(stdout) as { findings: { area: string; level: string; what: string }[] }).findings;
    const ofShop = findings.filter(({ area }) => area === 'shop').map(({ level, what }) => `${level}: ${what}`);
    expect(ofShop.filter((one) => !one.startsWith('ok'))).toEqual([
      expect.stringMatching(/^warning: (MariaDB|MySQL) \d+\.\d+.*, user root@.*, who is a superuser/),
    ]);

    await each('sync', 'catalog');
    await each('sync', 'reviews');
    await each('backfill', 'orders');
    // The sample shop's dates follow the calendar; on some days one of its orders is deleted.
    const codes = await both.postgres.shop<{ code: string }>(
      'select order_no as code from shop.orders where removed_at is null order by 1',
    );
    expect(codes.length).toBeGreaterThan(50);
    expect((await same()).length).toBe(codes.length);
    const [first, second, third] = codes.map(({ code }) => code);
    await both.change(`update $orders set paid_amount = 4321, modified_at = NOW where order_no = '${first}'`);
    await both.change(`update $order_items set item_status = 'R40', modified_at = NOW
      where order_id = (select order_id from $orders where order_no = '${second}')`);
    await each('sync', 'orders');
    await same();

    // A change that no date shows: only the rescan finds it.
    await both.change(`update $orders set paid_amount = 1234, ordered_at = NOW where order_no = '${third}'`);
    await each('sync', 'orders');
    expect(await same()).not.toContainEqual(expect.objectContaining({ code: third, total_price: '1234.00' }));
    const [, before] = await each('preview', 'order', third ?? '');
    expect(before).toContain('1234');
    await each('sync', 'reconcile');
    await same();
    await each('verify', 'orders');
  }, 120_000);
});
