import { describe, expect, test } from 'vitest';
import { openTables, type ShopServer, type ShopTables, shopServers } from '../harness/shop-servers.ts';

/** 30,720 orders of one line each, a second apart. */
async function largeTables({ name, create, types }: ShopServer) {
  const database = await create();
  await database.run(`create table o (id bigint, code ${types.exact} primary key, at ${types.local})`);
  const first = Array.from({ length: 60 }, (_, n) => `(${n}, '${n}', '2026-01-01 00:00:${`${n}`.padStart(2, '0')}')`);
  await database.run(`insert into o values ${first.join(', ')}`);
  for (let rows = 60; rows < 30_000; rows *= 2) {
    const seconds = name === 'Postgres' ? `interval '${rows} s'` : `interval ${rows} second`;
    await database.run(`insert into o select id + ${rows}, concat(id + ${rows}), at + ${seconds} from o`);
  }
  await database.run(`create table l (order_id bigint, line_code ${types.exact})`);
  await database.run(`insert into l select id, code from o`);
  return database;
}

const queries = {
  orders: 'select o.code, o.at as created_at, o.at as updated_at, 1 as total_price from o',
  order_lines:
    'select o.code as order_code, i.line_code, 7 as product_id, 1 as price from o join l i on i.order_id = o.id',
};

describe.each(shopServers)('$name', (server) => {
  const index = (table: string, column: string) =>
    server.name === 'Postgres' ? `create index on ${table} (${column})` : `alter table ${table} add index (${column})`;
  const costs = async (database: ShopTables, more: Partial<typeof queries> = {}) => {
    await database.run(server.name === 'Postgres' ? 'analyze' : 'analyze table o, l');
    const shop = await openTables(database, { ...queries, ...more }, 'UTC');
    return (await shop.queryCosts()).flatMap(({ purpose, scans }) =>
      scans.map(({ table, remedy }) => `${purpose}: ${table}: ${remedy}`),
    );
  };

  test('a statement that lacks an index is named with its table and the index that helps', async () => {
    const database = await largeTables(server);
    const missing = (purpose: string, table: string, column: string) =>
      expect.stringMatching(
        `^${purpose}: ${table}: ${index(table, column).replaceAll(/[()]/g, '\\$&')}; where there is that index,`,
      );
    expect(await costs(database)).toEqual([
      missing('find the lines of 200 orders', 'l', 'order_id'),
      missing('find what changed in the last ten minutes', 'o', 'at'),
      missing('rescan orders by created_at', 'o', 'at'),
    ]);
    await database.run(index('l', 'order_id'));
    await database.run(index('o', 'at'));
    expect(await costs(database)).toEqual([]);
  });

  test('a function around the code hides its index, and the remedy says so', async () => {
    const database = await largeTables(server);
    const orders = queries.orders.replace('o.code,', "concat(o.code, '') as code,");
    // An index that holds all columns of the lines is read from end to end in place of the table.
    await database.run(index('l', 'order_id, line_code'));
    const order_lines = `select concat(order_id, '') as order_code, line_code, 7 as product_id, 1 as price from l`;
    const hidden = (what: string, table: string, column: string) =>
      expect.stringMatching(`^${what}: ${table}: .*select and compare ${column} as it is, without a function`);
    const found = await costs(database, { orders, order_lines });
    expect(found).toContainEqual(hidden('find 200 orders by code', 'o', 'code'));
    expect(found).toContainEqual(hidden('find the lines of 200 orders', 'l', 'order_id'));
    expect(found).toContainEqual(hidden('go on with a first push by code', 'o', 'code'));
  });
});
