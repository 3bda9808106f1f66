import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { migrateQueue } from '../../src/queue/connection.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase, queryAgain } from '../harness/database.ts';
import { openWorld, type World } from '../harness/world.ts';

const folder = packagePath('sql', 'warehouse');
const versions = (await readdir(folder)).filter((file) => /^\d{4}_.*\.sql$/.test(file)).sort();
const names = versions.map((file) => file.replace('.sql', ''));

let world: World;
/** What this version of the program wrote in a warehouse, by table: what an earlier one had is taken out of it. */
let written: Map<string, object[]>;

beforeAll(async () => {
  world = await openWorld();
  for (const args of [
    ['sync', 'reviews'],
    ['sync', 'catalog'],
    ['sync', 'orders'],
    ['sync', 'reconcile'],
  ]) {
    await runCli(args, world.environment);
  }
  await world.warehouse(
    `insert into sync.dead_letters (kind, key, reason, payload) values ('webhook', 'w', 'bad', '{}')`,
  );
  written = await rowsOf(world.warehouseUrl);
});

afterAll(() => world[Symbol.asyncDispose]());

const tablesSql = `select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('sync', 'warehouse') and c.relkind = 'r' order by 1`;

async function rowsOf(url: string): Promise<Map<string, object[]>> {
  const rows = new Map<string, object[]>();
  for (const { name } of await queryAgain<{ name: string }>(url, tablesSql)) {
    const found = await queryAgain<{ row: object }>(
      url,
      `select to_jsonb(t) as row from ${name} t order by to_jsonb(t)::text`,
    );
    rows.set(
      name,
      found.map(({ row }) => row),
    );
  }
  return rows;
}

/** Columns that later versions dropped, with a value that earlier ones had in them. */
const droppedSince: Record<string, object> = { 'sync.order_links': { with_contact: true } };

const without = (row: object, columns: readonly string[]) =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !columns.includes(column)));

/** A warehouse as that version left it, with as much of the rows as it had columns for. */
async function warehouseOf(version: string): Promise<string> {
  const url = await createDatabase();
  const warehouse = await openWarehouse({ url, connections: 1 });
  await migrateWarehouse(warehouse.db, version);
  await warehouse.close();
  await migrateQueue(url);
  // Rows are copied as they are: no trigger may add to them.
  const copying = new URL(url);
  copying.searchParams.set('options', '-c session_replication_role=replica');
  for (const { name } of await queryAgain<{ name: string }>(url, tablesSql)) {
    await queryAgain(copying.href, `delete from ${name}`);
    await queryAgain(
      copying.href,
      `insert into ${name} overriding system value select * from jsonb_populate_recordset(null::${name}, $1::jsonb)`,
      [JSON.stringify((written.get(name) ?? []).map((row) => ({ ...droppedSince[name], ...row })))],
    );
    const identity = `select attname as name from pg_attribute where attrelid = '${name}'::regclass and attidentity <> ''`;
    for (const column of await queryAgain<{ name: string }>(url, identity)) {
      await queryAgain(url, `select setval(pg_get_serial_sequence('${name}', '${column.name}'), 1000000)`);
    }
  }
  return url;
}

// The first two came together, and so do those after 0008: nobody has a warehouse in between.
const released = names.filter((name) => name >= '0002' && name < '0009');
test.each(released)(
  'a warehouse of %s with data in it keeps every row, and goes on where it stopped',
  async (version) => {
    const url = await warehouseOf(version);
    const before = await rowsOf(url);
    expect(before.get('sync.order_links')?.length).toBeGreaterThan(50);
    const environment = { ...world.environment, WAREHOUSE_DATABASE_URL: url };
    const migrated = await runCli(['migrate', '--json'], environment);
    expect(JSON.parse(migrated.stdout).applied).toEqual(names.slice(names.indexOf(version) + 1));
    const after = await rowsOf(url);
    // Dropped by 0019.
    before.delete('sync.run_parts');
    for (const [name, rows] of before) {
      expect(after.get(name), name).toHaveLength(rows.length);
      const kept = rows.map((row) => without(row, Object.keys(droppedSince[name] ?? {})));
      for (const row of kept) expect(after.get(name), name).toContainEqual(expect.objectContaining(row));
    }
    const posts = () =>
      Object.entries(world.service.requests()).filter(([route]) => /^(POST \/v1|PUT|DELETE)/.test(route));
    const sentBefore = posts();
    for (const args of [
      ['sync', 'orders'],
      ['sync', 'reviews'],
      ['verify', 'reviews'],
    ]) {
      expect([args, (await runCli(args, environment)).stderr]).toEqual([
        args,
        expect.not.stringContaining('review-sync:'),
      ]);
    }
    expect(posts()).toEqual(sentBefore);
    expect((await queryAgain<{ n: string }>(url, 'select count(*) as n from warehouse.reviews'))[0]?.n).toBe('200');
  },
);

test('migrating twice, or from two machines at once, applies each file once', async () => {
  const url = await warehouseOf(names[1] ?? '');
  const environment = { ...world.environment, WAREHOUSE_DATABASE_URL: url };
  const ends = await Promise.all([1, 2, 3].map(() => runCli(['migrate', '--json'], environment)));
  const applied = ends.flatMap(({ stdout }) => JSON.parse(stdout).applied as string[]);
  expect(applied.sort()).toEqual(names.slice(2));
});

test('the open gaps of an older version are there after the upgrade, with the kinds of this one', async () => {
  const url = await createDatabase();
  const warehouse = await openWarehouse({ url, connections: 1 });
  await migrateWarehouse(warehouse.db, '0033_removals_held');
  await warehouse.close();
  const kinds = ['unreachable', 'out-of-range', 'refused', 'implausible', 'unwritten', 'failed'];
  await queryAgain(
    url,
    `insert into sync.open_gaps (axis, start_at, end_at, kind, reason)
     select 'created', to_timestamp(n), to_timestamp(n + 1), kind, 'r' from unnest($1::text[]) with ordinality as k (kind, n)`,
    [kinds],
  );
  await runCli(['migrate'], { ...world.environment, WAREHOUSE_DATABASE_URL: url });
  expect(await queryAgain(url, 'select kind from sync.open_gaps order by start_at')).toEqual(
    ['too-many', 'out-of-range', 'refused', 'too-few', 'dead-letter', 'step-failed'].map((kind) => ({ kind })),
  );
});

test('what an older version sent twice is still looked for after the upgrade, with the content that it was sent with', async () => {
  const url = await createDatabase();
  const warehouse = await openWarehouse({ url, connections: 1 });
  await migrateWarehouse(warehouse.db, '0034_gap_kinds');
  await warehouse.close();
  await queryAgain(
    url,
    `insert into sync.order_links (order_code) values ('A'), ('B');
     insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, ids_before, was_sent_again) values
       ('A', '1', 11, '{"price": "10"}', '[3]', true), ('A', '2', 12, '{"price": "20"}', '[3]', false)`,
  );
  await runCli(['migrate'], { ...world.environment, WAREHOUSE_DATABASE_URL: url });
  expect(
    await queryAgain(url, 'select order_code, unseen_creations as unseen from sync.order_links order by 1'),
  ).toEqual([
    { order_code: 'A', unseen: [{ lineCode: '1', subOrderId: null, content: { price: '10' }, idsBefore: [3] }] },
    { order_code: 'B', unseen: [] },
  ]);
});

test('a migration that has landed is never edited: a warehouse that has it would not learn of the change', async () => {
  const listed = await readFile(packagePath('test', 'warehouse', 'migrations.sha256'), 'utf8');
  const found = await Promise.all(
    versions.map(async (file) => {
      const text = await readFile(`${folder}/${file}`);
      return `${createHash('sha256').update(text).digest('hex')}  ${file}\n`;
    }),
  );
  expect(found.join('')).toBe(listed);
});
