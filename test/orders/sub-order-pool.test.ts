import fc from 'fast-check';
import { expect, test } from 'vitest';
import { likeness } from '../../src/orders/order/same-content.ts';
import { openPool } from '../../src/orders/order/sub-order-pool.ts';
import type { SubOrder } from '../../src/review-api/index.ts';

const options = fc.constantFrom({}, { size: 'S' }, { size: 'S ' }, { size: 'S', colour: 'red' });
const content = fc.record({
  product_id: fc.constantFrom(1, 2),
  price: fc.constantFrom('1', '100', '99.999', '0.5', '-2', '-2.5', '100.00'),
  product_options: options,
});
const money = fc.option(
  fc.constantFrom(1, 100, 10_000, 9999, 50, 0, -200, -2, -3, -1, -250).map((cents) => ({ cents, currency_iso: 'KRW' })),
);
const subOrders = fc
  .array(
    fc.record({
      product_id: fc.constantFrom(1, 2),
      product_options: fc.option(options),
      price: money,
      reviews_count: fc.constant(0),
      id: fc.nat(12),
    }),
    { maxLength: 12 },
  )
  .map((all) => all as unknown as SubOrder[]);

test('a pool finds the same sub-orders as a look at each of them in turn, whatever was taken before', () => {
  const asked = fc.array(
    fc.record({ content, like: fc.constantFrom('exact' as const, 'similar' as const), least: fc.nat(6) }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(subOrders, asked, (all, questions) => {
      const pool = openPool(all, (one) => one);
      let left = all;
      for (const { content: ours, like, least } of questions) {
        const isAllowed = (one: SubOrder) => one.id >= least;
        const expected = left.find((one) => isAllowed(one) && likeness(one, ours) === like);
        expect(pool.find(ours, like, isAllowed)).toBe(expected);
        if (expected === undefined) continue;
        pool.take(expected.id);
        left = left.filter((one) => one.id !== expected.id);
        expect(pool.left()).toEqual(left);
      }
    }),
    { numRuns: 2000 },
  );
});
