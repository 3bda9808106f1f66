import { expect, test } from 'vitest';
import { wholeTables } from '../../src/shop/postgres/postgres-plan.ts';
import { namesIn, withSince } from '../../src/shop/sql-text.ts';

const replaced = (sql: string, dialect: 'postgres' | 'mysql' = 'postgres') => withSince(sql, '$1', dialect);

test('a parameter is replaced wherever it stands in code', () => {
  expect(replaced('where a >= :since and b>=:since')).toBe('where a >= $1 and b>=$1');
});

test.each([
  ['a text', `where a = ':since'`],
  ['a text with a doubled quote', `where a = 'it''s :since'`],
  ['a text with escapes', String.raw`where a = e'it\'s :since'`],
  ['a quoted name', `where "a:since" = 1`],
  ['a comment', 'where a = 1 -- :since\n'],
  ['a dollar-quoted text', 'where a = $x$ :since $x$'],
  ['a dollar-quoted text that holds another', 'where a = $x$ $$ :since $y$ :since $x$'],
  ['a cast', 'where a::since'],
  ['a longer name', 'where a = :since_when'],
])('a parameter is left alone in %s', (_name, sql) => {
  expect(replaced(sql)).toBe(sql);
});

test('names of tables are whole words of code or in quotes, not in texts and comments', () => {
  const sql = 'select 1 from shop.cart join `my-orders` o -- items\nwhere carts = "x" and note <> \'members\'';
  expect(namesIn(sql, ['cart', 'my-orders', 'items', 'car', 'carts'], 'mysql')).toEqual(['cart', 'my-orders', 'carts']);
  expect(namesIn('select 1 from "Orders"', ['orders', 'Orders'], 'postgres')).toEqual(['Orders']);
});

test('MySQL has backticks, # comments and backslashes in every text', () => {
  const sql = "where `:since` = 'it\\'s :since' # :since\n and a >= :since";
  expect(replaced(sql, 'mysql')).toBe(sql.replace(/:since$/, '$1'));
});

test('Postgres has plain backslashes in texts', () => {
  expect(replaced(String.raw`where a = '\' and b = :since`)).toBe(String.raw`where a = '\' and b = $1`);
});

test('quoted names of a plan stay quoted', () => {
  const scan = { 'Node Type': 'Seq Scan', Schema: 'shop', 'Relation Name': 'order', Alias: 'order' };
  const plan = { ...scan, Filter: `("order"."updatedAt" >= '2026-01-01'::timestamp)` };
  expect(wholeTables(plan)).toEqual([{ schema: 'shop', table: 'order', columns: ['"updatedAt"'] }]);
});
