import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { warehousePage } from '../../docs/warehouse-page/page.ts';
import { type Answer, ask, readQuestions } from '../../docs/warehouse-page/questions.ts';
import { openSampleWarehouse, type SampleWarehouse } from '../../docs/warehouse-page/sample-warehouse.ts';
import { packagePath } from '../../src/base/package-path.ts';

const opened = new AsyncDisposableStack();
let sample: SampleWarehouse;
let client: pg.Client;
/** The answer to each question, by its number. */
const all = new Map<string, Answer>();
beforeAll(async () => {
  sample = await openSampleWarehouse(opened);
  client = new pg.Client({ connectionString: sample.url, types: { getTypeParser: () => String } });
  await client.connect();
  opened.defer(() => client.end());
  for (const { file, sql } of await readQuestions()) all.set(file.slice(0, 2), await ask(client, sql));
});
afterAll(() => opened.disposeAsync());

test('everything of ours in the database has a comment', async () => {
  const { rows } = await client.query(`
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
  expect(rows).toEqual([]);
});

test('docs/warehouse-tables.md is what npm run docs:warehouse writes', async () => {
  const written = await readFile(packagePath('docs', 'warehouse-tables.md'), 'utf8');
  expect(written).toBe(await warehousePage(sample.url));
});

test('the eleven questions are answered with the rights of bi_reader', async () => {
  expect(all.size).toBe(11);
  expect([...all].filter(([, { rows }]) => rows.length < 3).map(([name]) => name)).toEqual([]);
});
