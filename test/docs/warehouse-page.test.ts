import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { warehousePage } from '../../docs/warehouse-page/page.ts';
import { ask, readQuestions } from '../../docs/warehouse-page/questions.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { countByHand, createWarehouse } from '../harness/warehouse.ts';

test('everything of ours in the database has a comment', async () => {
  const { ask: select } = await createWarehouse();
  const uncommented = await select(`
    with ours as (select oid, nspname from pg_namespace where nspname in ('warehouse', 'sync', 'bi')),
    relations as (
      select c.* from pg_class c join ours on ours.oid = c.relnamespace
      where not exists (select from pg_constraint k where k.conindid = c.oid)
        and not (c.relkind = 'S' and exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i'))
    )
    select nspname as without_comment from ours where obj_description(oid, 'pg_namespace') is null
    union all
    select oid::regclass::text from relations where obj_description(oid, 'pg_class') is null
    union all
    select format('%s.%s', c.oid::regclass, a.attname)
    from relations c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind in ('r', 'v', 'm', 'p') and col_description(c.oid, a.attnum) is null
    union all
    select p.oid::regprocedure::text from pg_proc p join ours on ours.oid = p.pronamespace
    where obj_description(p.oid, 'pg_proc') is null
    union all
    select rolname from pg_roles where rolname = 'bi_reader' and shobj_description(oid, 'pg_authid') is null`);
  expect(uncommented).toEqual([]);
});

test('docs/warehouse-tables.md is what npm run docs:warehouse writes', async () => {
  const written = await readFile(packagePath('docs', 'warehouse-tables.md'), 'utf8');
  expect(written).toBe(await warehousePage((await createWarehouse()).url));
});

/**
 * Two years of reviews and deliveries of eight products. Half of the products rate lower of late, a sixth has no review
 * yet.
 */
const twoYears = `
  with numbered as (
    select n, 'o' || n as code, 1 + n % 8 as product, now() - n * interval '36 hours' as at from generate_series(1, 480) n
  ),
  written as (
    insert into warehouse.reviews (id, created_at, updated_at, score, product_id, product_code, source, order_code)
    select n, at, at, case when n < 120 and product < 5 then 1 + n % 3 else 4 + n % 2 end, product, 'P' || product,
      (array['sms', 'email', 'app'])[1 + n % 3], code
    from numbered where n % 6 <> 0
  ),
  rated as (
    insert into warehouse.product_ratings (product_id, product_code, reviews_count, score, received_at)
    select n, 'P' || n, 50, 4, now() from generate_series(1, 8) n
  )
  insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, delivered_at)
  select code, '1', n, '{}', true, product, at - n % 5 * interval '6 days' from numbered`;

test('the eleven questions are answered with the rights of bi_reader', async () => {
  const { url, ask: insert } = await createWarehouse();
  await insert(twoYears);
  await countByHand(url);
  const client = new pg.Client({ connectionString: url, types: { getTypeParser: () => String } });
  await client.connect();
  const rows: [string, number][] = [];
  for (const { file, sql } of await readQuestions()) rows.push([file, (await ask(client, sql)).rows.length]);
  await client.end();
  expect(rows).toHaveLength(11);
  expect(rows.filter(([, length]) => length < 3)).toEqual([]);
});
