import { describe, expect, test } from 'vitest';
import { openTables, type ShopServer, shopServers } from '../harness/shop-servers.ts';

/** Which statements read a whole table, and what helps, as doctor says it: by the plans of each database. */

/** 30,720 orders of one line each, a second apart, and a newer one whose code MariaDB does not escape in its plans. */
async function largeTables({ name, create, types }: ShopServer) {
  const database = await create();
  await database.run(`create table o (id bigint, code ${types.exact} primary key, at ${types.local})`);
  const first = Array.from({ length: 60 }, (_, n) => `(${n}, '${n}', '2026-01-01 00:00:${`${n}`.padStart(2, '0')}')`);
  await database.run(`insert into o values ${first.join(', ')}`);
  for (let rows = 60; rows < 30_000; rows *= 2) {
    const seconds = name === 'Postgres' ? `interval '${rows} s'` : `interval ${rows} second`;
    await database.run(`insert into o select id + ${rows}, concat(id + ${rows}), at + ${seconds} from o`);
  }
  await database.run(`insert into o values (-1, '주문"1', '2026-02-01')`);
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
  test('a statement that lacks an index is named with its table and the index that helps', async () => {
    const database = await largeTables(server);
    const analyze = () => database.run(server.name === 'Postgres' ? 'analyze' : 'analyze table o, l');
    await analyze();
    const shop = await openTables(database, queries, 'UTC');
    const scans = async () =>
      (await shop.queryCosts()).flatMap(({ purpose, scans: found }) =>
        found.map(({ table, remedy }) => `${purpose}: ${table}: ${remedy.replace(/index \w+ on/, 'index on')}`),
      );
    expect(await scans()).toEqual([
      'find the lines of 200 orders: l: create index on l (order_id)',
      'find what changed in the last ten minutes: o: create index on o (at)',
      'rescan orders by created_at: o: create index on o (at)',
    ]);
    await database.run('create index l_order_id on l (order_id)');
    await database.run('create index o_at on o (at)');
    await analyze();
    expect(await scans()).toEqual([]);
  });

  test('a function around the code hides its index, and the remedy says so', async () => {
    const database = await largeTables(server);
    await database.run(server.name === 'Postgres' ? 'analyze' : 'analyze table o, l');
    const orders = queries.orders.replace('o.code,', "concat(o.code, '') as code,");
    const shop = await openTables(database, { ...queries, orders }, 'UTC');
    const costs = await shop.queryCosts();
    const byCode = costs.find(({ purpose }) => purpose === 'find 200 orders by code');
    expect(byCode?.scans).toEqual([
      expect.objectContaining({
        table: 'o',
        remedy: expect.stringMatching(/^code has an index that does not serve here/),
      }),
    ]);
  });
});
