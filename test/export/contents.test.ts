import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countByHand } from '../harness/warehouse.ts';
import { type ExportWorld, expectSameAsWarehouse, insertReviews, openExportWorld } from './export-world.ts';

/** The export of a synced sample shop. */
let lake: ExportWorld;
beforeAll(async () => {
  lake = await openExportWorld({ sync: true });
});
afterAll(() => lake[Symbol.asyncDispose]());

test('DuckDB reads from the files exactly the rows of the views, and no member', async () => {
  const { world, dir, duck } = lake;
  const begun = Date.now();
  const { tables, takenAt, written } = await lake.export();
  const manifest = await lake.manifest();
  expect(manifest).toMatchObject({ takenAt, timeZone: 'Asia/Seoul' });
  expect(written).toEqual(Object.entries(manifest.files).map(([path, { rows, bytes }]) => ({ path, rows, bytes })));
  expect(Date.parse(takenAt)).toBeGreaterThanOrEqual(begun);
  expect(tables).toMatchObject([
    { table: 'reviews', rows: 200 },
    { table: 'sub_orders', rows: expect.toSatisfy((rows: number) => rows > 25) },
    { table: 'replies', rows: 0 },
    { table: 'product_ratings' },
    { table: 'coverage_by_day' },
    { table: 'freshness', files: 1, rows: 1 },
  ]);
  await expectSameAsWarehouse(lake);

  const members = await world.warehouse<{ word: string }>(
    `select distinct word from warehouse.reviews
    cross join lateral unnest(array[user_name, user_code, message, order_code, sub_order_code, code]) as word
    where length(word) >= 2
    union select order_code from sync.order_links`,
  );
  expect(members.length).toBeGreaterThan(300);
  const texts = new Set<unknown>();
  for (const table of ['reviews', 'sub_orders', 'product_ratings']) {
    const rows = await duck.rows(`select columns(*)::varchar from read_parquet('${dir}/${table}/**/*.parquet')`);
    for (const text of rows.flat()) texts.add(text);
  }
  expect(members.map(({ word }) => word).filter((word) => texts.has(word))).toEqual([]);
});

test('an empty warehouse has no months, and odd values come back', async () => {
  await using lake = await openExportWorld({ sync: false });
  // The folder of an export that died at once.
  await writeFile(join(lake.dir, '.manifest.json.part'), '{');
  const { written } = await lake.export();
  const tables = ['coverage_by_day', 'freshness', 'product_ratings'];
  expect(written.map(({ path }) => path).sort()).toEqual(tables.map((table) => `${table}/data.parquet`));
  await expectSameAsWarehouse(lake);
  const huge = '크'.repeat(100_000);
  await insertReviews(lake, [
    { created_at: '2026-03-01T00:00:00.123456Z', score: null, product_id: '9223372036854775807', product_code: '' },
    {
      created_at: '2026-03-02T00:00:00Z',
      score: 1,
      product_code: '👩‍👩‍👧‍👦 "quoted", \\ and\nlines',
      tag_name: '\uffff',
    },
    { created_at: '2026-02-28T14:59:59.999999Z', store_name: huge, product_id: '-9223372036854775808' },
    { created_at: '2026-02-28T15:00:00Z', store_name: 'ä', tag_name: 'null' },
  ]);
  // Postgres holds infinity, which no file can.
  await insertReviews(lake, [{ created_at: '2026-03-05T00:00:00Z', updated_at: 'infinity' }]);
  await lake.world.warehouse(
    `insert into sync.order_links (order_code, ordered_at) values
      ('b', '2026-03-31 15:00:00+00'), ('c', null)`,
  );
  await lake.world.warehouse(
    `insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, status, delivered_at) values
      ('b', '1', 2, '{"price": "-90000000000000.123456789"}', true, 5, '', '2026-04-01'),
      ('b', '2', null, '{"price": "7"}', true, 5, 'pending', null),
      ('c', '1', 3, '{}', true, 9007199254740993, null, '2026-04-02 23:59:59.999999+00')`,
  );
  await countByHand(lake.world.warehouseUrl);
  await lake.export();
  await expectSameAsWarehouse(lake);
  expect([...(await lake.files()).keys()].filter((path) => path.includes('month='))).toEqual(
    [
      'reviews/month=2026-02',
      'reviews/month=2026-03',
      'sub_orders/month=2026-04',
      'sub_orders/month=__HIVE_DEFAULT_PARTITION__',
    ].map((folder) => `${folder}/data.parquet`),
  );
  const unknown = await lake.duck.rows(
    `select product_id from read_parquet('${lake.dir}/sub_orders/*/*.parquet') where month is null`,
  );
  expect(unknown).toEqual([['9007199254740993']]);
});

test('the folder of something else, or of another warehouse, is refused', async () => {
  await lake.export();
  const refused = async (dir: string, why: RegExp) => {
    const end = await lake.world.cli('export parquet --to', dir);
    expect(end).toMatchObject({ status: 2, stderr: expect.stringMatching(why) });
  };
  await lake.world.warehouse(`update sync.settings set order_salt = 'that of another warehouse'`);
  await refused(lake.dir, /is the export of another warehouse/);
  const other = join(lake.dir, 'other');
  await mkdir(other);
  const note = join(other, 'notes.txt');
  await writeFile(note, 'mine');
  await refused(other, /is no export of review-sync and not empty \(it holds notes\.txt\).*Name an empty folder/s);
  await writeFile(join(other, 'manifest.json'), '{"format": "something else"}');
  await refused(other, /is not the manifest of an export/);
  await writeFile(join(other, 'manifest.json'), '{"format": "review-sync parquet export", "formatVersion": 2}');
  await refused(other, /is not the manifest of an export of this version/);
  expect(await readFile(note, 'utf8')).toBe('mine');
  expect(await lake.world.cli('export parquet')).toMatchObject({ status: 2 });
});
