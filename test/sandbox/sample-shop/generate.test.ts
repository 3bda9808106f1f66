import { expect, test } from 'vitest';
import { generateSampleShop } from '../../../src/sandbox/sample-shop/generate.ts';

const now = new Date('2025-11-20T12:00:00Z');
const options = { seed: 7, now, orders: 3000, reviews: 20_000 };
const shop = generateSampleShop(options);
const { tables } = shop;

test('the same seed and moment give the same shop', () => {
  const small = { ...options, orders: 200, reviews: 1000 };
  expect(generateSampleShop(small)).toEqual(generateSampleShop(small));
});

test('nobody real can be written to', () => {
  for (const order of tables.orders) {
    expect(order.buyer_email ?? '@example.com').toMatch(/@(mail\.)?example\.com$/);
    expect(order.buyer_mobile ?? '010-0000-0000').toMatch(/^010-0000-\d{4}$/);
  }
});
