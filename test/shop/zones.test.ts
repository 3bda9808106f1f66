import { expect, test } from 'vitest';
import { openTables, type ShopTables, shopServers } from '../harness/shop-servers.ts';

const [postgres] = shopServers;

async function tables(type: string, rows: string): Promise<ShopTables> {
  const database = (await postgres?.create()) as ShopTables;
  const name = new URL(database.url).pathname.slice(1);
  await database.run(`alter database ${name} set timezone = 'America/New_York'`);
  await database.run(`alter database ${name} set datestyle = 'German'`);
  await database.run(`create table o (code text, at ${type}); insert into o ${rows}`);
  return database;
}

const queriesOf = (date = 'at') => ({
  orders: `select code, ${date} as created_at, ${date} as updated_at, 1::numeric as total_price from o`,
  order_lines: `select code as order_code, '1' as line_code, 7 as product_id, 1::numeric as price, ${date} as delivered_at from o`,
});

test.each([
  ['a date without zone is in SHOP_TIME_ZONE, not in the zone of the session', 'timestamp', 'at', '01'],
  ['a cast in the query takes the zone of the session', 'timestamp', 'at::timestamptz', '14'],
  ['a date with zone is itself', 'timestamptz', 'at', '14'],
])('%s, whatever the date style', async (_, type, date, hour) => {
  const { url } = await tables(
    type,
    `values ('A', '2026-07-01 10:00:00-04'), ('B', '2026-07-01 10:20:00.000004-04'), ('C', '2026-07-01 10:30:00-04')`,
  );
  const shop = await openTables({ url }, queriesOf(date), 'Asia/Seoul');
  const [b] = await shop.orders(['B']);
  const at = `2026-07-01T${hour}:20:00.000004Z`;
  expect(b).toMatchObject({ order: { created_at: at, updated_at: at }, lines: [{ delivered_at: at }] });
  const later = await shop.orderCodes({ axis: 'updated', after: { at, code: 'B' }, size: 9 });
  expect(later.keys).toEqual([{ code: 'C', at: `2026-07-01T${hour}:30:00.000000Z` }]);
});

test('another zone is another query if that selects a date without zone', async () => {
  const values = `values ('A', now())`;
  const [local, dated] = [await tables('timestamp', values), await tables('timestamptz', values)];
  const hashes = async (database: ShopTables, orders: string) => {
    const shops = ['Asia/Seoul', 'UTC'].map((zone) => openTables(database, { ...queriesOf(), orders }, zone));
    return Promise.all((await Promise.all(shops)).map((shop) => shop.orderQueriesHash()));
  };
  const { orders } = queriesOf();
  const [inSeoul, inUtc] = await hashes(local, orders);
  expect(inSeoul).not.toBe(inUtc);
  const [same, alike] = await hashes(dated, orders);
  expect(same).toBe(alike);
  expect(await hashes(dated, `-- all of them\r\n${orders};`)).toEqual([same, same]);
  expect(await hashes(dated, orders.replace('1::', '2::'))).not.toContain(same);
});

test('a query file runs with a byte order mark, Windows line ends and semicolons', async () => {
  const database = await tables('timestamptz', `values ('A', now())`);
  const open = (queries: object) => openTables(database, { ...queriesOf(), ...queries });
  const orders = `\uFEFF-- the orders\r\n${queriesOf().orders.replace(' from', '\r\nfrom')};;\r\n-- as people; end\r\n`;
  expect(await (await open({ orders })).orders(['A'])).toHaveLength(1);
  const broken = await open({ orders: '\uFEFFselect code,\r\n  at as created_at\r\nfrom nowhere;\r\n' });
  const line3 = 'orders.sql cannot be run (line 3): relation "nowhere" does not exist';
  await expect(broken.checkQueries()).rejects.toThrow(line3);
  const changed_orders = 'select code, at as changed_at from o where at >= :since\nunion all\nselect 1 from nowhere';
  await expect((await open({ changed_orders })).checkQueries()).rejects.toThrow(`changed_${line3}`);
});
