import { expect, test } from 'vitest';
import { prepareBi } from '../../src/warehouse/bi/bi-access.ts';
import { recountAll } from '../../src/warehouse/bi/recount.ts';
import { brandName, inBrand } from '../../src/warehouse/brand.ts';
import { isSameAccount } from '../../src/warehouse/connected-service.ts';
import { openPool, openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import { readWarehouseFacts } from '../../src/warehouse/warehouse-facts.ts';
import { createDatabase, query } from '../harness/database.ts';

/** `§`: here the name of the brand is added. */
test.each([
  'select 1 from sync§.runs r join warehouse§.reviews on true',
  `select 'bi§.reviews'::regclass`,
  'insert into "sync§"."category_links" ("code")',
  'declare c cursor for select 1 from bi§."reviews"',
  'create schema sync§; grant usage on schema bi§ to bi_reader',
  `select to_regnamespace('bi§')`,
  `format('comment on column sync§.run_rows.%I')`,
  'lock table review_sync_migrations§.applied',
  `trigger in ('sync', 'rescan')`,
  `'review-sync was updated. Run review-sync.'`,
  'select "sync.x"."bi.y" from my_sync.t, t.sync.u',
  `job = 'sync-' || flow`,
  'select warehouse, bi, sync from t as warehouse_b',
])('schemas, and nothing else, are those of the brand: %s', (marked) => {
  const [text, expected] = [marked.replaceAll('§', ''), marked.replaceAll('§', '_a')];
  expect(inBrand(text, 'a')).toBe(expected);
  expect(inBrand(expected, 'a')).toBe(expected);
});

test('names of brands are names of schemas without quotes', () => {
  const names = ['a', 'nord_2', 'x'.repeat(31), '', 'A', '1a', 'a-b', 'a.b', 'ä', 'x'.repeat(32)];
  expect(names.filter((name) => brandName.test(name))).toEqual(names.slice(0, 3));
});

test('an address that is written in another way is the same account', () => {
  const account = { address: 'https://host.example/api', client: 'x' };
  const spellings = ['https://host.example/api/', 'HTTPS://Host.example/api', 'https://host.example:443/API//'];
  for (const address of [...spellings, 'http://host.example/api', 'https://host.example./x/../api'])
    expect([address, isSameAccount(account, { address, client: 'x' })]).toEqual([address, true]);
  for (const address of ['http://host.example:8080/api', 'https://host.example:8443/api', 'https://host.example'])
    expect([address, isSameAccount(account, { address, client: 'x' })]).toEqual([address, false]);
  expect(isSameAccount(account, { ...account, client: 'y' })).toBe(false);
});

test('two brands in one database share connections and nothing else', async () => {
  const url = await createDatabase();
  await using shared = openPool({ url, connections: 4 });
  const names = ['a', 'a_b'];
  for (const brand of names) {
    await using warehouse = await openWarehouse({ url, connections: 2, shared, brand });
    expect((await migrateWarehouse(warehouse.db)).length).toBeGreaterThan(10);
    expect(await prepareBi(warehouse, { timeZone: 'Asia/Seoul' })).toBe(true);
    await recountAll(warehouse.db);
    expect(await readWarehouseFacts(warehouse)).toMatchObject({ pending: [], newer: [], otherOwners: [] });
  }
  const schemas = await query<{ name: string }>(
    url,
    `select nspname as name from pg_namespace where nspname !~ '^pg_|^information_schema$|^public$' order by 1`,
  );
  const own = ['bi', 'review_sync_migrations', 'sync', 'warehouse'];
  // No view, key, default, trigger or index can depend on a schema without brand.
  expect(schemas.map(({ name }) => name)).toEqual(own.flatMap((schema) => names.map((name) => `${schema}_${name}`)));
});

test('a prepared statement of one brand is not that of another on the same connection', async () => {
  const url = await createDatabase();
  await using shared = openPool({ url, connections: 1 });
  for (const brand of ['a', 'b']) {
    await shared.pool.query(`create schema sync_${brand}; create table sync_${brand}.t as select '${brand}' as name`);
  }
  for (const brand of ['a', 'b', 'a']) {
    await using warehouse = await openWarehouse({ url, connections: 1, shared, brand });
    const { rows } = await warehouse.pool.query({ name: 'read', text: 'select name from sync.t' });
    expect(rows).toEqual([{ name: brand }]);
  }
});

test('a brand whose statements wait, or fail, leaves connections to the others', async () => {
  const url = await createDatabase();
  await using shared = openPool({ url, connections: 2 });
  await using stuck = await openWarehouse({ url, connections: 1, shared, brand: 'a' });
  await using other = await openWarehouse({ url, connections: 1, shared, brand: 'b' });
  const first = await stuck.pool.connect();
  const second = stuck.pool.connect();
  expect((await other.pool.query('select 2 as n')).rows).toEqual([{ n: 2 }]);
  first.release();
  (await second).release();
  await expect(stuck.pool.query('select 1 / 0')).rejects.toThrow('zero');
  expect(shared.pool.totalCount).toBe(shared.pool.idleCount);
});
