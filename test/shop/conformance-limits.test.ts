import { describe, expect, onTestFinished, test } from 'vitest';
import { isTransient } from '../../src/base/lost-connections.ts';
import { mysqlWords, withoutStatement } from '../../src/shop/mysql/mysql-words.ts';
import { openDatabase } from '../../src/shop/open-database.ts';
import { databaseNow, rowsOf, type ShopQuery } from '../../src/shop/session.ts';
import { until } from '../harness/cli.ts';
import { createMysqlDatabase, mysqlKinds } from '../harness/servers.ts';
import { openTables, type ShopTables, shopServers } from '../harness/shop-servers.ts';

const queries = {
  orders: 'select code, created_at, updated_at, total_price from o',
  order_lines: `select code as order_code, code as line_code, 7 as product_id, 1 as price from o`,
};
const from = ' from o';

describe.each(shopServers)('$name', (server) => {
  const isPostgres = server.name === 'Postgres';
  const sleeping = isPostgres ? 'pg_sleep(300) is not null' : 'sleep(300) = 0';

  const asleep = { ...queries, orders: `${queries.orders} where code <> 'A' or ${sleeping}` };

  async function tables() {
    const database = await server.create();
    await database.run(`create table o (code ${server.types.exact}, created_at ${server.types.local},
      updated_at ${server.types.local}, total_price ${server.types.amount})`);
    await database.run(`insert into o values ('A', '2026-01-01 10:00:00', '2026-01-01 10:00:00', 1)`);
    return database;
  }

  const rowsOf = (database: ShopTables, sql: string) => database.run(sql) as Promise<{ id: string; begun?: string }[]>;
  const statementsAsleep = isPostgres
    ? `select pid as id, query_start::text as begun from pg_stat_activity
       where datname = current_database() and wait_event = 'PgSleep'`
    : `select id as id from information_schema.processlist
       where db = database() and info like '%sleep(300)%' and id <> connection_id()`;
  const ends = isPostgres
    ? { statement: 'select pg_cancel_backend', connection: 'select pg_terminate_backend' }
    : { statement: 'kill query ', connection: 'kill ' };

  /** Cancels the next statement that sleeps, or ends its connection, once it runs; `nothing` waits for it. */
  async function interrupt(database: ShopTables, what: 'statement' | 'connection' | 'nothing'): Promise<void> {
    const { id, begun } = await until(async () => (await rowsOf(database, statementsAsleep))[0]);
    if (what !== 'nothing') await database.run(`${ends[what]}(${id})`);
    // A statement of Postgres may be seen for a moment after it was cancelled.
    const same = `${statementsAsleep} and pid = ${id} and query_start = '${begun}'`;
    if (isPostgres && what !== 'nothing') await until(async () => (await rowsOf(database, same)).length === 0);
  }

  /** Ends all connections of the shop's readers. */
  async function endConnections(database: ShopTables): Promise<void> {
    const all = isPostgres
      ? `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'review-sync'`
      : 'select id as id from information_schema.processlist where db = database() and id <> connection_id()';
    const rows = await rowsOf(database, all);
    // Some may have ended by themselves.
    if (!isPostgres) for (const { id } of rows) await database.run(`kill ${id}`).catch(() => {});
  }

  const failureOf = (work: Promise<unknown>) => work.catch((error: unknown) => error);

  test('an order whose lines take too long is a fault that names the file', async () => {
    const database = await tables();
    for (const code of ['B', 'C'])
      await database.run(`insert into o select '${code}', created_at, updated_at, 1 from o where code = 'A'`);
    const slowLines = `${queries.order_lines} where code <> 'A' or ${sleeping}`;
    const shop = await openTables(database, { ...queries, order_lines: slowLines }, 'UTC');
    const reading = shop.orders(['B', 'A', 'C']);
    // All three together, B and A within the limit of the search, and A alone for as long as a statement may take.
    for (let statements = 3; statements > 0; statements -= 1) await interrupt(database, 'statement');
    const read = await reading;
    const fault = 'order_lines.sql: one statement took longer than 30 s, or than a limit of the database → ';
    const shown = read.map(({ order, lines, fault = '' }) => `${order.code} ${lines.length} ${fault}`);
    expect(shown).toEqual(['B 1 ', expect.stringContaining(`A 0 ${fault}`), 'C 1 ']);
  });

  test('a search that takes too long is an error; a measured one has no time', async () => {
    const database = await tables();
    await database.run(`insert into o values ('B', null, null, 1)`);
    const slow = { ...queries, orders: `${queries.orders} where code = 'A' or ${sleeping}` };
    const searching = failureOf((await openTables(database, slow, 'UTC')).keylessOrders());
    await interrupt(database, 'statement');
    expect(await searching).toMatchObject({
      message: 'orders.sql: one statement took longer than 30 s, or than a limit of the database',
      hint: expect.stringContaining('ORDER_BATCH_SIZE'),
    });
    const slowLines = { ...queries, order_lines: `${queries.order_lines} where ${sleeping}` };
    const measuring = (await openTables(database, slowLines, 'UTC')).queryCosts();
    await interrupt(database, 'statement');
    const costs = await measuring;
    const purpose = 'find the lines of 1 order';
    expect(costs).toContainEqual({ file: 'order_lines', purpose, scans: [] });
    expect(costs.filter(({ seconds }) => seconds !== undefined)).toHaveLength(4);
  });

  test('a reading that is stopped ends at once, and nothing more is read', async () => {
    const database = await tables();
    const abort = new AbortController();
    const shop = await openTables(database, asleep, 'UTC', abort.signal);
    const reading = failureOf(shop.orders(['A']));
    await interrupt(database, 'nothing');
    abort.abort(new Error('stopped'));
    expect(await reading).toBeInstanceOf(Error);
    await expect(shop.now()).rejects.toThrow('stopped');
    // MariaDB sees after five seconds that nobody waits for its statement, and keeps the tables until then.
    await endConnections(database);
  });

  test('a connection that breaks is an error during a statement, and is replaced', async () => {
    const database = await tables();
    const shop = await openTables(database, asleep, 'UTC');
    const reading = failureOf(shop.orders(['A']));
    await interrupt(database, 'connection');
    expect(await reading).toBeInstanceOf(Error);
    expect(await Promise.all([shop.orders(['B']), shop.orders(['B'])])).toEqual([[], []]);
    // While both are idle.
    await endConnections(database);
    await until(() => shop.orders(['B']).catch(() => false as const));
    expect(await shop.orders(['B'])).toEqual([]);
  });

  test('a function that writes is refused, and nothing is written', async () => {
    const database = await tables();
    await database.run(
      isPostgres
        ? `create function written() returns text language plpgsql volatile as $$ begin delete from o; return 'x'; end $$`
        : `create function written() returns varchar(9) modifies sql data begin delete from o where code <> ''; return 'x'; end`,
    );
    const orders = queries.orders.replace(from, `, written() as user_name${from}`);
    const shop = await openTables(database, { ...queries, orders }, 'UTC');
    const error = await failureOf(shop.orders(['A']));
    expect((error as Error).message).toMatch(/read-only|READ ONLY/i);
    expect(await database.run('select code from o')).toEqual([{ code: 'A' }]);
  });

  test('errors show neither the password nor a value of a row', async () => {
    const database = await tables();
    const url = new URL(database.url);
    url.username = 'nobody';
    url.password = 'geheim';
    const shop = await openTables({ url: url.href }, queries, 'UTC');
    const error = await failureOf(shop.orders(['A']));
    expect(error).toMatchObject({ code: 'shop', message: expect.stringMatching(/cannot be reached/) });
    expect(JSON.stringify(error) + String(error) + String((error as Error).cause)).not.toContain('geheim');
  });
});

describe.each(mysqlKinds)('%s', (kind) => {
  test('every reading has a time limit of 30 s, and a shorter one of the user holds', async () => {
    const database = await createMysqlDatabase(kind);
    await database.query(`create table o (code varchar(9), at datetime); insert into o values ('A', '2026-01-01')`);
    const name = kind === 'mariadb' ? 'max_statement_time' : 'max_execution_time';
    const shop = {
      orders: `select code, at as created_at, at as updated_at, 1 as total_price,
        cast(@@${name} as char) as user_name, cast(@@group_concat_max_len >= 1048576 as char) as store_name,
        @@lock_wait_timeout as mileage from o`,
      order_lines: queries.order_lines,
    };
    const first = await openTables(database, shop, 'UTC');
    const limit = kind === 'mariadb' ? '30.000000' : '30000';
    expect(await first.orders(['A'])).toMatchObject([{ order: { user_name: limit, store_name: '1', mileage: '5' } }]);
    // A search with a shorter limit leaves none behind.
    const searched = openDatabase({ url: database.url, connections: 1, timeZone: 'UTC' });
    onTestFinished(() => searched.close());
    for (const seconds of [2, 30]) {
      const [row] = await searched.read(({ connection }) => connection.run(`select @@${name} as own`), { seconds });
      expect(Number(row?.own)).toBe(kind === 'mariadb' ? seconds : seconds * 1000);
    }
    if (kind === 'mysql') return;
    await database.query(`create user ${database.name}@'127.0.0.1' with max_statement_time 7;
      grant select on ${database.name}.* to ${database.name}@'127.0.0.1'`);
    onTestFinished(async () => void (await database.query(`drop user ${database.name}@'127.0.0.1'`)));
    const url = new URL(database.url);
    url.username = database.name;
    url.password = '';
    const reader = await openTables({ url: url.href }, shop, 'UTC');
    expect(await reader.orders(['A'])).toMatchObject([{ order: { user_name: '7.000000' } }]);
  });

  test('a server that sends nothing is given up, and ends its statement by its own limit', async () => {
    const database = await createMysqlDatabase(kind);
    const shop = openDatabase({ url: database.url, connections: 1, timeZone: 'UTC', silenceMs: 1000 });
    onTestFinished(() => shop.close());
    const sleeping: ShopQuery = {
      name: 'orders',
      body: '(select sleep(300) as code)',
      columns: new Map([['code', { type: 'int', read: 'text' }]]),
    };
    const reading = shop.read((session) => rowsOf(session, sleeping), { seconds: 3 });
    await expect(reading).rejects.toMatchObject({ code: 'shop', cause: { code: 'SERVER_SILENT' } });
    await until(async () => {
      const left = await database.query(
        `select id from information_schema.processlist where db = database() and info like '%sleep(300)%' and info not like '%processlist%'`,
      );
      return left.length === 0;
    });
    expect(await shop.read(databaseNow)).toMatch(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  test('a TIMESTAMP is an instant in every zone, in the hour that is repeated too', async () => {
    const database = await createMysqlDatabase(kind, { timeZone: 'America/New_York' });
    await database.query(`create table o (code varchar(9), at timestamp(6) null, key (at));
      set time_zone = '+00:00';
      insert into o values ('A', '2025-11-02 05:30:00.000004'), ('B', '2025-11-02 06:30:00'), ('C', '2025-11-02 07:30:00')`);
    const shop = await openTables(database, {
      orders: 'select code, at as created_at, at as updated_at, 1 as total_price from o',
      order_lines: `select code as order_code, '1' as line_code, 7 as product_id, 1 as price, at as delivered_at from o`,
      changed_orders: 'select code, at as changed_at from o where at >= :since',
    });
    const [a, b, c] = ['05:30:00.000004Z', '06:30:00.000000Z', '07:30:00.000000Z'].map((time) => `2025-11-02T${time}`);
    const keys = Object.entries({ A: a, B: b, C: c }).map(([code, at = '']) => ({ at, code }));
    expect(await shop.orders(['B'])).toMatchObject([{ order: { created_at: b }, lines: [{ delivered_at: b }] }]);
    for (const [n, after] of keys.entries()) {
      const since = await shop.orderCodes({ axis: 'updated', after: { ...after, code: '' }, size: 9 });
      expect(since.keys).toEqual(keys.slice(n));
      const page = await shop.orderCodes({ axis: 'created', after, before: '2025-11-02T07:30:00.000Z', size: 9 });
      expect(page.keys).toEqual(keys.slice(n + 1, 2));
    }
    // The clock of the database is an instant as well.
    expect(Math.abs(Date.parse(await shop.now()) - Date.now())).toBeLessThan(600_000);
  });
});

const failed = (errno: number) =>
  Object.assign(new Error('failed'), { errno, sqlState: 'HY000', sqlMessage: 'failed' });

test.each([1205, 1412, 1927])('error %i: a lock, an altered table, a killed connection, passes by itself', (errno) => {
  expect(isTransient(withoutStatement(failed(errno)))).toBe(true);
});

test.each([3024, 1969, 1317])('error %i: a limit of MySQL, of MariaDB, or somebody cancelled it: too long', (errno) => {
  expect(mysqlWords.isTimeout(failed(errno))).toBe(true);
});
