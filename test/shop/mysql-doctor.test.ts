import { describe, expect, onTestFinished, test } from 'vitest';
import { orderShopQueries } from '../harness/order-world.ts';
import { createMysqlDatabase, mysqlKinds } from '../harness/servers.ts';
import { shopFindings } from '../harness/shop-servers.ts';
import { openWorld } from '../harness/world.ts';

async function mysqlShop(kind: (typeof mysqlKinds)[number], queries: Record<string, string>) {
  const folder = await orderShopQueries(queries);
  const shop = await createMysqlDatabase(kind);
  const world = await openWorld({ environment: { SHOP_DATABASE_URL: shop.url, SHOP_SQL_DIR: folder } });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await shop.query(`create table orders (id bigint unsigned primary key, added datetime, modified datetime, total decimal(10, 2));
    create table items (id int auto_increment primary key, order_id bigint unsigned, price decimal(10, 2)) engine = MyISAM`);
  const doctor = (environment: Record<string, string> = {}) => {
    Object.assign(world.environment, environment);
    return shopFindings(world);
  };
  const userUrl = (password: string) => Object.assign(new URL(shop.url), { username: shop.name, password }).href;
  /** A user of the name of the database. */
  const createUser = async (password: string, ...grants: string[]) => {
    const user = `${shop.name}@'%'`;
    const all = grants.map((grant) => `grant ${grant.replace(' on ', ` on ${shop.name}.`)} to ${user}`);
    await shop.query([`create user ${user} identified by '${password}'`, ...all].join('; '));
    onTestFinished(async () => void (await shop.query(`drop user ${user}`)));
  };
  return { ...shop, doctor, userUrl, createUser };
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
    const found = (await shop.doctor({ SHOP_TIME_ZONE: 'UTC' })).join('\n');
    for (const finding of [
      /^warning: the engine of items has no transactions \(MyISAM\).* → .*alter table items engine = InnoDB/m,
      /^warning: orders\.sql: 1 row that runs may not find, such as: created_at is null, .* \(order 2\) → correct the r/m,
      /^warning: orders\.sql: 1 of \d rows have created_at in the future.* → .*SHOP_TIME_ZONE is that of every DATETIME/m,
      /^warning: (MariaDB|MySQL) \S+, user root, who is a superuser .* → create a user with select only/m,
    ])
      expect(found).toMatch(finding);
  });

  test('a missing zone, an unreadable table and a refused user are named', async () => {
    const shop = await mysqlShop(kind, queries);
    const only = async (environment: Record<string, string>) => (await shop.doctor(environment)).join('\n');
    expect(await only({})).toMatch(
      /^fault: .*orders\.sql has dates without zone \(created_at\), and SHOP_TIME_ZONE is not set → Set SHOP_TIME_ZONE/m,
    );
    expect(await only({ SHOP_DATABASE_URL: shop.url.replace('mysql:', 'postgres:') })).toMatch(
      /^fault: .*the server at this port is not a Postgres .* begins with mysql:.*$/,
    );
    const SHOP_DATABASE_URL = shop.userUrl('geheim');
    expect(await only({ SHOP_DATABASE_URL })).toMatch(
      /^fault: .*the server refuses this user, or its password is wrong .* → correct them in SHOP_DATABASE_URL$/,
    );
    await shop.createUser('geheim', 'select on items');
    expect(await only({ SHOP_DATABASE_URL, SHOP_TIME_ZONE: 'UTC' })).toMatch(
      /^fault: .*orders\.sql cannot be run: SELECT command denied .* → .* with select on its tables/im,
    );
  });

  test('a user of a view without its tables is warned that the plans are hidden', async () => {
    const shop = await mysqlShop(kind, { ...queries, orders: queries.orders.replace('from orders o', 'from shown o') });
    await shop.query(`create view shown as select * from orders;
      insert into orders values (1, utc_timestamp(), utc_timestamp(), 10); insert into items (order_id, price) values (1, 10)`);
    await shop.createUser('', 'select (id, modified) on orders', 'select, delete on items', 'select on shown');
    const found = (await shop.doctor({ SHOP_DATABASE_URL: shop.userUrl(''), SHOP_TIME_ZONE: 'UTC' })).join('\n');
    expect(found).toMatch(
      /^warning: it is unknown whether orders\.sql reads a large table as a whole: .*EXPLAIN.* → run explain on the query/m,
    );
    expect(found).toMatch(/^warning: .*who may write to 1 table \(\w+\.items .* → create a user with select only/m);
    expect(found).not.toMatch(/^fault/m);
    // As hosting panels grant: by a pattern of names.
    await shop.query(`grant insert on \`${shop.name.replaceAll('_', '\\_')}\`.* to ${shop.name}@'%'`);
    expect((await shop.doctor()).join('\n')).toMatch(/^warning: .*who may write to [23] tables/m);
  });
});
