import { readdir, readFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { describeError, type ReviewSyncError } from '../../src/base/errors.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import { runCli, until } from '../harness/cli.ts';
import { createDatabase, forgetDatabase, queryAgain } from '../harness/database.ts';
import { openWorld, type World } from '../harness/world.ts';

const files = (await readdir(packagePath('sql', 'warehouse'))).filter((file) => file.endsWith('.sql')).sort();
const names = files.map((file) => file.replace('.sql', ''));

let world: World;
let url: string;
const cli = (...args: string[]) => runCli(args, { ...world.environment, WAREHOUSE_DATABASE_URL: url });

beforeAll(async () => {
  world = await openWorld();
});
beforeEach(async () => {
  url = await createDatabase();
});
afterAll(() => world[Symbol.asyncDispose]());

test('migrating from three machines at once, and then again, applies each file once', async () => {
  const ends = await Promise.all([1, 2, 3].map(() => cli('migrate', '--json')));
  expect(ends.flatMap(({ stdout }) => JSON.parse(stdout).applied as string[]).sort()).toEqual(names);
  expect(await cli('migrate')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Up to date\./) });
});

test('each statement is SQL as its file stands, but for the two that are parts of others', async () => {
  const folder = packagePath('sql', 'warehouse', 'statements');
  // The last two cannot be prepared: they are run as they stand.
  const others = ['write_line_links.sql', 'put_dead_letters.sql', 'recount.sql', 'open_bi_to_readers.sql'];
  const client = new pg.Client({ connectionString: world.warehouseUrl });
  await client.connect();
  onTestFinished(() => client.end());
  const faulty: string[] = [];
  for (const file of await readdir(folder)) {
    if (others.includes(file)) continue;
    const text = await readFile(join(folder, file), 'utf8');
    // Parameters of land_reviews.sql are named in its comments only.
    const types = file === 'land_reviews.sql' ? '(text, text[], timestamptz, text[])' : '';
    await client.query(`prepare it ${types} as ${text}`).catch((error) => faulty.push(`${file}: ${error.message}`));
    await client.query('deallocate all');
  }
  expect(faulty).toEqual([]);
});

test.each(['SQL_ASCII', 'LATIN1'])('a warehouse in %s is refused by migrate and named by doctor', async (encoding) => {
  const name = `${new URL(url).pathname.slice(1)}_${encoding.toLowerCase()}`;
  await queryAgain(
    url,
    `create database ${name} encoding '${encoding}' locale_provider libc locale 'C' template template0`,
  );
  onTestFinished(async () => void (await queryAgain(url, `drop database ${name} with (force)`)));
  const environment = { ...world.environment, WAREHOUSE_DATABASE_URL: `${url}_${encoding.toLowerCase()}` };
  expect(await runCli(['migrate'], environment)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(new RegExp(`encoding ${encoding}, expected UTF8.*create database`, 's')),
  });
  expect((await runCli(['doctor'], environment)).stdout).toContain(`the database has the encoding ${encoding}`);
});

test('a server that writes dates in German, or reads backslashes otherwise, stops no command', async () => {
  await using other = await openWorld();
  for (const database of [other.warehouseUrl, other.shopUrl]) {
    const name = new URL(database).pathname.slice(1);
    await queryAgain(database, `alter database ${name} set datestyle = 'German, DMY'`);
    await queryAgain(database, `alter database ${name} set intervalstyle = 'iso_8601'`);
    await queryAgain(database, `alter database ${name} set standard_conforming_strings = off`);
  }
  for (const command of [
    'sync reviews',
    'sync orders',
    'status',
    'verify orders',
    'verify reviews',
    'sync reconcile',
  ]) {
    const { status, stderr } = await other.cli(...command.split(' '));
    expect([command, status, stderr]).toEqual([command, 0, expect.any(String)]);
  }
});

test('migrate waits for a statement as long as it takes, where other commands give up after ten minutes', async () => {
  const limit = vi.spyOn(Socket.prototype, 'setTimeout');
  onTestFinished(() => limit.mockRestore());
  await cli('migrate');
  expect(limit.mock.calls.map(([ms]) => ms)).not.toContain(600_000);
  await cli('status');
  expect(limit.mock.calls.map(([ms]) => ms)).toContain(600_000);
});

const applyNames = (...applied: string[]) =>
  queryAgain(
    url,
    `create schema review_sync_migrations;
     create table review_sync_migrations.applied as select name from unnest('{${applied}}'::text[]) as name`,
  );

test('a warehouse with the schema of a version before the first release is refused in one sentence', async () => {
  await applyNames('0001_sync', '0002_warehouse', '0013_security_b', '0036_discarded');
  const sentence =
    'The warehouse has the schema of a version before the first release: review_sync_migrations.applied lists 0001_sync and 3 others, ' +
    `expected are ${names[0]} to ${names.at(-1)}`;
  const hint = /WAREHOUSE_DATABASE_URL.* new, empty database .*review-sync migrate\..*read again/;
  for (const args of [['migrate'], ['status'], ['sync', 'orders']]) {
    const end = await cli(...args);
    expect([args, end.status, end.stderr]).toEqual([args, 1, expect.stringContaining(sentence)]);
    expect(end.stderr).toMatch(hint);
  }
  const doctor = await cli('doctor', '--json');
  expect(doctor.status).toBe(1);
  expect(doctor.stdout).toContain(sentence);
  expect(await queryAgain(url, `select from pg_namespace where nspname in ('sync', 'warehouse', 'bi')`)).toEqual([]);
});

test('migrate refuses a warehouse of a newer version, and changes nothing', async () => {
  await cli('migrate');
  await queryAgain(url, `insert into review_sync_migrations.applied values ('9999_future')`);
  await queryAgain(
    url,
    `delete from review_sync_migrations.applied where name = '${names.at(-1)}'; drop schema bi cascade`,
  );
  const end = await cli('migrate');
  expect(end).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/9999_future belongs to a newer version.*\n.*Run one version of review-sync/),
  });
  expect(await queryAgain(url, `select from pg_namespace where nspname = 'bi'`)).toEqual([]);
});

describe('a session that holds a lock', () => {
  /** The last migration is pending, and a BI tool has a transaction open on a table that it reads. */
  async function blocked() {
    const warehouse = await openWarehouse({ url, connections: 2 });
    await migrateWarehouse(warehouse.db);
    await warehouse.pool.query(
      `drop schema bi cascade; delete from review_sync_migrations.applied where name = '0006_bi'`,
    );
    const tool = new pg.Client({ connectionString: url, application_name: 'dashboards' });
    await tool.connect();
    await tool.query('begin; lock table sync.settings');
    return {
      tool,
      migrate: (tries: number) => migrateWarehouse(warehouse.db, { timeoutMs: 300, tries, pauseMs: 10 }),
      async [Symbol.asyncDispose]() {
        await tool.end();
        await warehouse.close();
      },
    };
  }

  /** Sessions that wait for a lock. */
  const waitingNames = () =>
    queryAgain(
      url,
      `select application_name as name from pg_stat_activity
       where wait_event_type = 'Lock' and datname = current_database()`,
    );

  test('alone is named when migrate gives up, and nothing waits behind migrate meanwhile', async () => {
    await using stage = await blocked();
    // It waits for the same lock, as migrate does: it holds nobody up.
    const waiting = new pg.Client({ connectionString: url, application_name: 'waiting' });
    await waiting.connect();
    const waited = waiting.query('select from sync.settings');
    await until(async () => (await waitingNames()).length > 0);
    const error = await stage.migrate(2).catch((thrown: unknown) => thrown);
    const { rows } = await stage.tool.query('select pg_backend_pid() as pid');
    expect(describeError(error)).toMatch(
      new RegExp(
        `0006_bi.sql did not get a lock in 2 tries.*pid ${rows[0].pid} .application dashboards, user \\w+, idle in transaction, transaction since 20`,
      ),
    );
    expect((error as ReviewSyncError).hint).toContain(
      `transaction (select pg_terminate_backend(${rows[0].pid});), then`,
    );
    expect(await waitingNames()).toEqual([{ name: 'waiting' }]);
    await stage.tool.query('commit');
    await waited;
    await waiting.end();
  });

  test('delays migrate, which is tried again', async () => {
    await using stage = await blocked();
    const migrating = stage.migrate(1000);
    await until(async () => (await waitingNames()).length > 0);
    await stage.tool.query('commit');
    expect(await migrating).toEqual(['0006_bi']);
  });
});

describe('the order of texts', () => {
  /** Keys of indexes that are in an order of the operating system. `C` has the oid 950 in every database. */
  const othersThanBytes = `
    select c.oid::regclass::text || ' of ' || i.indrelid::regclass as index
    from pg_index i join pg_class c on c.oid = i.indexrelid cross join lateral unnest(i.indcollation::oid[]) as ordered_by
    where c.relnamespace in ('sync'::regnamespace, 'warehouse'::regnamespace) and ordered_by not in (0, 950)`;

  /** A database whose texts are in the order of ICU. @returns what changes that order, as another version would. */
  async function databaseOfIcu(): Promise<(rules: string) => Promise<void>> {
    const name = `icu_${new URL(url).pathname.slice(1)}`;
    const admin = url;
    await queryAgain(admin, `create database ${name} template template0 locale_provider icu icu_locale 'en'`);
    url = Object.assign(new URL(admin), { pathname: name }).href;
    onTestFinished(async () => {
      await forgetDatabase(url);
      await queryAgain(admin, `drop database ${name} with (force)`);
    });
    return async (rules) => {
      await queryAgain(admin, 'update pg_database set daticurules = $2 where datname = $1', [name, rules]);
      // A connection knows the order of its beginning.
      await forgetDatabase(url);
    };
  }

  async function migrateBefore(name: string): Promise<void> {
    await queryAgain(
      url,
      'create schema review_sync_migrations; create table review_sync_migrations.applied (name text primary key, at timestamptz not null default now())',
    );
    for (const one of names.filter((other) => other < name)) {
      await queryAgain(url, await readFile(packagePath('sql', 'warehouse', `${one}.sql`), 'utf8'));
      await queryAgain(url, 'insert into review_sync_migrations.applied (name) values ($1)', [one]);
    }
  }

  test('may change under a warehouse: no index of ours misses a row, and nothing else is lost', async () => {
    const reorder = await databaseOfIcu();
    await migrateBefore('0008');
    await queryAgain(
      url,
      `insert into sync.order_links (order_code, ordered_at) select chr(97 + n % 26) || n, '2026-01-01' from generate_series(1, 2000) n;
       insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id)
         select order_code, '1', 5, '{"price": 9}', true, 7 from sync.order_links;
       insert into sync.product_links values ('P7', 7);
       insert into warehouse.reviews (id, created_at, updated_at, product_id, order_code, score) values (1, '2026-01-02', '2026-01-02', 7, 'b1', 4);
       create view public.of_a_user as select order_key, product_code from bi.sub_orders;
       grant select on bi.response_by_order to public`,
    );
    const found = async () =>
      (
        await queryAgain<{ n: string }>(
          url,
          `select count(*) as n from generate_series(1, 2000) n
           where (select true from sync.order_links where order_code = chr(97 + n % 26) || n)`,
        )
      )[0]?.n;
    const views = [
      'bi.sub_orders',
      'bi.response_by_order',
      'bi.reviews_per_delivered_sub_order_by_product',
      'bi.coverage_by_day',
      'public.of_a_user',
    ];
    const state = async () => {
      const rows = await Promise.all(views.map((view) => queryAgain(url, `select * from ${view} v order by v::text`)));
      const described = await queryAgain(
        url,
        `select attrelid::regclass::text || '.' || attname as name, format_type(atttypid, null) as type, attcollation as collation,
           col_description(attrelid, attnum) as comment, (select coalesce('=r/' || relowner::regrole = any (relacl::text[]), false) from pg_class where oid = attrelid) as "isPublic"
         from pg_attribute where attrelid = any ($1::regclass[]) order by attrelid, attnum`,
        [views],
      );
      return { rows, described };
    };
    const before = await state();
    await reorder('& z < a');
    expect(Number(await found())).toBeLessThan(2000);
    await reorder('');

    expect(await cli('migrate')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('applied 0008_text_keys'),
    });
    expect(await state()).toEqual(before);
    await reorder('& z < a');
    expect(await found()).toBe('2000');
    expect(await queryAgain(url, othersThanBytes)).toEqual([]);
  });

  test('is compared by doctor with the version that the database was made with', async () => {
    await databaseOfIcu();
    await cli('migrate');
    const name = new URL(url).pathname.slice(1);
    const doctor = async (version: string | null) => {
      await queryAgain(url, 'update pg_database set datcollversion = $2 where datname = $1', [name, version]);
      return (await cli('doctor')).stdout;
    };
    const found = await doctor('1.2');
    expect(found).toContain(`reindex database ${name}; alter database ${name} refresh collation version`);
    await queryAgain(url, `alter database ${name} refresh collation version`);
    expect((await cli('doctor')).stdout).toContain('as when the database was made');
    // Postgres refuses to refresh a version where there was none.
    const unknown = await doctor(null);
    expect(unknown).toContain('made without a version: an index of texts may miss rows');
    const [, update] = /reindex database \w+; (update [^\n]+)/.exec(unknown) ?? [];
    await queryAgain(url, update ?? '');
    expect((await cli('doctor')).stdout).toContain('as when the database was made');
  });
});
