import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { differencesOf } from '../../src/app/doctor/check-fixtures.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { withoutSchema } from '../../src/shop/sql-text.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase, query } from '../harness/database.ts';

const example = packagePath('examples', 'fixtures');

/** A copy of the example, to be changed by the test. */
async function fixtures(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-test-fixtures-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(example, folder, { recursive: true });
  return folder;
}

/** Nothing but the shop database is configured. */
async function check(folder: string, more: Record<string, string> = {}) {
  const url = await createDatabase('shop');
  return { url, end: await runCli(['doctor', '--fixtures', folder, '--json'], { SHOP_DATABASE_URL: url, ...more }) };
}

test('the example passes on the shipped queries, and the shop’s own rows have no part in it', async () => {
  const { url, end } = await check(example);
  expect(end.stderr).toBe('');
  expect(end.status).toBe(0);
  const { healthy, orders } = JSON.parse(end.stdout);
  expect(healthy).toBe(true);
  expect(orders.map(({ code }: { code: string }) => code)).toEqual(['A-1001', 'A-1002', 'A-1003']);
  expect(await query(url, 'select count(*)::integer as n from shop.orders')).toEqual([{ n: 60 }]);
});

test('a query that maps a column otherwise fails, and says which field of which order', async () => {
  const sqlDir = await mkdtemp(join(tmpdir(), 'review-sync-test-queries-'));
  onTestFinished(() => rm(sqlDir, { recursive: true }));
  await cp(packagePath('sql', 'shop'), sqlDir, { recursive: true });
  const orders = await readFile(join(sqlDir, 'orders.sql'), 'utf8');
  await writeFile(join(sqlDir, 'orders.sql'), orders.replace('o.paid_amount::numeric', 'o.paid_amount::numeric / 100'));
  const { end } = await check(example, { SHOP_SQL_DIR: sqlDir });
  expect(end.status).toBe(1);
  expect(JSON.parse(end.stdout).orders[0].differences).toEqual([
    expect.stringMatching(/^order\.total_price is "235\.?0*", expected 23500$/),
  ]);
});

test('an order without expectation fails and shows what it makes; an expected one that is not there fails', async () => {
  const folder = await fixtures();
  await rm(join(folder, 'expected', 'A-1002.json'));
  await writeFile(join(folder, 'expected', 'B-1.json'), '{}');
  const end = await runCli(['doctor', '--fixtures', folder], { SHOP_DATABASE_URL: await createDatabase('shop') });
  expect(end.status).toBe(1);
  expect(end.stdout).toContain('expected/A-1002.json would be:');
  expect(end.stdout).toContain('order B-1\n           the queries show no such order');
});

test('--accept writes what the queries make as what is expected', async () => {
  const folder = await fixtures();
  await rm(join(folder, 'expected'), { recursive: true });
  const environment = { SHOP_DATABASE_URL: await createDatabase('shop') };
  expect(await runCli(['doctor', '--fixtures', folder, '--accept'], environment)).toMatchObject({ status: 0 });
  expect(await runCli(['doctor', '--fixtures', folder], environment)).toMatchObject({ status: 0 });
  const written = JSON.parse(await readFile(join(folder, 'expected', 'A-1001.json'), 'utf8'));
  expect(Object.keys(written)).toEqual(['order', 'lines']);
  expect(await runCli(['doctor', '--accept'], environment)).toMatchObject({ status: 2 });
});

test('a table without rows is named, so that no row of the shop gets into the test', async () => {
  const folder = await fixtures();
  await rm(join(folder, 'tables', 'shop.shipments.csv'));
  const { end } = await check(folder);
  expect(end.status).toBe(2);
  expect(end.stderr).toContain('order_lines.sql reads shop.shipments');
  expect(end.stderr).toContain('Add shop.shipments.csv');
});

test.each([
  ['shop.orders.csv', 'order_id,colour\n1,red\n', 'has no column colour'],
  ['shop.nothing.csv', 'a\n1\n', 'no table shop.nothing'],
  ['shop.stores.json', '{}', 'expected an array of rows'],
])('%s that is wrong is named with what is wrong', async (file, text, expected) => {
  const folder = await fixtures();
  await writeFile(join(folder, 'tables', file), text);
  const { end } = await check(folder);
  expect(end.status).toBe(2);
  expect(end.stderr).toContain(expected);
});

test('a user who may only read, on a database that takes no writes, can run the fixtures', async () => {
  const url = await createDatabase('shop');
  const database = new URL(url).pathname.slice(1);
  await query(url, `alter database ${database} set default_transaction_read_only = on`);
  await query(url, `begin read write; revoke temporary on database ${database} from public; commit`);
  const end = await runCli(['doctor', '--fixtures', example], { SHOP_DATABASE_URL: url });
  expect(end.status).toBe(0);
});

test('only the schema of a table goes, in any case and quoting, and never in texts or comments', () => {
  const sql = `select shop.orders.a, 'shop.orders', "shop"."orders".b -- shop.orders
    from SHOP.Orders o join myshop.orders on true join shop.orders2 using (x) join shop."orders" using (y)`;
  expect(withoutSchema(sql, 'shop', 'orders')).toBe(`select orders.a, 'shop.orders', "orders".b -- shop.orders
    from Orders o join myshop.orders on true join shop.orders2 using (x) join "orders" using (y)`);
  expect(withoutSchema('select * from shop."Orders", shop.orders', 'shop', 'Orders')).toBe(
    'select * from "Orders", shop.orders',
  );
});

test('amounts and instants are compared by their value, codes as text', () => {
  expect(differencesOf({ price: '12.50' }, { price: 12.5 })).toEqual([]);
  expect(differencesOf({ at: '2026-03-01T01:00:00+00:00' }, { at: '2026-03-01T10:00:00+09:00' })).toEqual([]);
  expect(differencesOf({ code: '007' }, { code: '7' })).toEqual(['code is "007", expected "7"']);
  expect(differencesOf({ a: { b: 1 } }, { a: {} })).toEqual(['a.b is 1, expected not to be there']);
  expect(differencesOf({}, { a: 1 })).toEqual(['a is not there, expected 1']);
});
