import { readdir } from 'node:fs/promises';
import { Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { describeError, type ReviewSyncError } from '../../src/base/errors.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import { runCli, until } from '../harness/cli.ts';
import { createDatabase, queryAgain } from '../harness/database.ts';
import { openWorld, type World } from '../harness/world.ts';

const files = (await readdir(packagePath('sql', 'warehouse'))).filter((file) => file.endsWith('.sql')).sort();
const names = files.map((file) => file.replace('.sql', ''));

let world: World;
let url: string;
const cli = (...args: string[]) =>
  runCli(args, { ...world.environment, WAREHOUSE_DATABASE_URL: url, REVIEW_API_TIME_ZONE: 'America/Sao_Paulo' });

beforeAll(async () => {
  world = await openWorld({ shop: 'sample' });
});
beforeEach(async () => {
  url = await createDatabase();
});
afterAll(() => world[Symbol.asyncDispose]());

test('migrating from three machines at once, and again, applies each file once', async () => {
  const ends = await Promise.all([1, 2, 3].map(() => cli('migrate', '--json')));
  expect(ends.flatMap(({ stdout }) => JSON.parse(stdout).applied as string[]).sort()).toEqual(names);
  expect(await cli('migrate')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Up to date\./) });
  expect(JSON.parse((await cli('migrate', '--json')).stdout)).toEqual({ applied: [], biReader: true });
  expect(await queryAgain(url, 'select time_zone from bi.freshness')).toEqual([{ time_zone: 'America/Sao_Paulo' }]);
});

test('a warehouse in another encoding is refused by migrate and named by doctor', async () => {
  const name = `${new URL(url).pathname.slice(1)}_ascii`;
  await queryAgain(
    url,
    `create database ${name} encoding 'SQL_ASCII' locale_provider libc locale 'C' template template0`,
  );
  onTestFinished(async () => void (await queryAgain(url, `drop database ${name} with (force)`)));
  const environment = { ...world.environment, WAREHOUSE_DATABASE_URL: `${url}_ascii` };
  expect(await runCli(['migrate'], environment)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/encoding SQL_ASCII, expected UTF8.*create database/s),
  });
  expect((await runCli(['doctor'], environment)).stdout).toContain('the database has the encoding SQL_ASCII');
});

test('a schema of somebody else that has a name of ours is named, with the next step', async () => {
  await queryAgain(url, 'create schema bi');
  expect(await cli('migrate')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/schema "bi" already exists\n→ name a database without a schema of this name/),
  });
});

test('another date style, isolation or reading of backslashes changes no session', async () => {
  const name = new URL(url).pathname.slice(1);
  const isolation = 'default_transaction_isolation = serializable';
  for (const setting of [`datestyle = 'German, DMY'`, 'standard_conforming_strings = off', isolation])
    await queryAgain(url, `alter database ${name} set ${setting}`);
  await using warehouse = await openWarehouse({ url, connections: 1 });
  const { rows } = await warehouse.pool.query(
    `select date '2026-03-01'::text as day, '\\' as backslash, current_setting('transaction_isolation') as isolation`,
  );
  expect(rows).toEqual([{ day: '2026-03-01', backslash: '\\', isolation: 'read committed' }]);
});

test('migrate waits for a statement as long as it takes, others for ten minutes', async () => {
  const limit = vi.spyOn(Socket.prototype, 'setTimeout');
  await cli('migrate');
  expect(limit.mock.calls.map(([ms]) => ms)).not.toContain(600_000);
  await cli('status');
  expect(limit.mock.calls.map(([ms]) => ms)).toContain(600_000);
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

  test('alone is named when migrate gives up, else only delays it', async () => {
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
    // The lock delays a migrate with more tries.
    const migrating = stage.migrate(1000);
    await until(async () => (await waitingNames()).length > 1);
    await stage.tool.query('commit');
    await waited;
    await waiting.end();
    expect(await migrating).toEqual(['0006_bi']);
  });

  test('in another order than migrate, as a worker does, only delays it', async () => {
    await using stage = await blocked();
    await stage.tool.query(`rollback; create sequence public.tries;
      create function public.deadlock_once() returns event_trigger language plpgsql as $$ begin
        if nextval('public.tries') = 1 then raise 'deadlock detected' using errcode = 'deadlock_detected'; end if;
      end $$;
      create event trigger deadlock_once on ddl_command_start execute function public.deadlock_once()`);
    expect(await stage.migrate(2)).toEqual(['0006_bi']);
  });
});

test('no index of ours is in an order of texts that the operating system may change', async () => {
  // `C` has the oid 950 in every database.
  const others = await queryAgain(
    world.warehouseUrl,
    `select c.oid::regclass::text || ' of ' || i.indrelid::regclass as index
     from pg_index i join pg_class c on c.oid = i.indexrelid cross join lateral unnest(i.indcollation::oid[]) as ordered_by
     where c.relnamespace in ('sync'::regnamespace, 'warehouse'::regnamespace) and ordered_by not in (0, 950)`,
  );
  expect(others).toEqual([]);
});
