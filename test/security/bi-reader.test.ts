import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { queueClasses } from '../../src/queue/connection.ts';
import { openPool, openWarehouse } from '../../src/warehouse/index.ts';
import { createDatabase, query } from '../harness/database.ts';
import { openWorld } from '../harness/world.ts';

test('doctor says whether other roles may create functions where we look for them', async () => {
  await using world = await openWorld({ shop: 'sample' });
  await world.says('doctor', /no other role can create functions/);
  for (const database of [world.warehouse, world.shop]) await database('grant create on schema public to public');
  await world.says(
    'doctor',
    /every role of the database may create functions in the schema public/,
    /revoke create on schema public from public/,
    /every role of the shop's database may create functions in the schema public: one could read/,
  );
});

test('every connection looks for functions in pg_catalog, or the queue’s schema', async () => {
  const address = new URL(await createDatabase('migrated'));
  address.searchParams.set('options', '-c search_path=public -c statement_timeout=7777');
  const warehouse = await openWarehouse({ url: address.href, connections: 1 });
  onTestFinished(() => warehouse.close());
  const { rows } = await warehouse.pool.query(
    `select current_setting('search_path') as path, current_setting('statement_timeout') as timeout,
      current_setting('idle_in_transaction_session_timeout') as idle`,
  );
  // 150 s: a process that hangs within a transaction loses its locks.
  expect(rows).toEqual([{ path: 'pg_catalog,pg_temp', timeout: '7777ms', idle: '150s' }]);
  const { connection, close } = await queueClasses(await createDatabase('migrated'));
  onTestFinished(() => close());
  const ofQueue = await (connection as pg.Pool).query(`select current_setting('search_path') as path`);
  expect(ofQueue.rows).toEqual([{ path: 'bullmq,pg_temp' }]);
});

test('each function of ours has a search path of its own; no view calls one of others', async () => {
  const url = await createDatabase('migrated');
  const ours = `select oid from pg_namespace where nspname in ('sync', 'warehouse', 'bi')`;
  const unpinned = `select p.oid::regprocedure::text as name from pg_proc p where p.pronamespace in (${ours})
    and not exists (select from unnest(p.proconfig) as setting where setting like 'search_path=%')`;
  // Built-in functions leave no dependency.
  const foreign = `select c.relname as name from pg_depend d join pg_rewrite r on r.oid = d.objid
    join pg_class c on c.oid = r.ev_class join pg_proc p on p.oid = d.refobjid
    where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_proc'::regclass
      and c.relnamespace in (${ours}) and p.pronamespace not in (${ours})`;
  expect(await query(url, `${unpinned} union all ${foreign}`)).toEqual([]);
});

test('the example BI user has limits, and can lock no table that serves as a lock', async () => {
  const url = await createDatabase('migrated');
  const name = `bi_user_${randomBytes(6).toString('hex')}`;
  const text = await readFile(packagePath('examples', 'bi', 'user.sql'), 'utf8');
  await query(url, `create role ${name} login`);
  onTestFinished(async () => {
    await query(url, `drop role ${name}`).catch(() => {});
  });
  const plain = text.replaceAll(/^\\.*$|^select .*$/gm, '').replaceAll(`:'password'`, `'analyst'`);
  await query(url, plain.replaceAll('bi_user', name));
  const reader = new URL(url);
  [reader.username, reader.password] = [name, 'analyst'];
  const [limits] = await query(
    reader.href,
    `select rolconnlimit, current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
      current_setting('idle_in_transaction_session_timeout') as idle from pg_roles where rolname = current_user`,
  );
  expect(limits).toEqual({ rolconnlimit: 10, statement: '1min', lock: '5s', idle: '1min' });
  const denied = async (sql: string) => expect(query(reader.href, sql)).rejects.toThrow(/permission denied/);
  await denied('select from sync.settings for update');
  for (const table of ['sync.settings', 'sync.alerts', 'sync.product_counts', 'review_sync_migrations.applied'])
    await denied(`begin; lock table ${table} in access share mode`);
  await using own = openPool({ url: reader.href, connections: 1 });
  await expect(own.pool.query('table sync.settings')).rejects.toThrow(/^the warehouse: permission denied/);
});

test('no statement of ours takes an advisory lock, which any role could hold', async () => {
  const found: string[] = [];
  for (const top of ['src', 'jobs', 'sql/warehouse']) {
    for (const entry of await readdir(packagePath(top), { recursive: true })) {
      if (!/\.(ts|sql)$/.test(entry) || entry.startsWith('sandbox/')) continue;
      const text = await readFile(packagePath(top, entry), 'utf8');
      if (/pg_(try_)?advisory_\w*lock\w*\(/.test(text)) found.push(`${top}/${entry}`);
    }
  }
  expect(found).toEqual([]);
});
