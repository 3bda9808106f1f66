import { expect, test } from 'vitest';
import { readEvents } from '../../src/webhooks/event.ts';

test('the three events of the spec are told apart by their fields', () => {
  const summary = { id: 8, code: 1234, reviews_count: 3, score: 4.5, meta_reviews_count: 4, meta_score: '4.25' };
  const { events, faults } = readEvents([
    { brand_id: 1, reviews: [{ id: 5, updated_at: '2024-05-01T10:00:00.250+09:00' }] },
    { brand_id: 2, products: [{ id: 7, updated_at: '2024-05-01T10:00:00.000+09:00' }] },
    { brand_id: 3, products: [summary] },
  ]);
  expect(faults).toEqual([]);
  const rating = { id: 8, code: '1234', reviewsCount: 3, score: 4.5, metaReviewsCount: 4, metaScore: 4.25 };
  expect(events).toEqual([
    { kind: 'review', brandId: 1, id: 5 },
    { kind: 'product', brandId: 2, id: 7 },
    { kind: 'summary', brandId: 3, rating, payload: [{ brand_id: 3, products: [summary] }] },
  ]);
});

test('what is wrong stays alone, and can be tried again by itself', () => {
  const microseconds = 1_764_547_200_000_000;
  const bad = [null, 7, { brand_id: 'x', reviews: [] }, { brand_id: 1 }, { brand_id: 1, reviews: 'no' }];
  const mixed = {
    brand_id: 1,
    reviews: [{ id: 'abc' }, { id: '9' }, { id: microseconds }, null],
    products: [{ score: 3 }],
  };
  const { events, faults } = readEvents([...bad, mixed]);
  expect(events).toEqual([9, microseconds].map((id) => ({ kind: 'review', brandId: 1, id })));
  expect(faults.map((fault) => fault.payload)).toEqual([
    ...bad.map((one) => [one]),
    [{ brand_id: 1, reviews: [{ id: 'abc' }] }],
    [{ brand_id: 1, reviews: [null] }],
    [{ brand_id: 1, products: [{ score: 3 }] }],
  ]);
  expect(faults.map(({ reason }) => reason)).toEqual([
    'expected an object per brand, found null',
    'expected an object per brand, found 7',
    'expected an integer brand_id, found a text of 1 characters',
    'expected an array reviews or products, found 1 other field',
    'expected an array reviews or products, found 2 other fields',
    'expected an integer id of a review, from 1, found a text of 3 characters',
    'expected an object in reviews, found null',
    'expected an integer id of a product, from 1, found nothing',
  ]);
});

test('only what may be a brand counts as one', () => {
  const ids = [7, '8', 7, null, '', true, -1, 1.5, [5], undefined, 'x', 1e300];
  const { events } = readEvents([null, 5, ...ids.map((brand_id) => ({ brand_id, reviews: [{ id: 1 }] }))]);
  expect(events.map(({ brandId }) => brandId)).toEqual([7, 8, 7]);
});

test('a code or number that cannot be held, or an average of 0, is a fault or left out', () => {
  const product = (id: number, length: number) => ({ id, code: 'x'.repeat(length), reviews_count: 1 });
  const products = [
    product(4, 1000),
    product(5, 1001),
    { ...product(6, 1), meta_reviews_count: 2_147_483_648 },
    { id: 7, code: '', reviews_count: '2147483647', score: 'good', meta_score: -0.5 },
    { id: 3, code: ' ', reviews_count: 0, score: 0, meta_score: '0.0' },
    // The number that JSON.parse makes of 9007199254740993.
    { id: 2, code: 9_007_199_254_740_992, reviews_count: 1 },
    { id: 8, reviews_count: 2_147_483_648 },
    { id: 9, score: 3 },
    // Neither can be asked for nor stored.
    { ...product(10, 1), code: 'a\u0000b' },
    { ...product(11, 1), code: '\ud800' },
    { id: '0' },
  ];
  const { events, faults } = readEvents([{ brand_id: 1, reviews: [{ id: 0 }], products }]);
  expect(events.map((event) => event.kind === 'summary' && event.rating)).toMatchObject([
    { id: 4, score: null, metaScore: null },
    { id: 6, metaReviewsCount: null },
    { id: 7, code: null, reviewsCount: 2_147_483_647, score: null, metaScore: -0.5 },
    { id: 3, code: null, score: null, metaScore: null },
    { id: 2, code: null },
  ]);
  const code = 'expected a code of at most 1000 bytes that Postgres can hold, found a text of';
  expect(faults.map(({ reason }) => reason)).toEqual([
    'expected an integer id of a review, from 1, found 0',
    `${code} 1001 characters`,
    'expected an integer reviews_count, found a number of 10 digits',
    'expected an integer reviews_count, found nothing',
    `${code} 3 characters`,
    `${code} 1 characters`,
    'expected an integer id of a product, from 1, found 0',
  ]);
});

test('of a body with 100,000 parts no more are looked at than are refused anyway', () => {
  for (const part of ['1e99', {}, { brand_id: 1, reviews: Array.from({ length: 2000 }, () => 1) }]) {
    const { events, faults } = readEvents(Array.from({ length: 100_000 }, () => part));
    expect(events.length + faults.length).toBe(1001);
  }
});
