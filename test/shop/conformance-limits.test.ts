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

  /**
   * Cancels the next statement that sleeps, or ends its connection, once it runs; `nothing` waits for it. A statement
   * of Postgres may be seen for a moment after it was cancelled: it ends before this returns.
   */
  async function interrupt(database: ShopTables, what: 'statement' | 'connection' | 'nothing'): Promise<void> {
    await until(async () => {
      if (isPostgres) {
        const [one] = (await database.run(
          `select pid, query_start::text as began from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
        )) as { pid: number; began: string }[];
        if (one === undefined || what === 'nothing') return one !== undefined;
        await database.run(`select ${what === 'statement' ? 'pg_cancel_backend' : 'pg_terminate_backend'}(${one.pid})`);
        await until(async () => {
          const same = `select from pg_stat_activity where pid = ${one.pid} and query_start = '${one.began}' and state = 'active'`;
          return ((await database.run(same)) as unknown[]).length === 0;
        });
        return true;
      }
      const rows = (await database.run(
        `select id from information_schema.processlist where db = database() and info like '%sleep(300)%' and id <> connection_id()`,
      )) as { id?: string; ID?: string }[];
      const id = rows[0]?.id ?? rows[0]?.ID;
      if (id === undefined) return false;
      if (what !== 'nothing') await database.run(what === 'statement' ? `kill query ${id}` : `kill ${id}`);
      return true;
    });
  }

  /** Ends all connections of the shop's readers. */
  async function endConnections(database: ShopTables): Promise<void> {
    const all = isPostgres
      ? `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'review-sync'`
      : 'select id as id from information_schema.processlist where db = database() and id <> connection_id()';
    const rows = (await database.run(all)) as { id?: string }[];
    // Some may have ended by themselves.
    for (const { id } of rows) if (id !== undefined) await database.run(`kill ${id}`).catch(() => {});
  }

  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

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
    expect(read.map((one) => [one.order.code, one.lines.length, one.fault])).toEqual([
      ['B', 1, undefined],
      ['A', 0, expect.stringContaining(fault)],
      ['C', 1, undefined],
    ]);
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
    const shop = await openTables({ ...database, url: url.href }, queries, 'UTC');
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
    const first = await openTables({ url: database.url, run: database.query }, shop, 'UTC');
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
    const reader = await openTables({ url: url.href, run: database.query }, shop, 'UTC');
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
    const shop = await openTables(
      { url: database.url, run: database.query },
      {
        orders: 'select code, at as created_at, at as updated_at, 1 as total_price from o',
        order_lines: `select code as order_code, '1' as line_code, 7 as product_id, 1 as price, at as delivered_at from o`,
        changed_orders: 'select code, at as changed_at from o where at >= :since',
      },
    );
    const keys = [
      { at: '2025-11-02T05:30:00.000004Z', code: 'A' },
      { at: '2025-11-02T06:30:00.000000Z', code: 'B' },
      { at: '2025-11-02T07:30:00.000000Z', code: 'C' },
    ];
    expect((await shop.orders(['B'])).map(({ order, lines }) => [order.created_at, lines[0]?.delivered_at])).toEqual([
      [keys[1]?.at, keys[1]?.at],
    ]);
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

test.each([1205, 1412, 1927])(
  'error %i of a lock, an altered table or a killed connection may pass by itself',
  (errno) => {
    const error = Object.assign(new Error('failed'), { errno, sqlState: 'HY000', sqlMessage: 'failed' });
    expect(isTransient(withoutStatement(error))).toBe(true);
  },
);

test.each([
  ['MySQL by its limit', 3024],
  ['MariaDB by its limit', 1969],
  ['somebody', 1317],
])('a statement that was cancelled by %s (error %i) took too long', (_, errno) => {
  expect(mysqlWords.isTimeout(Object.assign(new Error('cancelled'), { errno }))).toBe(true);
});
