import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadOlist } from '../../examples/olist/load.ts';
import { type OlistReview, olistReviews } from '../../examples/olist/reviews.ts';
import { UsageError } from '../../src/base/errors.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { olist } from '../../src/sandbox/demo/sources.ts';
import { replaceParameter } from '../../src/shop/sql-text.ts';
import { createDatabase, query } from '../harness/database.ts';
import { openWorld } from '../harness/world.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'review-sync-olist-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The rows of a query of the example. */
async function runQuery(url: string, name: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(packagePath('examples', 'olist', `${name}.sql`), 'utf8');
  return query(url, replaceParameter(text, 'since', `'-infinity'::timestamptz`, 'postgres').text);
}

/** Three orders in the form of the full public data set: ISO times, review ids, comments with quoted line breaks. */
const writeAll = () => cp(join(import.meta.dirname, 'olist'), folder, { recursive: true });

describe('the full data set, in small', () => {
  let url: string;
  let reviews: OlistReview[];

  beforeAll(async () => {
    await writeAll();
    url = await createDatabase();
    expect(await loadOlist(url, folder)).toEqual({ orders: 3, lines: 3, reviews: 4 });
    reviews = await Array.fromAsync(olistReviews(url));
  });

  test('the queries give moments of local times, amounts paid, and ids of products', async () => {
    const orders = await runQuery(url, 'orders');
    const created_at = new Date('2017-10-02T13:56:33Z');
    expect(orders).toContainEqual({ code: 'o1', created_at, total_price: '38.71', user_code: 'person-a' });
    // Without payments an order costs its items.
    expect(orders).toContainEqual(expect.objectContaining({ code: 'o2', total_price: '110.50' }));
    expect(Number(orders.find(({ code }) => code === 'o3')?.total_price)).toBe(0);
    // Each moment of an order is a change of it.
    const changes = await runQuery(url, 'changed_orders');
    const dates = changes.filter((row) => row.code === 'o1').map((row) => (row.changed_at as Date).toISOString());
    expect(dates.toSorted().at(-1)).toBe('2017-10-20T23:25:13.000Z');
    const lines = await runQuery(url, 'order_lines');
    expect(lines.map((row) => [row.order_code, row.line_code, row.product_id, row.status]).sort()).toEqual([
      ['o1', '1', '2', 'delivery_finished'],
      ['o1', '2', '1', 'delivery_finished'],
      ['o2', '1', '3', 'delivery_started'],
    ]);
    const categories = await runQuery(url, 'categories');
    expect(categories).toContainEqual({ code: 'pc_gamer', name: 'pc_gamer' });
    expect(categories).toContainEqual({ code: 'beleza_saude', name: 'health_beauty' });
  });

  test('each row of the reviews is a review, quoted line breaks and shared ids included', () => {
    const of = { a: { user_code: 'person-a', product_id: 2, product_code: 'prod-b' }, b: { user_code: 'person-b' } };
    const comment = 'recomendo\nMuito bom,\nchegou "antes" do prazo';
    const june = { created_at: '2018-06-01T00:00:00-03:00', message: '(no comment)', score: 4 };
    expect(reviews).toEqual([
      { code: 'o1:1', created_at: '2017-10-21T00:00:00-02:00', message: comment, score: 5, ...of.a },
      { code: 'o1:2', ...june, ...of.a },
      { code: 'o2:1', ...june, ...of.b, product_id: 3, product_code: 'prod-c' },
      { code: 'o3:1', created_at: '2018-06-02T00:00:00-03:00', message: 'Não recebi', score: 1, ...of.b },
    ]);
  });

  test('as the demo brings them, its orders, lines and reviews are at both ends once', async () => {
    const { sqlDir, timeZone, fill, writeReviews } = olist(folder);
    const zones = { SHOP_TIME_ZONE: timeZone, REVIEW_API_TIME_ZONE: timeZone };
    const environment = { SHOP_SQL_DIR: sqlDir, REVIEW_YEARS_FROM: '2016', ...zones };
    await using world = await openWorld({ shop: 'empty', service: { timeZone }, environment });
    await fill(world.shopUrl, world.serviceDatabaseUrl);
    await writeReviews?.((await world.openApp()).api, world.shopUrl, () => {});
    for (const job of ['sync-reviews', 'sync-catalog', 'sync-orders'])
      expect(await world.run(job)).toMatchObject({ outcome: 'done' });
    const codes = async (table: string) =>
      (await world.atService(`select code from reference_service.${table} order by code`)).map(({ code }) => code);
    expect([await codes('orders'), await codes('reviews')]).toEqual([
      ['o1', 'o2', 'o3'],
      ['o1:1', 'o1:2', 'o2:1', 'o3:1'],
    ]);
    expect(await world.atService('select from reference_service.sub_orders')).toHaveLength(3);
    expect(await world.warehouse('select from sync.sub_order_links')).toHaveLength(3);
    expect(await world.warehouse('select from warehouse.reviews')).toHaveLength(4);
  });

  test('tables that are there are left alone unless they are to be replaced', async () => {
    await expect(loadOlist(url, folder)).rejects.toThrow(UsageError);
    expect(await loadOlist(url, folder, { replace: true })).toEqual({ orders: 3, lines: 3, reviews: 4 });
  });

  test('a file that is not as expected is refused by file, line and column', async () => {
    const empty = await createDatabase();
    const file = 'olist_order_payments_dataset.csv';
    for (const [text, refusal] of [
      ['order_id,payment_value\no1,1\n', 'lacks payment_sequential'],
      ['order_id,payment_sequential,payment_value\no1,1,1\no1,2,ten\n', ', line 3: payment_value is "ten"'],
      [undefined, 'cannot be read'],
    ] as const) {
      if (text === undefined) await rm(join(folder, file));
      else await writeFile(join(folder, file), text);
      await expect(loadOlist(empty, folder)).rejects.toThrow(new RegExp(`${file} ?${refusal}`));
    }
    await writeAll();
    expect(await loadOlist(empty, folder)).toEqual({ orders: 3, lines: 3, reviews: 4 });
  });

  test('an edition with American dates, another header and no comments is read too', async () => {
    const head = 'review_pk,order_id,review_score,review_creation_date,review_answer_timestamp';
    const some = `${head}\n1,o1,5,4/8/2017 0:00,4/13/2017 16:42\n`;
    const names = 'product_category_namept,product_category_name_english\nbeleza_saude,health_beauty\n';
    await writeFile(join(folder, 'olist_order_reviews_dataset.csv'), some);
    await writeFile(join(folder, 'product_category_name_translation.csv'), names);
    expect(await loadOlist(url, folder, { replace: true })).toMatchObject({ reviews: 1 });
    const [only] = await Array.fromAsync(olistReviews(url));
    expect(only).toMatchObject({ code: 'o1:1', created_at: '2017-04-08T00:00:00-03:00', message: '(no comment)' });
    expect(await runQuery(url, 'categories')).toContainEqual({ code: 'beleza_saude', name: 'health_beauty' });
    await writeAll();
  });
});
