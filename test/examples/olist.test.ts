import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadOlist } from '../../examples/olist/load.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { withSince } from '../../src/shop/sql-text.ts';
import { createDatabase, query } from '../harness/database.ts';

test('the queries give moments of local times, amounts paid, and ids of products', async () => {
  // Three orders in the form of the full public data set: ISO times, review ids, comments with quoted line breaks.
  const url = await createDatabase();
  expect(await loadOlist(url, join(import.meta.dirname, 'olist'))).toEqual({ orders: 3, lines: 3, reviews: 4 });
  const runQuery = async (name: string) => {
    const text = await readFile(packagePath('examples', 'olist', `${name}.sql`), 'utf8');
    return query(url, withSince(text, `'-infinity'::timestamptz`, 'postgres'));
  };
  const orders = await runQuery('orders');
  const created_at = new Date('2017-10-02T13:56:33Z');
  expect(orders).toContainEqual({ code: 'o1', created_at, total_price: '38.71', user_code: 'person-a' });
  // Without payments an order costs its items.
  expect(orders).toContainEqual(expect.objectContaining({ code: 'o2', total_price: '110.50' }));
  expect(Number(orders.find(({ code }) => code === 'o3')?.total_price)).toBe(0);
  // Each moment of an order is a change of it.
  const changes = await runQuery('changed_orders');
  const dates = changes.filter((row) => row.code === 'o1').map((row) => (row.changed_at as Date).toISOString());
  expect(dates.toSorted().at(-1)).toBe('2017-10-20T23:25:13.000Z');
  const lines = await runQuery('order_lines');
  expect(lines.map((row) => [row.order_code, row.line_code, row.product_id, row.status]).sort()).toEqual([
    ['o1', '1', '2', 'delivery_finished'],
    ['o1', '2', '1', 'delivery_finished'],
    ['o2', '1', '3', 'delivery_started'],
  ]);
  const categories = await runQuery('categories');
  expect(categories).toContainEqual({ code: 'pc_gamer', name: 'pc_gamer' });
  expect(categories).toContainEqual({ code: 'beleza_saude', name: 'health_beauty' });
});
