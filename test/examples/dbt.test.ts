import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { dbtSources } from '../../docs/warehouse-page/dbt-sources.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { countByHand, createWarehouse } from '../harness/warehouse.ts';

const model = (file: string) => readFile(packagePath('examples', 'dbt', 'models', file), 'utf8');

test('the sources of the dbt package are those of npm run docs:warehouse, described', async () => {
  const written = await model('sources.yml');
  expect(written).toBe(await dbtSources((await createWarehouse()).url));
  const [source] = parse(written).sources;
  const described: { description: string }[] = source.tables.flatMap(
    (table: { columns: { description: string }[] }) => [table, ...table.columns],
  );
  expect(described.filter(({ description }) => description === '')).toEqual([]);
  expect(source.tables.filter((table: object) => 'freshness' in table)).toMatchObject([{ name: 'freshness' }]);
});

test('the model of the dbt package runs and has the columns that it describes', async () => {
  const { url, ask } = await createWarehouse();
  await ask(`insert into warehouse.reviews (id, created_at, updated_at, score, product_id) values
      (1, '2026-02-28 15:00Z', now(), 4, 7), (2, '2026-03-10', now(), 5, 7), (3, '2026-03-10', now(), null, 8)`);
  await ask(`insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, delivered_at)
    values ('a', '1', 1, '{}', true, 7, '2026-04-02')`);
  await countByHand(url);
  const sql = (await model('product_months.sql')).replaceAll(/\{\{ source\('review_sync', '(\w+)'\) \}\}/g, 'bi.$1');
  const rows = await ask(`select to_jsonb(m) as row from (${sql}) m order by product_id, month`);
  const [described] = parse(await model('product_months.yml')).models;
  const columns = described.columns.map(({ name }: { name: string }) => name);
  expect(rows.map(({ row }) => row)).toEqual([
    { product_id: 7, month: '2026-03-01', reviews: 2, rated_reviews: 2, average_score: 4.5, delivered_sub_orders: 0 },
    { product_id: 7, month: '2026-04-01', reviews: 0, rated_reviews: 0, average_score: null, delivered_sub_orders: 1 },
    { product_id: 8, month: '2026-03-01', reviews: 1, rated_reviews: 0, average_score: null, delivered_sub_orders: 0 },
  ]);
  expect(Object.keys(rows[0]?.row as object).sort()).toEqual([...columns].sort());
});
