import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { columnsOf, nameOf } from '../../docs/warehouse-page/diagram.ts';
import { links } from '../../docs/warehouse-page/links.ts';
import { relationsOf, warehousePage } from '../../docs/warehouse-page/page.ts';
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

test('the links of the diagram are between columns that exist', async () => {
  const relations = await relationsOf(sample.url);
  const columns = new Map(relations.map((one) => [nameOf(one), one.columns.map((column) => column.name)]));
  const wrong = links.filter((link) => {
    const { from, to } = columnsOf(link);
    return ![...from.map((name) => [link.from, name]), ...to.map((name) => [link.to, name])].every(
      ([relation = '', name = '']) => columns.get(relation)?.includes(name),
    );
  });
  expect(wrong).toEqual([]);
});

/** One column of an answer as numbers. */
function numbers(answer: Answer | undefined, column: string): number[] {
  const at = answer?.columns.indexOf(column) ?? -1;
  return answer?.rows.map((row) => Number(row[at])) ?? [];
}
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
/** The day in the zone of the service, Asia/Seoul. */
const dayOf = (date: Date) => new Date(date.getTime() + 9 * 3_600_000).toISOString().slice(0, 10);

test('the eleven questions are answered with the rights of bi_reader', async () => {
  expect(all.size).toBe(11);
  expect([...all].filter(([, { rows }]) => rows.length < 3).map(([name]) => name)).toEqual([]);
});

test('reviews by day, month and source are those that the sample shop wrote', async () => {
  const { reviews } = sample.shop;
  const byDay = all.get('01')?.rows.map(([day, count]) => [day, Number(count)]);
  expect(byDay).toEqual(
    byDay?.map(([day]) => [day, reviews.filter((review) => dayOf(review.created_at) === day).length]),
  );
  expect(sum(numbers(all.get('05'), 'reviews'))).toBe(reviews.length);
  const [month = '', count] = all.get('06')?.rows[0] ?? [];
  expect(Number(count)).toBe(reviews.filter((review) => dayOf(review.created_at).startsWith(month.slice(0, 7))).length);
  const photos = reviews.filter((review) => (review.images_count ?? 0) > 0).length;
  const { rows } = await client.query('select sum(photo_reviews)::integer as photos from bi.reviews_by_day');
  expect(Number(rows[0].photos)).toBe(photos);
});

test('products that rate lower are compared over the newest six calendar months', async () => {
  const monthOf = (date: Date) => dayOf(date).slice(0, 7);
  const months = [...new Set(sample.shop.reviews.map(({ created_at }) => monthOf(created_at)))].sort();
  const recent = sample.shop.reviews.filter(
    ({ created_at, score }) => score !== null && months.slice(-6).includes(monthOf(created_at)),
  );
  const answer = all.get('04');
  const counts = answer?.rows.map(([, code]) => recent.filter(({ product_code }) => product_code === code).length);
  expect(numbers(answer, 'recent_ratings')).toEqual(counts);
});

test('delivered sub-orders and their reviews are those of the shop', async () => {
  const { orders, order_items: items, shipments } = sample.shop.tables;
  const delivered = new Set(shipments.filter((one) => one.delivered_at !== null).map((one) => one.shipment_no));
  const pushed = new Map(orders.filter((one) => one.removed_at === null).map((one) => [one.order_id, one]));
  const lines = items.filter((item) => {
    const order = pushed.get(item.order_id);
    return order && (order.store_no !== null || (item.shipment_no !== null && delivered.has(item.shipment_no)));
  });
  const { rows } = await client.query(
    'select sum(delivered_sub_orders) as lines, sum(reviews) as reviews from bi.reviews_per_delivered_sub_order',
  );
  const bought = sample.shop.reviews.filter((review) => review.order_code !== null);
  expect(rows).toEqual([{ lines: String(lines.length), reviews: String(bought.length) }]);
  const orders_ = await client.query('select sum(reviews) as reviews from bi.response_by_order');
  expect(orders_.rows).toEqual([{ reviews: String(bought.length) }]);
});
