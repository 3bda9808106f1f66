import { mkdir, readFile, rm, rmdir, truncate, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startCli, until } from '../harness/cli.ts';
import { countByHand } from '../harness/warehouse.ts';
import {
  type ExportWorld,
  expectSameAsWarehouse,
  insertReviews,
  monthFile,
  openExportWorld,
  writtenMonths,
} from './export-world.ts';

let lake: ExportWorld;
/** Changes rows by hand and counts them. Every month has a new version then, and is written again. */
async function change(text: string): Promise<void> {
  await lake.world.warehouse(text);
  await countByHand(lake.world.warehouseUrl);
}

beforeAll(async () => {
  lake = await openExportWorld({ sync: false });
});
afterAll(() => lake[Symbol.asyncDispose]());

/**
 * Three months of reviews and of orders, exported. The tests of this file share one warehouse: each begins with these
 * rows.
 */
beforeEach(async () => {
  for (const table of ['warehouse.reviews', 'sync.sub_order_links', 'sync.order_links', 'sync.product_links'])
    await lake.world.warehouse(`delete from ${table}`);
  await insertReviews(lake, [
    { id: 1, created_at: '2026-01-10T00:00:00Z', score: 1 },
    { id: 2, created_at: '2026-01-20T00:00:00Z', score: 2, user_name: '김하늘', message: '좋아요' },
    { id: 3, created_at: '2026-02-10T00:00:00Z', score: 3 },
    { id: 4, created_at: '2026-03-10T00:00:00Z', score: 4 },
  ]);
  await lake.world.warehouse(
    `insert into sync.order_links (order_code, ordered_at) values ('jan', '2026-01-05'), ('feb', '2026-02-05'), ('mar', '2026-03-05')`,
  );
  await change(
    `insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, status) values
      ('jan', '1', 1, '{"price": "10"}', true, 7, 'paid'), ('feb', '1', 2, '{"price": "20"}', true, 8, 'paid'),
      ('mar', '1', 3, '{"price": "30"}', true, 7, 'paid')`,
  );
  await lake.export();
});

test('no file changes under a manifest that calls the old export complete', async () => {
  const file = monthFile('reviews', '2026-02');
  const before = (await lake.files()).get(file);
  await change(`update warehouse.reviews set score = 5 where id = 3`);
  // Neither the manifest nor a file can be written.
  for (const [name, part] of [
    ['manifest.json', join(lake.dir, '.manifest.json.part')],
    [file, join(lake.dir, file, '..', '.data.parquet.part')],
  ] as const) {
    await mkdir(part);
    const end = await lake.world.cli('export parquet --to', lake.dir);
    expect(end.stderr).toMatch(new RegExp(`/${name} could not be written: .*\n.*Run this again`));
    expect([end.status, (await lake.files()).get(file)]).toEqual([1, before]);
    await rmdir(part);
  }
  expect((await lake.export()).written.map(({ path }) => path)).toContain(file);
});

test('a second run writes only months that are truncated, missing or of a dead export', async () => {
  const before = await lake.files();
  const isMonth = (path: string) => path.includes('month=');
  const report = await lake.export();
  expect([writtenMonths(report), report.removed]).toEqual([[], []]);
  const months = (files: Map<string, number>) => [...files].filter(([path]) => isMonth(path));
  expect(months(await lake.files())).toEqual(months(before));
  const [first = '', second = ''] = ['2026-01', '2026-02'].map((month) => monthFile('reviews', month));
  await truncate(join(lake.dir, first), 100);
  await unlink(join(lake.dir, second));
  expect(writtenMonths(await lake.export())).toEqual([first, second]);
  await expectSameAsWarehouse(lake);

  const manifest = await lake.manifest();
  const file = manifest.files[first];
  const died = { ...manifest, complete: false, files: { ...manifest.files, [first]: { ...file, version: null } } };
  await writeFile(join(lake.dir, 'manifest.json'), JSON.stringify(died));
  await writeFile(join(lake.dir, first), Buffer.alloc(file?.bytes ?? 0));
  expect(writtenMonths(await lake.export())).toEqual([first]);
  await expectSameAsWarehouse(lake);
});

test('when an upgrade changes a view, each of its months is written again', async () => {
  const months = ['2026-01', '2026-02', '2026-03'].map((month) => monthFile('reviews', month));
  /** The same columns, computed otherwise. */
  const photos = (from: boolean, to: boolean) =>
    `do $$ begin execute 'create or replace view bi.reviews as '
      || replace(pg_get_viewdef('bi.reviews'), '${from}) AS has_photo', '${to}) AS has_photo'); end $$`;
  for (const upgrade of [photos(false, true), photos(true, false)]) {
    await lake.world.warehouse(upgrade);
    expect(writtenMonths(await lake.export())).toEqual(months);
    await expectSameAsWarehouse(lake);
  }
});

test('the file of a month that became empty goes, and files of others stay', async () => {
  const note = join(lake.dir, 'reviews', 'month=2026-03', 'note.txt');
  await writeFile(note, 'mine');
  await change(`delete from warehouse.reviews where id in (3, 4)`);
  expect(await lake.export()).toMatchObject({
    removed: [monthFile('reviews', '2026-02'), monthFile('reviews', '2026-03')],
  });
  const files = [...(await lake.files()).keys()].filter((path) => path.startsWith('reviews/'));
  expect(files).toEqual([monthFile('reviews', '2026-01'), 'reviews/month=2026-03/note.txt']);
  expect(await readFile(note, 'utf8')).toBe('mine');
  await rm(join(lake.dir, 'reviews', 'month=2026-03'), { recursive: true });
  await expectSameAsWarehouse(lake);
  const next = await lake.export();
  expect([writtenMonths(next), next.removed]).toEqual([[], []]);
});

test('forget user rewrites the months of what the customer wrote and commented on', async () => {
  const comments = [{ user_code: 'kim', created_at: '2026-02-20T00:00:00Z' }, { id: 2 }];
  await change(`update warehouse.reviews set user_code = 'kim', order_code = 'jan' where id = 2;
    update warehouse.reviews set extra = '${JSON.stringify({ comments })}' where id = 3`);
  await lake.export();
  const end = await lake.world.says('forget user kim --apply', 'export parquet');
  expect(end.status).toBe(0);
  const months = [monthFile('reviews', '2026-01'), monthFile('replies', '2026-02')];
  expect(writtenMonths(await lake.export())).toEqual(expect.arrayContaining(months));
  const from = (table: string, id: number) =>
    `from read_parquet('${lake.dir}/${table}/*/*.parquet') where review_id = ${id}`;
  const review = `select message_length, is_by_member, order_key ${from('reviews', 2)}`;
  expect(await lake.duck.rows(review)).toEqual([[null, false, null]]);
  expect(await lake.duck.rows(`select replied_at ${from('replies', 3)}`)).toEqual([[null], [null]]);
});

test('an export that is killed before the manifest is finished by the next one', async () => {
  const { world, dir } = lake;
  await insertReviews(lake, [{ id: 10, created_at: '2026-05-10T00:00:00Z' }]);
  await change('update warehouse.reviews set score = 5 where id = 2');
  // The months are at their places when the export comes to this table, whose file it never gets open.
  const hanging = `import files from 'node:fs/promises';
    import { syncBuiltinESMExports } from 'node:module';
    const { open } = files;
    files.open = (path, ...rest) =>
      String(path).includes('product_ratings') ? new Promise(() => setInterval(() => {}, 1e6)) : open(path, ...rest);
    syncBuiltinESMExports();`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(hanging)}`;
  const dying = startCli(['export', 'parquet', '--to', dir], { ...world.environment, NODE_OPTIONS });
  await until(async () => (await lake.files()).has(monthFile('reviews', '2026-05')));
  await until(async () => (await locks()) > 0);

  // Meanwhile: a second export does not begin, and a review lands in a month that the first one has passed.
  expect(await lake.world.cli('export parquet --to', dir)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('another session holds a lock'),
  });
  await change('update warehouse.reviews set score = 1 where id = 4');
  const during = await lake.manifest();
  expect(during).toMatchObject({ complete: false, files: { [monthFile('reviews', '2026-01')]: { version: null } } });
  dying.kill('SIGKILL');
  await dying.ended;
  await until(async () => (await locks()) === 0);

  // No manifest names the file of May, and its rows are gone: it must not stay.
  await change('delete from warehouse.reviews where id = 10');
  const report = await lake.export();
  expect(report.removed).toEqual([monthFile('reviews', '2026-05')]);
  expect(writtenMonths(report)).toEqual(
    expect.arrayContaining([monthFile('reviews', '2026-01'), monthFile('reviews', '2026-03')]),
  );
  expect(await lake.manifest()).toMatchObject({ complete: true });
  await expectSameAsWarehouse(lake);
});

/** Transactions of exports that are open. */
async function locks(): Promise<number> {
  const open = `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`;
  return (await lake.world.warehouse(open)).length;
}
