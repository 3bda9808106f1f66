import { appendFile, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { runCli, runCliIn } from '../harness/cli.ts';
import { createDatabase, queryAgain } from '../harness/database.ts';
import { temporaryFolder } from '../harness/folder.ts';
import { openWorld, type World } from '../harness/world.ts';

const schemaOf = (preset: string) => readFile(join(import.meta.dirname, '..', 'presets', preset, 'schema.sql'), 'utf8');
const presetFile = (preset: string, file: string) =>
  readFile(packagePath('sql', 'shop', 'presets', preset, file), 'utf8');

/** A shop with these statements, and an empty working directory in which init is run. */
async function initWorld(sql: string) {
  const opened = await openWorld();
  onTestFinished(() => opened[Symbol.asyncDispose]());
  // Init looks at all tables of the shop's database.
  const shopUrl = await createDatabase();
  const world: World = { ...opened, shopUrl, shop: (text) => queryAgain(shopUrl, text) };
  await world.shop(sql);
  const cwd = await temporaryFolder();
  const ofShop = { SHOP_DATABASE_URL: shopUrl };
  const init = (...args: string[]) => runCliIn(cwd, ['init', ...args], ofShop);
  return { world, cwd, ofShop, init, read: (file: string) => readFile(join(cwd, file), 'utf8') };
}

test('init recognises the shop, writes queries and .env; a second run changes nothing', async () => {
  const { world, cwd, init, read } = await initWorld(`${await schemaOf('solidus')};
    insert into spree_orders values (1, 'R1', 'complete', 10, 10, now(), now(), now(), 7, 'a@example.com', 1, 2, 'paid', 'ready');
    insert into spree_line_items values (1, 1, 11, 1, 10, 0, now())`);
  const first = await init();
  expect(first).toMatchObject({ status: 0, stderr: '' });
  expect(first.stdout).toContain('The shop is Solidus 2.11 to 4.8 on Postgres (preset solidus).');
  expect(first.stdout).toContain('orders.sql fits the contract: 1 row,');
  expect(first.stdout).toContain('fill in WAREHOUSE_DATABASE_URL, REVIEW_API_BASE_URL');
  const files = ['README.md', 'categories.sql', 'changed_orders.sql', 'order_lines.sql', 'orders.sql'];
  expect((await readdir(join(cwd, 'shop-sql'))).sort()).toEqual(files);
  expect(await read('shop-sql/order_lines.sql')).toBe(await presetFile('solidus', 'order_lines.sql'));
  const env = await read('.env');
  expect(env).toContain(`SHOP_DATABASE_URL=${world.shopUrl}\n`);
  expect(env).toMatch(/^SHOP_SQL_DIR=shop-sql\n/m);
  expect(env).toMatch(/^SHOP_TIME_ZONE=UTC\n/m);
  expect((await stat(join(cwd, '.env'))).mode & 0o077).toBe(0);
  const { password } = new URL(world.shopUrl);
  expect(password).not.toBe('');
  expect(first.stdout + first.stderr).not.toContain(password);

  // The address comes from .env now. A query that somebody changed and one that somebody removed stay so.
  await appendFile(join(cwd, 'shop-sql/orders.sql'), '-- ours\n');
  await rm(join(cwd, 'shop-sql/categories.sql'));
  const second = await runCliIn(cwd, ['init'], parseEnv(env) as Record<string, string>);
  expect(second).toMatchObject({ status: 0, stderr: '' });
  expect(second.stdout).toContain('Left as they are in shop-sql');
  expect(second.stdout).toContain('.env has all that init would write.');
  expect(await read('shop-sql/orders.sql')).toMatch(/-- ours\n$/);
  expect(await readdir(join(cwd, 'shop-sql'))).not.toContain('categories.sql');
  expect(await read('.env')).toBe(env);

  expect(await init('--force')).toMatchObject({ status: 0 });
  expect(await read('shop-sql/orders.sql')).toBe(await presetFile('solidus', 'orders.sql'));
});

test('of two shops in one database --prefix takes the other', async () => {
  const schema = await schemaOf('solidus');
  const { init, ofShop, read } = await initWorld(`${schema}; ${schema.replaceAll('spree_', 'eu_spree_')}`);
  const first = await init();
  expect(first.stdout).toContain('(preset solidus)');
  expect(first.stdout).toContain("review-sync init --preset solidus --prefix 'eu_' --force");
  const second = await init('--preset', 'solidus', '--prefix', 'eu_', '--force');
  expect(second).toMatchObject({ status: 0, stderr: '' });
  expect(second.stdout).toContain('prefix eu_ (preset solidus)');
  expect(await read('shop-sql/categories.sql')).toContain('from eu_spree_taxons t');
  for (const [options, said] of [
    ['--prefix us_', 'No tables of a known shop system have the prefix "us_"'],
    ['--preset opencart4', 'There is no preset opencart4 for a shop on Postgres'],
  ] as const)
    expect((await runCli(['init', ...options.split(' ')], ofShop)).stderr).toContain(said);
});

test('an unknown shop gets the template; a preset that does not fit is a fault', async () => {
  const { cwd, ofShop, init, read } = await initWorld('create table something (id integer)');
  const end = await runCliIn(cwd, ['init'], { ...ofShop, SHOP_SQL_DIR: 'mine' });
  expect(end).toMatchObject({ status: 0, stdout: expect.stringContaining('those of no known shop system') });
  expect(await read('mine/orders.sql')).toBe(await readFile(packagePath('sql', 'shop', 'orders.sql'), 'utf8'));
  const forced = await init('--preset', 'saleor', '--force');
  expect(forced).toMatchObject({ status: 1, stdout: expect.stringContaining('relation "order_order" does not exist') });
});

test('a command that init for a brand advises is accepted', async () => {
  const { cwd, ofShop } = await initWorld('create table things (id integer)');
  const init = (...more: string[]) =>
    runCliIn(cwd, ['init', '--brand', 'nord', ...more], { ...ofShop, BRANDS_DIR: 'brands' });
  const [first, second] = [await init(), await init()];
  // It reads the shop of .env.
  expect(first.stdout).not.toContain('reference-service');
  const steps = first.stdout.slice(first.stdout.indexOf('Next:'));
  expect(steps).toMatch(/write SCHEDULE_ORDERS= into .*nord\.env.* review-sync migrate.* sync orders --dry-run/s);
  const [, command] = /^To replace them: review-sync init --brand nord (--force)$/m.exec(second.stdout) ?? [];
  expect(await init(command ?? '')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('Wrote the commented'),
  });
});

test('init says what is missing or wrong and writes nothing, and lists the presets', async () => {
  const none = await runCli(['init'], {});
  expect(none).toMatchObject({ status: 2, stdout: '' });
  expect(none.stderr).toContain('SHOP_DATABASE_URL is missing');

  const { world, cwd, ofShop, init } = await initWorld('select 1');
  const end = await init();
  expect(end).toMatchObject({ status: 1, stdout: '' });
  expect(end.stderr).toMatch(
    /^review-sync: The user of SHOP_DATABASE_URL sees no table; nothing was written\.\n→ Grant/,
  );
  expect(await readdir(cwd)).toEqual([]);
  await world.shop('create table something (id integer)');
  const unknown = await runCli(['init', '--preset', 'shopify'], ofShop);
  expect(unknown).toMatchObject({ status: 2, stdout: '' });
  expect(unknown.stderr).toMatch(/no preset shopify for a shop on Postgres\n.*\bsaleor,.*\bsolidus\b/);

  const { stdout } = await runCli(['init', '--list'], {});
  expect(stdout).toMatch(/^solidus +Postgres +Solidus 2\.11 to 4\.8.* never run$/m);
  expect(stdout).toMatch(/^opencart4 .* 4\.1\.0\.3$/m);
  const listed = JSON.parse((await runCli(['init', '--list', '--json'], {})).stdout);
  const folders = await readdir(packagePath('sql', 'shop', 'presets'));
  expect(listed.map(({ name }: { name: string }) => name)).toEqual(folders.sort());
});
