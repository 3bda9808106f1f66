import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UsageError } from '../../../src/base/errors.ts';
import { packagePath } from '../../../src/base/package-path.ts';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '../../../src/sandbox/embedded-postgres/index.ts';
import { generateSampleShop } from '../../../src/sandbox/sample-shop/generate.ts';
import { loadSampleShop } from '../../../src/sandbox/sample-shop/load.ts';
import { contract, runShopQuery, type ShopQuery } from './columns.ts';

const shop = generateSampleShop({ seed: 3, now: new Date('2025-11-20T12:00:00Z'), orders: 1500, reviews: 2000 });
let server: EmbeddedDatabase;
let url: string;
let client: pg.Client;

beforeAll(async () => {
  server = await startEmbeddedDatabase();
  url = await server.createDatabase('sample_shop');
  await loadSampleShop(url, shop);
  client = new pg.Client({ connectionString: url });
  await client.connect();
}, 120_000);

afterAll(async () => {
  await client?.end();
  await server?.close();
});

const run = (name: ShopQuery, since?: string) =>
  runShopQuery<Record<string, unknown>>(client, packagePath('sql', 'shop', `${name}.sql`), since);

describe.each(Object.keys(contract) as ShopQuery[])('%s.sql', (name) => {
  test('has the columns of the contract in their exact types', async () => {
    const { types } = await run(name);
    // The sample shop knows products by its own code only.
    const { product_id: _, ...expected }: Record<string, string> = contract[name].types;
    expect(types).toEqual(expected);
  });

  test('never leaves a required column empty', async () => {
    const { rows } = await run(name);
    expect(rows.length).toBeGreaterThan(0);
    for (const column of contract[name].required) expect(rows.filter((row) => row[column] === null)).toEqual([]);
  });
});

test('every order and every line of the shop is shown once', async () => {
  const orders = (await run('orders')).rows.map((row) => row.code);
  const lines = (await run('order_lines')).rows.map((row) => `${row.order_code} ${row.line_code}`);
  expect(orders).toHaveLength(shop.tables.orders.length);
  expect(lines).toHaveLength(shop.tables.order_items.length);
  expect(new Set(orders).size).toBe(orders.length);
  expect(new Set(lines).size).toBe(lines.length);
  expect(new Set(lines.map((line) => line.split(' ')[0]))).toEqual(new Set(orders));
});

test('a change of an order, of a line or of its shipment is a change of the order', async () => {
  const { rows } = await client.query<{ order_no: string }>(
    `select order_no from shop.orders where order_id = (select max(order_id) from shop.shipments)`,
  );
  for (const table of ['orders', 'order_items', 'shipments']) {
    await client.query('begin');
    await client.query(
      `update shop.${table} set modified_at = '2031-01-01Z' where order_id = (select max(order_id) from shop.shipments)`,
    );
    const changed = (await run('changed_orders', '2031-01-01Z')).rows;
    await client.query('rollback');
    expect(new Set(changed.map((row) => row.code))).toEqual(new Set([rows[0]?.order_no]));
  }
});

test('statuses, devices and options are in the words of the service', async () => {
  const lines = (await run('order_lines')).rows;
  expect([...new Set(lines.map((row) => row.status))].sort()).toEqual([
    'cancelled',
    'delivery_finished',
    'delivery_preparing',
    'delivery_started',
    'exchange_requested',
    'paid',
    'refund_requested',
    'returned',
  ]);
  for (const { product_options: options } of lines) {
    expect(Object.values(options ?? {}).every((value) => typeof value === 'string')).toBe(true);
  }
  const devices = new Set((await run('orders')).rows.map((row) => row.order_device));
  expect(devices).toEqual(new Set(['pc', 'mobile', null]));
});

test('categories have three levels, and every parent is a category', async () => {
  const { rows } = await run('categories');
  const codes = new Set(rows.map((row) => row.code));
  expect(rows.filter((row) => row.parent_code !== null && !codes.has(row.parent_code))).toEqual([]);
  expect(new Set(rows.map((row) => row.status))).toEqual(new Set(['visible', 'hidden']));
});

test('every grade of an order is a grade of user_grades.sql', async () => {
  const grades = new Set((await run('user_grades')).rows.map((row) => row.code));
  const used = (await run('orders')).rows.map((row) => row.user_grade_code).filter((code) => code !== null);
  expect(used.filter((code) => !grades.has(code))).toEqual([]);
});

test('a shop that is there is left alone unless it is to be replaced', async () => {
  await client.query(`update shop.stores set store_name = 'mine' where store_no = 1`);
  await expect(loadSampleShop(url, shop)).rejects.toThrow(UsageError);
  expect((await client.query(`select from shop.stores where store_name = 'mine'`)).rowCount).toBe(1);
  await loadSampleShop(url, shop, { replace: true });
  expect((await client.query(`select from shop.stores where store_name = 'mine'`)).rowCount).toBe(0);
});
