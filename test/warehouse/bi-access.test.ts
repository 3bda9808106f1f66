import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, forgetDatabase, queryAgain as query } from '../harness/database.ts';

const member = {
  user_id: 778899,
  user_code: 'member-secret-code',
  user_name: 'Kim Secret',
  message: 'Kim Secret loves it',
  order_code: 'order-secret-1',
  sub_order_code: 'line-secret-1',
  code: 'review-secret-1',
};
const secrets = [...Object.values(member).map(String), 'kim.secret@example.com', '010-1234-5678'];

const insertSecrets = `
  insert into warehouse.reviews (id, created_at, updated_at, user_id, user_code, user_name, message, order_code,
    sub_order_code, code, product_id, product_code, product_options, options, extra)
  values (1, now(), now(), 778899, 'member-secret-code', 'Kim Secret', 'Kim Secret loves it', 'order-secret-1',
    'line-secret-1', 'review-secret-1', 7, 'product-7', '{"engraving": "Kim Secret"}', '[{"value": "Kim Secret"}]',
    '{"user_email": "kim.secret@example.com"}');
  insert into sync.order_links (order_code, order_id) values ('order-secret-1', 1);
  insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, delivered_at)
  values ('order-secret-1', 'line-secret-1', 1, '{"product_options": {"engraving": "Kim Secret"}}', true, 7, now());
  insert into sync.dead_letters (kind, key, reason, payload)
  values ('order', 'order-secret-1', 'Kim Secret', '{"user_phone": "010-1234-5678"}')`;

describe('a user with the role bi_reader', () => {
  let owner: string;
  let reader: string;
  const name = `analyst_${randomBytes(6).toString('hex')}`;
  beforeAll(async () => {
    owner = await createDatabase('migrated');
    await query(owner, insertSecrets);
    await query(owner, `create role ${name} login password 'analyst' in role bi_reader`);
    const url = new URL(owner);
    [url.username, url.password] = [name, 'analyst'];
    reader = url.href;
  });
  afterAll(async () => {
    await forgetDatabase(reader);
    await query(owner, `drop role ${name}`);
  });

  const relations = (schemas: string) =>
    query<{ name: string }>(
      owner,
      `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname ~ $1 and c.relkind in ('r', 'v', 'm', 'p', 'f') order by 1`,
      [schemas],
    );

  test('reads every view of bi, and finds nothing of a member in any row', async () => {
    const views = await relations('^bi$');
    expect(views.length).toBeGreaterThan(10);
    for (const view of views) {
      const shown = JSON.stringify(await query(reader, `select * from ${view.name}`));
      expect(secrets.filter((secret) => shown.includes(secret))).toEqual([]);
    }
    expect(await query(reader, 'select product_code from bi.reviews')).toEqual([{ product_code: 'product-7' }]);
  });

  test('reads and writes nothing else that belongs to review-sync', async () => {
    const others = await relations('^(warehouse|sync|review_sync_migrations|bullmq)$');
    expect(others.length).toBeGreaterThan(15);
    const statements = others.flatMap(({ name: table }) => [
      ...[`select * from ${table}`, `table ${table} limit 1`, `delete from ${table}`],
    ]);
    const more = [
      `update bi.reviews set score = 1`,
      `create view bi.mine as select 1`,
      `create or replace view bi.reviews as select * from warehouse.reviews`,
      `alter view bi.reviews set (security_invoker = on)`,
      `select order_salt from sync.settings`,
      `copy warehouse.reviews to stdout`,
      `set role postgres`,
    ];
    // One connection for all: a pool gives one up after an error.
    const client = new pg.Client({ connectionString: reader });
    await client.connect();
    for (const statement of [...statements, ...more])
      await expect(client.query(statement), statement).rejects.toThrow(/permission denied|must be owner|cannot update/);
    await client.end();
  });

  test('sees no value of a member in the statistics that the server keeps', async () => {
    await query(owner, 'analyze warehouse.reviews');
    expect(await query(reader, `select * from pg_stats where schemaname in ('warehouse', 'sync')`)).toEqual([]);
    await expect(query(reader, 'select * from pg_statistic')).rejects.toThrow(/permission denied/);
  });

  test('gets no order code by trying codes, yet joins the views by order', async () => {
    const guess = `select 1 from bi.reviews where order_key in (md5('order-secret-1'), 'order-secret-1')`;
    expect(await query(reader, guess)).toEqual([]);
    const joined = `
      select has_review, s.product_id::integer from bi.response_by_order o
      join bi.reviews r using (order_key) join bi.sub_orders s using (order_key)`;
    expect(await query(reader, joined)).toEqual([{ has_review: true, product_id: 7 }]);
  });
});
