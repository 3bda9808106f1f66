import { expect, test } from 'vitest';
import { planRescan } from '../../src/orders/which/plan-rescan.ts';
import { openOrderWorld } from '../harness/order-world.ts';
import { order } from '../harness/shop-orders.ts';

test('days of few orders share a step, a day of many has its own, and together the steps read each day once', async () => {
  await using world = await openOrderWorld();
  await world.place(order('O1'), order('O2'), order('O3'));
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  // Days before today, with so many known orders each.
  const known = { 8: 200, 7: 200, 6: 101, 4: 900, 3: 1, 1: 499 };
  for (const [daysAgo, orders] of Object.entries(known)) {
    await world.warehouse(
      `insert into sync.order_links (order_code, order_id, fingerprint, ordered_at, pushed_at)
       select 'K' || $1::text || '-' || n, 1, 'f', date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - $1::integer * interval '1 day', now()
       from generate_series(1, $2::integer) n`,
      [daysAgo, orders],
    );
  }
  const { shop, warehouse } = await world.openApp();
  const { start, steps } = await planRescan({ shop, db: warehouse.db }, 10);
  const spans = steps.filter((step) => step.kind === 'created');
  const daysAfterStart = (second: number | undefined) =>
    second === undefined || start === undefined ? undefined : (second - start) / 86_400;
  expect(spans.map((span) => [daysAfterStart(span.start), daysAfterStart(span.end)])).toEqual([
    [0, 4],
    [4, 6],
    [6, 7],
    [7, 10],
    [10, undefined],
  ]);
});
