import { expect, test } from 'vitest';
import { generateSampleShop } from '../../../src/sandbox/sample-shop/generate.ts';

const now = new Date('2025-11-20T12:00:00Z');
const options = { seed: 7, now, orders: 3000, reviews: 20_000 };
const shop = generateSampleShop(options);
const { tables, reviews } = shop;

test('the same seed and moment give the same shop', () => {
  const small = { ...options, orders: 200, reviews: 1000 };
  expect(generateSampleShop(small)).toEqual(generateSampleShop(small));
});

test.each([2000, 500, 3])('%i orders and reviews are made: each product of an order line is reviewed', (count) => {
  const made = generateSampleShop({ ...options, orders: 400, reviews: count });
  const reviewed = new Set(made.reviews.map((review) => review.product_code));
  const codeOf = new Map(made.products.map((product) => [product.product_no, product.product_code]));
  expect(made.tables.orders).toHaveLength(400);
  expect(made.reviews).toHaveLength(count);
  expect(made.tables.order_items.filter((item) => !reviewed.has(codeOf.get(item.product_no) ?? ''))).toEqual([]);
});

test('a review of an order is by its buyer, of one of its products, and later', () => {
  const orderOf = new Map(tables.orders.map((order) => [order.order_no, order]));
  const productOf = new Map(shop.products.map((product) => [product.product_code, product.product_no]));
  const linesOf = Map.groupBy(tables.order_items, (item) => item.order_id);
  const bought = reviews.filter((review) => review.order_code !== null);
  expect(bought.length).toBeGreaterThan(1000);
  for (const review of bought) {
    const order = orderOf.get(review.order_code ?? '');
    expect(order?.buyer_name).toBe(review.user_name);
    expect(order?.ordered_at.getTime()).toBeLessThan(review.created_at.getTime());
    const products = linesOf.get(order?.order_id ?? 0)?.map((item) => item.product_no);
    expect(products).toContain(productOf.get(review.product_code));
  }
});

test('there are guests, store orders, removed orders and lines in every status', () => {
  const { orders } = tables;
  expect(orders.some(({ member_no, store_no }) => member_no === null && store_no === null)).toBe(true);
  for (const column of ['store_no', 'removed_at'] as const)
    expect(orders.some((one) => one[column] !== null)).toBe(true);
  const statuses = new Set(tables.order_items.map((item) => item.item_status));
  expect([...statuses].sort()).toEqual(['C40', 'E10', 'N10', 'N20', 'N30', 'N40', 'R10', 'R40']);
});

test('nobody real can be written to', () => {
  for (const order of tables.orders) {
    expect(order.buyer_email ?? '@example.com').toMatch(/@(mail\.)?example\.com$/);
    expect(order.buyer_mobile ?? '010-0000-0000').toMatch(/^010-0000-\d{4}$/);
  }
});
