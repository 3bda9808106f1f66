import { expect, test } from 'vitest';
import { generateSampleShop, type SeedReview } from '../../../src/sandbox/sample-shop/generate.ts';

const now = new Date('2025-11-20T12:00:00Z');
const options = { seed: 7, now, orders: 3000, reviews: 20_000 };
const shop = generateSampleShop(options);
const { tables, reviews } = shop;
const day = 86_400_000;

test('the same seed and moment give the same shop', () => {
  expect(generateSampleShop(options)).toEqual(shop);
});

test('another seed gives another shop', () => {
  expect(generateSampleShop({ ...options, seed: 8 }).reviews[0]).not.toEqual(reviews[0]);
});

test('there are as many orders and reviews as asked for', () => {
  expect(tables.orders).toHaveLength(3000);
  expect(reviews).toHaveLength(20_000);
});

test('nothing happens after now, and the oldest is about 26 months old', () => {
  const dates = [
    ...[...tables.orders, ...tables.order_items, ...tables.shipments].map((row) => row.modified_at),
    ...reviews.map((review) => review.updated_at),
  ];
  expect(Math.max(...dates.map(Number))).toBeLessThanOrEqual(now.getTime());
  expect(Math.min(...reviews.map((review) => review.created_at.getTime()))).toBeGreaterThan(now.getTime() - 800 * day);
  expect(Math.min(...reviews.map((review) => review.created_at.getTime()))).toBeLessThan(now.getTime() - 770 * day);
});

test('one week holds more reviews than the 30 pages of a window', () => {
  expect(fullest(reviews, 7 * day)).toBeGreaterThan(4000);
});

test('no second holds more than 20 reviews', () => {
  const ofSecond = Map.groupBy(reviews, (review) => Math.floor(review.created_at.getTime() / 1000));
  expect(Math.max(...[...ofSecond.values()].map((some) => some.length))).toBeLessThanOrEqual(20);
});

test.each([20_000, 500, 3])('each product of an order line is reviewed, with %i reviews', (count) => {
  const made = generateSampleShop({ ...options, orders: 400, reviews: count });
  const reviewed = new Set(made.reviews.map((review) => review.product_code));
  const codeOf = new Map(made.products.map((product) => [product.product_no, product.product_code]));
  expect(made.reviews).toHaveLength(count);
  expect(made.tables.order_items.filter((item) => !reviewed.has(codeOf.get(item.product_no) ?? ''))).toEqual([]);
});

test('orders without any review are refused', () => {
  expect(() => generateSampleShop({ ...options, reviews: 0 })).toThrow(RangeError);
});

test('a review is never edited before it is written, and about 8 % are edited', () => {
  const edited = reviews.filter((review) => review.updated_at > review.created_at);
  expect(reviews.filter((review) => review.updated_at < review.created_at)).toEqual([]);
  expect(edited.length / reviews.length).toBeCloseTo(0.08, 1);
});

test('a review of an order is by its buyer, of one of its products, and after the order', () => {
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

test('one order in ten is of the last 30 days, and orders have 1.6 lines', () => {
  const lately = tables.orders.filter((order) => order.ordered_at.getTime() > now.getTime() - 30 * day);
  expect(lately).toHaveLength(300);
  expect(tables.order_items.length / tables.orders.length).toBeCloseTo(1.6, 1);
});

test('there are guests, store orders, removed orders and lines in every status', () => {
  expect(tables.orders.some((order) => order.member_no === null && order.store_no === null)).toBe(true);
  expect(tables.orders.some((order) => order.store_no !== null)).toBe(true);
  expect(tables.orders.some((order) => order.removed_at !== null)).toBe(true);
  const statuses = new Set(tables.order_items.map((item) => item.item_status));
  expect([...statuses].sort()).toEqual(['C40', 'E10', 'N10', 'N20', 'N30', 'N40', 'R10', 'R40']);
});

test('nobody real can be written to', () => {
  for (const order of tables.orders) {
    expect(order.buyer_email ?? '@example.com').toMatch(/@(mail\.)?example\.com$/);
    expect(order.buyer_mobile ?? '010-0000-0000').toMatch(/^010-0000-\d{4}$/);
  }
});

test('every order was paid with what is left after coupons and points', () => {
  for (const order of tables.orders) {
    expect(order.paid_amount).toBe(order.goods_amount + order.shipping_fee - order.coupon_discount - order.points_used);
    expect(order.paid_amount).toBeGreaterThanOrEqual(0);
  }
});

test('scores are 1 to 5, or none', () => {
  expect(new Set(reviews.map((review) => review.score))).toEqual(new Set([1, 2, 3, 4, 5, null]));
});

/** The most reviews created within any span of that length. */
function fullest(sorted: readonly SeedReview[], length: number): number {
  let most = 0;
  let first = 0;
  for (const [last, review] of sorted.entries()) {
    while ((sorted[first]?.created_at.getTime() ?? 0) < review.created_at.getTime() - length) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
