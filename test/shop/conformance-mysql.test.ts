import { describe, expect, test } from 'vitest';
import { createMysqlDatabase, mysqlKinds } from '../harness/servers.ts';
import {
  addLines,
  addOrders,
  createOddShop,
  openTables,
  oddQueries as queries,
  type ShopServer,
  shopServers,
} from '../harness/shop-servers.ts';

test.skipIf(mysqlKinds.length > 0)('left out: there is no mariadbd on the path', () => {});

describe.each(mysqlKinds)('%s', (kind) => {
  const server = shopServers.find(({ name }) => name === kind) as ShopServer;

  test('codes that differ in case only are one code if the column ignores case', async () => {
    const database = await createOddShop(server, server.types.caseless);
    await addOrders(database, ["'a1'", "'A1'", "'b'"]);
    await addLines(database, ["'a1'", "'A1'", "'b'"]);
    const shop = await openTables(database, queries, 'UTC');
    const read = (await shop.orders(['A1', 'b'])).map(
      ({ order, lines, fault }) => `${order.code}: ${fault ?? lines.length}`,
    );
    const twice = (code: string) => expect.stringContaining(`${code}: orders.sql: code is there in 2 rows`);
    expect(read.toSorted()).toEqual([twice('A1'), twice('a1'), 'b: 1']);
  });

  test('settings of the server that cut or refuse results, or empty texts, hide no row', async () => {
    // No other test uses a server of this zone: its settings can be changed for all connections.
    const database = await createMysqlDatabase(kind, { timeZone: '-03:30' });
    const run = (statement: string) => database.query(statement);
    await run(`create table o (code varchar(20), created_at datetime, updated_at datetime, total_price int, internal_id int);
      create table l (order_code varchar(20), line_code varchar(20), product_id bigint, price int, delivered_at datetime)`);
    const tables = { url: database.url, run };
    await addOrders(tables, ["'A'", "'B'", "'C'", "''"]);
    await addLines(tables, ["'A'", "'A'", "'B'", "'B'", "'C'"]);
    await run('set global sql_select_limit = 2, max_join_size = 1');
    if (kind === 'mariadb') await run("set global sql_mode = 'EMPTY_STRING_IS_NULL'");
    const shop = await openTables(tables, queries, 'UTC');
    const start = { at: '-infinity', code: '' };
    for (const axis of ['code', 'updated', 'created'] as const) {
      const { keys } = await shop.orderCodes({ axis, after: start, size: 9 });
      expect([axis, keys.map(({ code }) => code)]).toEqual([axis, ['A', 'B', 'C']]);
    }
    const orders = await shop.orders(['A', 'B', 'C']);
    expect(orders.map(({ lines }) => lines.length)).toEqual([2, 2, 1]);
    expect(await shop.keylessOrders()).toMatchObject([{ code: '' }]);
  });

  test('a row costs its own order if its error has the SQLSTATE of a statement', async () => {
    const database = await createOddShop(server, server.types.exact);
    await addOrders(database, ["'A'", "'B'", "'C'", "'D–ł'"]);
    await addLines(database, ["'A'", "'B'", "'B'"]);
    await database.run(`create table j (order_code varchar(20), items text);
      insert into j values ('A', '[7]'), ('C', '[7');
      create table old (order_code varchar(20)) character set latin1;
      create function one_line(code varchar(20)) returns int reads sql data
        begin declare found int; select l.product_id into found from l where l.order_code = code; return found; end`);
    const faultsOf = async (more: Record<string, string>) => {
      const shop = await openTables(database, { ...queries, ...more }, 'UTC');
      const read = await shop.orders(['A', 'B', 'C', 'D–ł']);
      return read.flatMap(({ order, fault }) => (fault ? `${order.code}: ${fault}` : []));
    };
    const columns = "'1' as line_code, 7 as product_id, 1 as price";
    const json = `select j.order_code, ${columns} from j, json_table(j.items, '$[*]' columns (n int path '$')) t`;
    expect(await faultsOf({ order_lines: json })).toEqual([
      expect.stringMatching(/^C: order_lines\.sql: a row cannot be read: a text is not the JSON that is expected/),
    ]);
    const called = queries.orders.replace(' from o', ', one_line(code) as mileage from o');
    expect(await faultsOf({ orders: called })).toEqual([
      expect.stringMatching(/^B: orders\.sql: a row cannot be read: a subquery gives more than one row/),
    ]);
    expect(await faultsOf({ order_lines: `select old.order_code, ${columns} from old` })).toEqual([
      expect.stringMatching(/^D–ł: order_lines\.sql: .* has a character that the character set of a column lacks/),
    ]);
  });

  test('a code made of two collations is refused with the name of its file', async () => {
    const database = await createOddShop(server, server.types.caseless);
    await database.run('alter table o add old_code varchar(20) character set utf8mb4 collate utf8mb4_general_ci');
    const orders = queries.orders.replace('code', 'coalesce(old_code, code) as code');
    const refused = (await openTables(database, { ...queries, orders }, 'UTC')).checkQueries();
    await expect(refused).rejects.toThrow(/orders\.sql cannot be run: Illegal mix of collations/);
  });

  test('a zero date is null, and an order without date is found by the check', async () => {
    const database = await createOddShop(server, server.types.exact);
    await addOrders(database, ["'A'", "'B'"]);
    await database.run(`set sql_mode = ''; insert into l values ('A', '1', 7, 1, '0000-00-00');
      insert into o values ('Z', '0000-00-00', '0000-00-00', 1, null), ('Y', '2026-00-00', '2026-00-10', 1, null)`);
    const shop = await openTables(database, queries, 'Asia/Seoul');
    const [order] = await shop.orders(['A']);
    expect(order?.lines).toMatchObject([{ delivered_at: null }]);
    expect(await shop.keylessOrders()).toMatchObject([{ code: 'Z', created_at: null }]);
    const walked = await shop.orderCodes({ axis: 'updated', after: { at: '-infinity', code: '' }, size: 1 });
    expect(walked.keys.map(({ code }) => code)).toEqual(['Y']);
    const rest = await shop.orderCodes({ axis: 'updated', after: walked.next ?? { at: '', code: '' }, size: 9 });
    expect(rest.keys.map(({ code }) => code)).toEqual(['A', 'B']);
    const dates = { created_at: '2025-12-31T15:00:00.000000Z', updated_at: '2026-01-09T15:00:00.000000Z' };
    expect(await shop.orders(['Y'])).toMatchObject([{ order: dates }]);
  });

  test('a text within JSON, a day, a float and bytes are refused with what to write', async () => {
    const database = await server.create();
    await database.run(`create table o (id binary(16), j json, d date, f double, at datetime)`);
    const shop = await openTables(
      database,
      {
        ...queries,
        orders: `select id as code, d as created_at, 'x' as updated_at, f as total_price, 1.5 as mileage,
          json_extract(j, '$.n') as user_name, null as user_email from o`,
        order_lines: `select 'A' as order_code, '1' as line_code, 7 as product_id, null as price, json_object('a', 'b') as product_options from o`,
      },
      'UTC',
    );
    const refusal = await shop.checkQueries().catch((error: Error) => error.message);
    await expect(shop.hasQuery('order_lines')).rejects.toThrow('price is of type null, expected decimal');
    for (const part of [
      'updated_at is of type varchar, expected datetime; docs/connecting.md says what to write',
      'mileage is of type decimal, expected int',
      'code is of type binary, expected varchar',
      'created_at is of type date, expected datetime',
      'total_price is of type double, expected decimal',
      'user_name is of type json, expected varchar',
    ]) {
      expect(refusal).toContain(part);
    }
    expect(refusal).not.toContain('user_email');
  });
});
