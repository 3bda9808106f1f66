import { expect, test } from 'vitest';
import { type PlanNode, wholeTables } from '../../src/shop/postgres/postgres-plan.ts';

const scan = (alias: string, table: string, filter?: string): PlanNode => ({
  'Node Type': 'Seq Scan',
  Schema: 'shop',
  'Relation Name': table,
  Alias: alias,
  ...(filter === undefined ? {} : { Filter: filter }),
});

test('a scan names the columns of its own filter', () => {
  const plan = { 'Node Type': 'Limit', Plans: [scan('o', 'orders', `((o.order_no)::text = ANY ('{i.x,B}'::text[]))`)] };
  expect(wholeTables(plan)).toEqual([{ schema: 'shop', table: 'orders', columns: ['order_no'] }]);
});

test('a scan without filter names the columns that the joins above compare', () => {
  const plan = {
    'Node Type': 'Hash Join',
    'Hash Cond': '(i.order_id = o.order_id)',
    Plans: [scan('i', 'order_items'), { 'Node Type': 'Index Scan', Plans: [] }],
  };
  expect(wholeTables(plan)).toEqual([{ schema: 'shop', table: 'order_items', columns: ['order_id'] }]);
});

test('quoted names stay quoted', () => {
  const plan = scan('order', 'order', `("order"."updatedAt" >= '2026-01-01'::timestamp)`);
  expect(wholeTables(plan)).toEqual([{ schema: 'shop', table: 'order', columns: ['"updatedAt"'] }]);
});
