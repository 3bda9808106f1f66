import { describe, expect, onTestFinished, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { orderShopQueries } from '../harness/order-world.ts';
import { createMysqlDatabase, mysqlKinds } from '../harness/servers.ts';
import { openWorld } from '../harness/world.ts';

/** What doctor says of a shop on MySQL or MariaDB: each trap gets a sentence with the next step. */

type Finding = { area: string; level: string; what: string; hint?: string };

async function mysqlShop(kind: (typeof mysqlKinds)[number], queries: Record<string, string>) {
  const folder = await orderShopQueries(queries);
  const shop = await createMysqlDatabase(kind);
  onTestFinished(() => shop.drop());
  const world = await openWorld({ shop: 'empty', environment: { SHOP_DATABASE_URL: shop.url, SHOP_SQL_DIR: folder } });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await shop.query(`create table orders (id bigint unsigned primary key, added datetime, modified datetime, total decimal(10, 2));
    create table items (id int auto_increment primary key, order_id bigint unsigned, price decimal(10, 2)) engine = MyISAM`);
  const doctor = async (environment: Record<string, string> = {}) => {
    const { stdout } = await runCli(['doctor', '--json'], { ...world.environment, ...environment });
    const all = (JSON.parse(stdout) as { findings: Finding[] }).findings;
    return all.filter(({ area }) => area === 'shop').map(({ level, what, hint }) => `${level}: ${what} → ${hint}`);
  };
  return { ...shop, doctor };
}

const queries = {
  orders: 'select o.id as code, o.added as created_at, o.total as total_price from orders o',
  order_lines: 'select i.order_id as order_code, i.id as line_code, 7 as product_id, i.price from items i',
  changed_orders: 'select o.id as code, o.modified as changed_at from orders o where o.modified >= :since',
};

describe.each(mysqlKinds)('%s', (kind) => {
  test('a MyISAM table, a zero date, a date ahead and a user who may write are named', async () => {
    const shop = await mysqlShop(kind, queries);
    await shop.query(`set sql_mode = '';
      insert into orders values (1, utc_timestamp(), utc_timestamp(), 10), (2, '0000-00-00', utc_timestamp(), 10),
        (3, utc_timestamp() + interval 9 hour, utc_timestamp(), 10);
      insert into items (order_id, price) values (1, 10), (2, 10), (3, 10)`);
    const found = await shop.doctor({ SHOP_TIME_ZONE: 'UTC' });
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^warning: the engine of items has no transactions \(MyISAM\).* → .*alter table items engine = InnoDB/,
        ),
        expect.stringMatching(
          /^warning: orders\.sql: 1 row that runs may not find, such as: created_at is null, .* \(order 2\) → correct the rows, or leave them out/,
        ),
        expect.stringMatching(
          /^warning: orders\.sql: 1 of \d rows have created_at in the future.* → .*SHOP_TIME_ZONE is that of every DATETIME/,
        ),
        expect.stringMatching(/^warning: (MariaDB|MySQL) .*who is a superuser .* → create a user with select only/),
      ]),
    );
  });

  test('a missing zone, an unreadable table and a refused user are named', async () => {
    const shop = await mysqlShop(kind, queries);
    expect(await shop.doctor()).toContainEqual(
      expect.stringMatching(
        /^fault: .*orders\.sql: created_at is a date without zone, and SHOP_TIME_ZONE is not set → Set SHOP_TIME_ZONE/,
      ),
    );
    expect(await shop.doctor({ SHOP_DATABASE_URL: shop.url.replace('mysql:', 'postgres:') })).toEqual([
      expect.stringMatching(/^fault: .*the server at this port is not a Postgres .* begins with mysql:/),
    ]);
    const url = new URL(shop.url);
    url.username = shop.name;
    url.password = 'geheim';
    const SHOP_DATABASE_URL = url.href;
    expect(await shop.doctor({ SHOP_DATABASE_URL })).toEqual([
      expect.stringMatching(
        /^fault: .*the server refuses this user, or its password is wrong .* → correct them in SHOP_DATABASE_URL$/,
      ),
    ]);
    await shop.query(
      `create user ${shop.name}@'%' identified by 'geheim'; grant select on ${shop.name}.items to ${shop.name}@'%'`,
    );
    onTestFinished(async () => void (await shop.query(`drop user ${shop.name}@'%'`)));
    expect(await shop.doctor({ SHOP_DATABASE_URL, SHOP_TIME_ZONE: 'UTC' })).toContainEqual(
      expect.stringMatching(
        /^fault: .*orders\.sql cannot be run: SELECT command denied .* → Grant the user of SHOP_DATABASE_URL select/i,
      ),
    );
  });

  test('a user of a view without its tables is warned that the plans are hidden', async () => {
    const shop = await mysqlShop(kind, { ...queries, orders: queries.orders.replace('from orders o', 'from shown o') });
    await shop.query(`create view shown as select * from orders;
      insert into orders values (1, utc_timestamp(), utc_timestamp(), 10); insert into items (order_id, price) values (1, 10);
      create user ${shop.name}@'%'; grant select (id, modified) on ${shop.name}.orders to ${shop.name}@'%';
      grant select, delete on ${shop.name}.items to ${shop.name}@'%'; grant select on ${shop.name}.shown to ${shop.name}@'%'`);
    onTestFinished(async () => void (await shop.query(`drop user ${shop.name}@'%'`)));
    const url = new URL(shop.url);
    url.username = shop.name;
    url.password = '';
    const found = await shop.doctor({ SHOP_DATABASE_URL: url.href, SHOP_TIME_ZONE: 'UTC' });
    expect(found).toContainEqual(
      expect.stringMatching(
        /^warning: it is unknown whether orders\.sql reads a large table as a whole: .*EXPLAIN.* → run explain on the query by hand/,
      ),
    );
    expect(found).toContainEqual(
      expect.stringMatching(/^warning: .*who may write to 1 table \(\w+\.items .* → create a user with select only/),
    );
    expect(found.filter((one) => one.startsWith('fault'))).toEqual([]);
  });
});
