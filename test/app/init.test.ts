import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { checkZone } from '../../src/app/doctor/check-service.ts';
import { completeEnvFile } from '../../src/app/init/init-shop.ts';
import { asNamedHere, type Preset, presetFolder, readPresets, recognise } from '../../src/app/init/presets.ts';
import { renameTables } from '../../src/shop/sql-text.ts';
import { temporaryFolder } from '../harness/folder.ts';

const preset = (name: string, tables: Preset['tables'], more: Partial<Preset> = {}): Preset => ({
  name,
  title: name,
  database: 'mysql',
  prefix: 'wp_',
  tables,
  ...more,
});
const table = (name: string, ...columns: string[]) => ({ name, columns, schema: undefined });
const fits = (presets: Preset[], ...tables: ReturnType<typeof table>[]) =>
  recognise(presets, tables).map((one) => [one.preset.name, one.prefix]);

test('a system is recognised by its tables under one prefix, a version by its columns', () => {
  const woo = preset('woo', { wp_orders: ['id'], wp_items: [] });
  expect(fits([woo], table('wp_orders', 'id'), table('wp_items'))).toEqual([['woo', 'wp_']]);
  expect(fits([woo], table('x7_orders', 'id'), table('x7_items'))).toEqual([['woo', 'x7_']]);
  expect(fits([woo], table('orders', 'id'), table('items'))).toEqual([['woo', '']]);
  const named = (prefix: string) => asNamedHere('from wp_orders, wp_items', { preset: woo, prefix, schema: undefined });
  expect(['wp_', 'x7_', ''].map(named)).toEqual(
    ['wp_orders, wp_items', 'x7_orders, x7_items', 'orders, items'].map((names) => `from ${names}`),
  );
  expect(fits([woo], table('x7_orders', 'id'), table('x8_items'))).toEqual([]);
  expect(fits([woo], table('wp_orders'), table('wp_items'))).toEqual([]);
  // A column that only a later version has tells the earlier one apart.
  const [old, recent] = [preset('old', { wp_orders: ['!status'] }), preset('recent', { wp_orders: ['status'] })];
  expect(fits([old, recent], table('wp_orders', 'id'))).toEqual([['old', 'wp_']]);
  expect(fits([old, recent], table('wp_orders', 'id', 'status'))).toEqual([['recent', 'wp_']]);
});

test('tables are renamed as whole words outside of texts, words of SQL only in quotes', () => {
  const renames = new Map(Object.entries({ wp_items: 'X_items', order: 'x_order' }));
  const renamed = (sql: string, dialect: 'mysql' | 'postgres', schema?: string) =>
    renameTables(sql, { names: ['order', 'wp_items'], renames, schema }, dialect);
  expect(renamed("select i.wp_items, 'wp_items' from wp_items i -- wp_items\norder by wp_items_id", 'mysql')).toBe(
    "select i.wp_items, 'wp_items' from `X_items` i -- wp_items\norder by wp_items_id",
  );
  expect(renamed('select 1 from `order` o join wp_items order by 1', 'mysql')).toBe(
    'select 1 from `x_order` o join `X_items` order by 1',
  );
  expect(renamed('select 1 from "order" o, wp_items', 'postgres', 'My shop')).toBe(
    'select 1 from "My shop"."x_order" o, "My shop"."X_items"',
  );
});

test('a table whose name has a quote or a space gets into no query and no command', () => {
  const woo = preset('woo', { wp_orders: [] });
  for (const prefix of ['x`; drop table y; ', 'x" ', "x'$(id)'", 'x-y_']) {
    expect(fits([woo], table(`${prefix}orders`))).toEqual([]);
    const tables = [{ ...table('orders'), schema: prefix }];
    expect(recognise([woo], tables)).toEqual([]);
  }
  expect(fits([woo], table('x$_orders'))).toEqual([['woo', 'x$_']]);
  const names = { names: ['wp_orders'], renames: new Map([['wp_orders', 'a`b']]), schema: 'c`d' };
  expect(renameTables('select 1 from wp_orders, `wp_orders`', names, 'mysql')).toBe(
    'select 1 from `c``d`.`a``b`, `c``d`.`a``b`',
  );
});

test('.env gets only what it lacks, as it is read back, for its owner alone', async () => {
  const file = join(await temporaryFolder(), '.env');
  const line = (name: string, value: string) => ({ name, value, comment: `about ${name}` });
  const values = { A: 'postgres://u:p%23@h/d?x=1', B: 'a b # c', C: `it's`, D: '', E: '/shop#1/orders.sql' };
  const lines = Object.entries(values).map(([name, value]) => line(name, value));
  expect(await completeEnvFile(file, lines)).toEqual(['A', 'B', 'C', 'D', 'E']);
  expect(parseEnv(await readFile(file, 'utf8'))).toEqual(values);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await completeEnvFile(file, [line('A', 'other')])).toEqual([]);
  await writeFile(file, 'A=1');
  await chmod(file, 0o644);
  expect(await completeEnvFile(file, [line('A', '2'), line('B', '3')])).toEqual(['B']);
  expect(await readFile(file, 'utf8')).toBe('A=1\n\n# about B\nB=3\n');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await writeFile(file, '\uFEFFA=1\n');
  expect(await completeEnvFile(file, [line('A', '2')])).toEqual([]);
  await expect(completeEnvFile(file, [line('C', `'"\``)])).rejects.toThrow(
    'The value of C cannot be written into .env',
  );
  await expect(completeEnvFile(tmpdir(), [])).rejects.toThrow(`${tmpdir()} cannot be read`);
});

test.each<[date: string | null, zone: string, said: RegExp]>([
  ['2026-07-01T12:00:00+09:00', 'Asia/Seoul', /^ok: its timestamps have the offset of Asia\/Seoul$/],
  ['2026-07-01T12:00:00+02:00', 'Europe/Paris', /^ok/],
  ['2026-01-01T12:00:00+02:00', 'Europe/Paris', /^fault: .* the offset \+02:00, but Europe\/Paris had \+01:00 at/],
  ['2026-07-01T12:00:00Z', 'Europe/Paris', /^fault: .* the offset \+00:00, but Europe\/Paris had \+02:00 at/],
  [null, 'UTC', /^warning: .* no offset/],
  ['odd', 'UTC', /^warning/],
  ['2026-01-01T12:00:00', 'UTC', /^warning/],
  ['2026-01-01 12:00:00 +0900', 'Asia/Seoul', /^ok/],
  ['2026-01-01T12:00:00+09', 'UTC', /^fault/],
])('a review of %s shows whether %s is the zone of the service', (date, zone, said) => {
  const { level, what } = checkZone(date, zone);
  expect(`${level}: ${what}`).toMatch(said);
});

test('each preset has its files, and names the tables that its queries read', async () => {
  for (const preset of await readPresets()) {
    const files = await readdir(presetFolder(preset.name));
    expect(files, preset.name).toEqual(expect.arrayContaining(['README.md', 'orders.sql', 'order_lines.sql']));
    const texts = files
      .filter((file) => file.endsWith('.sql'))
      .map((file) => readFile(join(presetFolder(preset.name), file), 'utf8'));
    const queries = [...(await Promise.all(texts)), preset.onlyWhere ?? '', preset.timeZoneQuery ?? ''];
    const read = queries.map((sql) => tablesOf(sql, preset));
    expect(
      read.flatMap(({ unknown }) => unknown),
      preset.name,
    ).toEqual([]);
    expect([...new Set(read.flatMap(({ known }) => known))].sort(), preset.name).toEqual(
      Object.keys(preset.tables).sort(),
    );
  }
});

/** The tables of a preset that a query reads, and what else stands behind `from` and `join`. */
function tablesOf(sql: string, { tables, database }: Preset): { known: string[]; unknown: string[] } {
  const renames = new Map(Object.keys(tables).map((one) => [one, `zz_${one}`]));
  const plain = sql.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, ' ').replaceAll(/\s+/g, ' ');
  const text = renameTables(plain, { names: renames.keys(), renames, schema: undefined }, database);
  const found = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);
  const named = new Set(found(/\b(\w+) as (?:materialized )?\(/gi));
  const others = found(/\b(?:from|join) [`"]?(?!zz_|lateral\b)([a-z]\w+)(?![\w(])/gi);
  return { known: found(/\bzz_(\w+)/g), unknown: others.filter((one) => !named.has(one)) };
}
