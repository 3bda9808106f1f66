import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { insertReviews, openExportWorld } from '../export/export-world.ts';
import { runCli } from '../harness/cli.ts';
import { temporaryFolder } from '../harness/folder.ts';
import { countByHand } from '../harness/warehouse.ts';

/** A folder beside the export, with a file that no export may change. */
let outside: string;
beforeEach(async () => {
  outside = await temporaryFolder();
  await writeFile(join(outside, 'data.parquet'), 'precious');
});

const precious = async () => [await readdir(outside), await readFile(join(outside, 'data.parquet'), 'utf8')];
const untouched = [['data.parquet'], 'precious'];

async function openLake() {
  const lake = await openExportWorld({ sync: false });
  await insertReviews(lake, [{ id: 1, created_at: '2026-01-10T00:00:00Z', score: 1 }]);
  await countByHand(lake.world.warehouseUrl);
  await lake.export();
  const change = () => lake.world.warehouse('update warehouse.reviews set score = 6 - score');
  const again = () => runCli(['export', 'parquet', '--to', lake.dir], lake.world.environment);
  return Object.assign(lake, { change, again, month: join(lake.dir, 'reviews', 'month=2026-01') });
}

test('an export follows no link, neither for its temporary files nor for a month', async () => {
  await using lake = await openLake();
  await lake.change();
  for (const path of [join(lake.month, '.data.parquet.part'), join(lake.dir, '.manifest.json.part')]) {
    await symlink(join(outside, 'data.parquet'), path);
  }
  expect(await lake.again()).toMatchObject({ status: 0 });
  expect(await precious()).toEqual(untouched);

  await lake.change();
  await rm(lake.month, { recursive: true });
  await symlink(outside, lake.month);
  expect(await lake.again()).toMatchObject({ status: 2, stderr: expect.stringContaining('outside of') });
  await lake.world.warehouse('delete from warehouse.reviews');
  expect(await lake.again()).toMatchObject({ status: 2 });
  expect(await precious()).toEqual(untouched);
});

test('an export deletes nothing that a changed manifest names, and refuses a pipe', async () => {
  await using lake = await openLake();
  const path = join(lake.dir, 'manifest.json');
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  const away = `reviews/month=../../../${outside.split('/').at(-1)}/data.parquet`;
  for (const changed of [away, 'reviews/month=2001-99/data.parquet']) {
    await writeFile(path, JSON.stringify({ ...manifest, files: { ...manifest.files, [changed]: {} } }));
    expect(await lake.again()).toMatchObject({ status: 0 });
    expect(JSON.parse(await readFile(path, 'utf8')).files).not.toHaveProperty([changed]);
  }
  await rm(path);
  execFileSync('mkfifo', [path]);
  expect(await lake.again()).toMatchObject({ status: 2, stderr: expect.stringContaining('manifest.json is no file') });
  expect(await precious()).toEqual(untouched);
});

test('an export to a path that cannot exist ends with a sentence', async () => {
  await using lake = await openLake();
  const file = join(outside, 'data.parquet');
  // Linux refuses any folder in /proc as one that is not there, although /proc is.
  const refused = process.platform === 'linux' ? ['/proc/nope', '/proc/nope/below'] : [];
  for (const [words, folders] of [
    ['cannot be made a folder', [join(file, 'below', 'a-file'), ...refused]],
    ['expected a folder of this machine', ['s3://bucket/lake', ' ']],
  ] as const)
    for (const to of folders)
      expect(await runCli(['export', 'parquet', '--to', to], lake.world.environment)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining(words),
      });
  const alone = { WAREHOUSE_DATABASE_URL: lake.world.warehouseUrl };
  await mkdir(join(outside, 'new'));
  const deep = join(outside, 'new', 'a', 'b');
  expect(await runCli(['export', 'parquet', '--to', deep], alone)).toMatchObject({ status: 0 });
});
