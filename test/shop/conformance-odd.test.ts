import { describe, expect, test } from 'vitest';
import { missingInShop } from '../../src/orders/plan/read-orders.ts';
import type { Shop } from '../../src/shop/index.ts';
import {
  addLines,
  addOrders,
  dateOfAll as at,
  createOddShop,
  openTables,
  oddQueries as queries,
  type ShopTables,
  shopServers,
} from '../harness/shop-servers.ts';

describe.each(shopServers)('$name', (server) => {
  const open = (database: ShopTables, more = {}) => openTables(database, { ...queries, ...more }, 'UTC');
  /** The codes of these orders, each with its number of lines. */
  const linesOf = async (shop: Shop, codes: readonly string[]) =>
    (await shop.orders(codes)).map(({ order, lines }) => `${order.code}: ${lines.length}`);
  /** The codes of these orders, each with its fault. */
  const faultsOf = async (shop: Shop, codes: readonly string[]) =>
    (await shop.orders(codes)).map(({ order, fault = 'none' }) => `${order.code}: ${fault}`);

  const literals = (codes: readonly string[]) => codes.map((code) => `'${code}'`);

  test('keys that are whole numbers are compared as numbers', async () => {
    const database = await createOddShop(server, 'bigint');
    await addOrders(database, ['9', '10', '9007199254740993', '0']);
    await addLines(database, ['9007199254740993']);
    const shop = await open(database);
    const asked = ['10', 'x', '', '9007199254740993', '99999999999999999999', '0'];
    expect(await linesOf(shop, asked)).toEqual(['10: 0', '9007199254740993: 1', '0: 0']);
    const after9 = await shop.orderCodes({ axis: 'code', after: { at: '', code: '9' }, size: 9 });
    expect(after9.keys.map(({ code }) => code)).toEqual(['10', '9007199254740993']);
    // An order whose code is no number has no lines, and the lines of the others stay theirs.
    const named = await open(database, {
      orders: queries.orders.replace('code', `concat(code, case when code = 9 then 'x' else '' end) as code`),
    });
    const lines = await linesOf(named, ['9x', '10', '9007199254740993']);
    expect(lines).toEqual(['9x: 0', '10: 0', '9007199254740993: 1']);
  });

  test('a line whose order_code differs in case belongs to its order if case is ignored', async () => {
    const database = await createOddShop(server, server.types.caseless);
    await addOrders(database, ["'Ab'", "'CD'"]);
    await addLines(database, ["'aB'", "'cd'", "'CD'"]);
    const shop = await open(database);
    expect(await linesOf(shop, ['Ab', 'CD'])).toEqual(['Ab: 1', 'CD: 2']);
    expect((await shop.orders(['AB'])).map(({ order }) => order.code)).toEqual(['Ab']);
  });

  test('a line belongs to the order that is spelled like it, although lines ignore case', async () => {
    const { caseless, exact } = server.types;
    const database = await createOddShop(server, exact);
    await database.run('drop table l');
    await database.run(`create table l (order_code ${caseless}, line_code varchar(20), product_id bigint, price int,
      delivered_at ${server.types.local})`);
    await addOrders(database, ["'a1'", "'A1'", "'b2'"]);
    await addLines(database, ["'A1'", "'B2'"]);
    const shop = await open(database);
    expect(await linesOf(shop, ['a1', 'A1', 'b2'])).toEqual(['a1: 0', 'A1: 1', 'b2: 1']);
    expect(await linesOf(shop, ['a1'])).toEqual(['a1: 0']);
  });

  test('an order that differs in case only is absent once it is deleted or renamed', async () => {
    const database = await createOddShop(server, server.types.caseless);
    await addOrders(database, ["'a1'", "'B-Ä'"]);
    const shop = await open(database);
    expect(await missingInShop(shop, ['a1', 'A1', 'b-ä'])).toEqual(['A1', 'b-ä']);
    expect(await missingInShop(shop, ['A1'])).toEqual(['A1']);
  });

  test('codes hold quotes, backslashes and letters of every script', async () => {
    const database = await createOddShop(server, server.types.exact);
    const codes = [`a'b`, 'a"b', 'a\\b', '주문 1', '🛒', 'a%_'];
    const shown = (code: string) =>
      `'${(server.name === 'Postgres' ? code : code.replaceAll('\\', '\\\\')).replaceAll("'", "''")}'`;
    await addOrders(database, codes.map(shown));
    await addLines(database, codes.map(shown));
    expect(await linesOf(await open(database), codes)).toEqual(codes.map((code) => `${code}: 1`));
  });

  test('rows without code or date are found by the check, a double code when it is read', async () => {
    const database = await createOddShop(server, server.types.exact.replace('20', '1100'));
    await addOrders(database, ["'A'", "'B'", "'B'", "'  '", 'null']);
    await database.run(
      `insert into o values ('C', ${at}, null, 1, null), ('${'fits'.repeat(250)}', ${at}, ${at}, 1, null),
        ('${'long'.repeat(251)}', ${at}, ${at}, 1, null)`,
    );
    const shop = await open(database);
    const found = await shop.keylessOrders();
    expect(found.map(({ code }) => code?.trim().slice(0, 4) ?? null).toSorted()).toEqual(['', 'C', 'long', null]);
    const { keys } = await shop.orderCodes({ axis: 'code', after: { at: '', code: '' }, size: 9 });
    expect(keys.map(({ code }) => code.slice(0, 4))).toEqual(['A', 'B', 'C', 'fits']);
    const twice = expect.stringMatching(/^B: orders\.sql: code is there in 2 rows/);
    expect(await faultsOf(shop, ['A', 'B'])).toEqual(['A: none', twice]);
    await addOrders(database, Array(996).fill('null'));
    expect(await shop.keylessOrders()).toHaveLength(1000);
  });

  test('keys of every type find their row, and a text that the type cannot hold none', async () => {
    const texts = ['text', 'char(40)', server.types.caseless, server.types.exact];
    const keys: Record<string, string[]> =
      server.name === 'Postgres'
        ? { '7': ['smallint', 'integer', 'name', ...texts], 'a81bc81b-dead-4e5d-abff-90865d1e13b1': ['uuid'] }
        : {
            '7': ['tinyint', 'int', "enum('7')", "set('7', '8')", ...texts],
            '2026': ['year'],
            '18446744073709551615': ['bigint unsigned'],
          };
    for (const [key, types] of Object.entries(keys)) {
      for (const type of types) {
        const database = await createOddShop(server, type);
        await addOrders(database, [`'${key}'`]);
        await addLines(database, [`'${key}'`]);
        const shop = await open(database);
        const read = await linesOf(shop, [key, 'x', '70000', '3000000000', '9'.repeat(20)]);
        expect([type, read]).toEqual([type, [`${key}: 1`]]);
        const { keys: walked } = await shop.orderCodes({ axis: 'code', after: { at: '-infinity', code: '' }, size: 9 });
        expect([type, walked]).toEqual([type, [{ at: '', code: key }]]);
      }
    }
  });

  test('a function of the shop that raises an error for some row costs its own order', async () => {
    const database = await createOddShop(server, server.types.exact);
    await addOrders(database, ["'A'", "'B'"]);
    await database.run(
      server.name === 'Postgres'
        ? `create function raising(code text) returns text stable language plpgsql as $$ begin
            if code = 'B' then raise exception using errcode = 'data_corrupted'; end if;
            if code = 'B2' then raise exception using errcode = 'out_of_memory'; end if;
            if code = 'B3' then raise exception using errcode = 'ABC01'; end if;
            if code = 'B4' then raise exception using errcode = 'undefined_file'; end if;
            if code = 'B5' then raise exception using errcode = 'internal_error'; end if;
            if code like 'B%' then raise 'no'; end if;
            return 'x'; end $$`
        : `create function raising(code varchar(20)) returns varchar(9) deterministic begin if code = 'B2' then signal sqlstate '99001'; end if; if code like 'B%' then signal sqlstate '45000'; end if; return 'x'; end`,
    );
    const shop = await open(database, {
      orders: queries.orders.replace(' from o', ', raising(code) as user_name from o'),
    });
    await addOrders(database, ["'B1'"]);
    const raised = (code: string, state: string) =>
      expect.stringContaining(
        `${code}: orders.sql: a row cannot be read: a value cannot be computed (SQLSTATE ${state}`,
      );
    const [of, of1] = server.name === 'Postgres' ? ['XX001', 'P0001'] : ['45000', '45000'];
    expect(await faultsOf(shop, ['A', 'B', 'B1'])).toEqual(['A: none', raised('B', of), raised('B1', of1)]);
    // Rows that fail as a whole, however many, cost only themselves, too.
    const bad = ['B', 'B1', 'B2', 'B3', 'B4', 'B5'];
    await addOrders(database, literals(bad.slice(2)));
    const strict = await open(database, { orders: `${queries.orders} where raising(code) = 'x'` });
    const unreadable = bad.map((code) => expect.stringContaining(`${code}: orders.sql: a row cannot be read:`));
    expect(await faultsOf(strict, ['A', ...bad])).toEqual(['A: none', ...unreadable]);
    expect(await faultsOf(strict, bad)).toEqual(unreadable);
  });

  test('a date that cannot be computed costs its own order', async () => {
    const database = await createOddShop(server, server.types.exact);
    const codes = Array.from({ length: 20 }, (_, n) => `O${n}`);
    await addOrders(database, literals(codes));
    await database.run(`create table twice (of_code ${server.types.exact}, at ${server.types.local})`);
    await database.run(`insert into twice values ('O7', ${at}), ('O7', ${at})`);
    const date = `coalesce((select t.at from twice t where t.of_code = o.code), o.updated_at) as updated_at`;
    const shop = await open(database, { orders: queries.orders.replace('updated_at', date) });
    const twice = 'O7: orders.sql: a row cannot be read: a subquery gives more than one row (SQLSTATE 21000)';
    const faults = codes.map((code) => (code === 'O7' ? expect.stringContaining(twice) : `${code}: none`));
    expect(await faultsOf(shop, codes)).toEqual(faults);
    const byCode = await shop.orderCodes({ axis: 'code', after: { at: '', code: '' }, size: 20 });
    expect(byCode.keys, 'a walk by code computes no other column').toHaveLength(20);
    // Without its date no walk can find the order: the walk ends with the file and the reason.
    const walk = shop.orderCodes({ axis: 'updated', after: { at: '-infinity', code: '' }, size: 50 });
    await expect(walk).rejects.toMatchObject({
      code: 'shop-query',
      message: expect.stringMatching(/^orders\.sql: a row cannot be read: a subquery/),
    });
  });

  test('columns that are missing, wrong or unknown are named with what to write', async () => {
    const database = await createOddShop(server, server.types.exact);
    const shop = await open(database, {
      orders: `select code, total_price as created_at, updated_at, created_at as total_price, 1 as colour,
        ${server.name === 'Postgres' ? `'{}'::jsonb -> 'name'` : `json_object('name', code)`} as user_name from o`,
      order_lines: 'select order_code, line_code, price from l',
    });
    const [date, amount] = server.name === 'Postgres' ? ['timestamptz', 'numeric'] : ['datetime', 'decimal'];
    const [amountFound, dateFound] = server.name === 'Postgres' ? ['numeric', 'timestamp'] : ['decimal', 'datetime'];
    const refusal = await shop.checkQueries().catch((error: Error) => error.message);
    expect(refusal).toContain(`orders.sql: column created_at is of type ${amountFound}, expected ${date}; `);
    expect(refusal).toContain(`orders.sql: column total_price is of type ${dateFound}, expected ${amount}; `);
    expect(refusal).toContain('orders.sql: column colour is not of the contract; leave it out');
    expect(refusal).toMatch(/user_name is of type jsonb?, expected (text; write ->> in place of ->|varchar; docs)/);
    const zoneless = await openTables(database, queries);
    const zone = 'dates without zone (created_at, updated_at), and SHOP_TIME_ZONE';
    await expect(zoneless.checkQueries()).rejects.toThrow(zone);
    for (const [name, text, words] of [
      [
        'order_lines',
        'select order_code, line_code, price from l',
        ': column product_id (bigint) or product_code (text)',
      ],
      ['orders', '\nselect code,\n  nothing as created_at\nfrom o', ' cannot be run'],
      ['orders', ';\n', ' is empty'],
      ['categories', 'select code from o', ': column name ('],
      ['user_grades', 'select code from o', ': column name ('],
    ] as const)
      await expect((await open(database, { [name]: text })).checkQueries()).rejects.toThrow(`${name}.sql${words}`);
  });

  test('orders of the hour that daylight saving repeats are all found', async () => {
    const database = await createOddShop(server, server.types.exact);
    const shop = await openTables(database, queries, 'America/New_York');
    await database.run(`insert into o values ('A', '2025-11-02 01:50:00', '2025-11-02 01:50:00', 1, null)`);
    const start = { at: '2025-11-02T05:50:00.000000Z', code: '' };
    const first = await shop.orderCodes({ axis: 'updated', after: start, size: 9 });
    expect(first.keys).toEqual([{ at: start.at, code: 'A' }]);
    await database.run(`insert into o values ('B', '2025-11-02 01:05:00', '2025-11-02 01:05:00', 1, null)`);
    const { keys } = await shop.orderCodes({ axis: 'updated', after: start, size: 9 });
    expect(keys.map(({ code }) => code).toSorted()).toEqual(['A', 'B']);
    const next = await shop.orderCodes({ axis: 'updated', after: { ...start, code: 'A' }, size: 9, inCodeOrder: true });
    expect(next.keys.map(({ code }) => code)).toEqual(['B']);
  });
});
