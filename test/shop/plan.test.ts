import { expect, test } from 'vitest';
import { type PlanNode, wholeTables } from '../../src/shop/postgres/postgres-plan.ts';

const scan = (alias: string, table: string, filter?: string): PlanNode => ({
  'Node Type': 'Seq Scan',
  Schema: 'shop',
  'Relation Name': table,
  Alias: alias,
  ...(filter === undefined ? {} : { Filter: filter }),
});

test('quoted names stay quoted', () => {
  const plan = scan('order', 'order', `("order"."updatedAt" >= '2026-01-01'::timestamp)`);
  expect(wholeTables(plan)).toEqual([{ schema: 'shop', table: 'order', columns: ['"updatedAt"'] }]);
});
