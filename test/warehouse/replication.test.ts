import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import { runCli, until } from '../harness/cli.ts';
import { createDatabase, query } from '../harness/database.ts';
import { cheapestFolder } from '../harness/servers.ts';

/** The statements of the recipe in examples/lake. */
async function recipe(place: string): Promise<string> {
  const page = await readFile(packagePath('examples', 'lake', 'README.md'), 'utf8');
  const [, text = ''] = new RegExp(`\`\`\`sql\n-- on the ${place}\n([^\`]+)\`\`\``).exec(page) ?? [];
  expect(text).not.toBe('');
  return text;
}

/** What the copy must show as the warehouse does. */
const shown = `select
  (select jsonb_agg(to_jsonb(r) order by id) from warehouse.reviews r) as reviews,
  (select jsonb_agg(to_jsonb(r) order by review_id) from bi.reviews r) as bi_reviews,
  (select jsonb_agg(to_jsonb(s) order by order_key, price) from bi.sub_orders s) as bi_sub_orders`;

let server: EmbeddedDatabase;
beforeAll(async () => {
  server = await startEmbeddedDatabase({ temporaryIn: await cheapestFolder(), settings: ['wal_level=logical'] });
});
afterAll(() => server.close());

// On the server of all tests the role is there.
test('migrate passes for who may create no role, and opens bi once the role is there', async () => {
  const owner = await server.createDatabase('plain');
  await query(owner, `create role plain login password 'plain'; grant create on database plain to plain`);
  const as = (user: string) => Object.assign(new URL(owner), { username: user, password: user }).href;
  const environment = {
    SHOP_DATABASE_URL: as('plain'),
    WAREHOUSE_DATABASE_URL: as('plain'),
    REVIEW_API_BASE_URL: 'http://127.0.0.1:1',
    REVIEW_API_CLIENT_ID: 'demo',
    REVIEW_API_CLIENT_SECRET: 'demo',
  };
  const without = await runCli(['migrate'], environment);
  expect(without).toMatchObject({ status: 0, stdout: expect.stringContaining('create role bi_reader nologin') });
  await query(owner, 'create role bi_reader nologin');
  expect(await runCli(['migrate'], environment)).toMatchObject({ status: 0, stdout: 'Up to date.\n' });
  await query(owner, `create role analyst login password 'analyst' in role bi_reader`);
  expect(await query(as('analyst'), 'select time_zone from bi.freshness')).toEqual([{ time_zone: 'Asia/Seoul' }]);
});

test('logical replication as in examples/lake brings what the views show', async () => {
  const [from, copy] = await Promise.all([server.createDatabase('warehouse'), createDatabase('migrated')]);
  const warehouse = await openWarehouse({ url: from, connections: 1 });
  await migrateWarehouse(warehouse.db);
  await warehouse.close();

  await query(from, await recipe('warehouse'));
  const withoutKey = await query(
    from,
    `select tablename from pg_publication_tables p
    where not exists (
      select from pg_constraint where contype = 'p' and conrelid = format('%I.%I', p.schemaname, p.tablename)::regclass
    )`,
  );
  expect(withoutKey).toEqual([]);
  await query(
    from,
    `insert into warehouse.reviews (id, created_at, updated_at, score, message, order_code)
    select n, '2026-03-01', '2026-03-01', n, 'text', 'order' from generate_series(1, 3) as n;
    insert into sync.order_links (order_code, ordered_at) values ('order', '2026-02-01');
    insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id)
    values ('order', '1', 1, '{"price": "10"}', true, 7)`,
  );

  // The statements of the copy run one by one: a subscription cannot be created within a transaction.
  const { hostname, port, username, password } = new URL(from);
  const connection = `host=${hostname} port=${port} dbname=warehouse user=${username} password=${password}`;
  for (const statement of (await recipe('copy')).split(';').filter((text) => text.trim() !== '')) {
    await query(copy, statement.replace(/connection '[^']*'/, `connection ${pg.escapeLiteral(connection)}`));
  }
  try {
    await until(async () => JSON.stringify(await query(from, shown)) === JSON.stringify(await query(copy, shown)));
    expect(await query(copy, 'select review_id::integer as id from bi.reviews')).toHaveLength(3);
    expect(await query(copy, 'select product_id::integer as id from bi.sub_orders')).toEqual([{ id: 7 }]);
  } finally {
    await query(copy, 'drop subscription review_sync');
  }
});
