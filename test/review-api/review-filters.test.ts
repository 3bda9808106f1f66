import { expect, onTestFinished, test } from 'vitest';
import { openReviewApi, type Review, type ReviewFilters } from '../../src/review-api/index.ts';
import { startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { type SeedReview, seedProducts, seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { createDatabase } from '../harness/database.ts';

const march = (day: number, hour = 12) => new Date(Date.UTC(2024, 2, day, hour - 9));
const dates = { created_at: march(5), updated_at: march(5) };
const plain: SeedReview = {
  code: 'plain',
  product_code: 'P-1',
  user_code: 'lee',
  message: 'Fine.',
  score: 3,
  ...dates,
};
const special: SeedReview = {
  ...{
    ...plain,
    code: 'special',
    product_code: 'P-2',
    user_code: 'kim',
    score: 5,
    images_count: 1,
    tag_name: 'summer',
  },
  third_party_name: 'partner',
  sub_brand_id: 8,
  sub_brand_code: 'S-8',
  updated_at: march(20),
};
const unrated: SeedReview = { ...plain, code: 'unrated', score: null, created_at: march(6) };

async function openWithReviews() {
  const databaseUrl = await createDatabase();
  const service = await startReferenceService({ databaseUrl, checkAnswers: true });
  onTestFinished(() => service.close());
  const api = openReviewApi({ baseUrl: service.url, clientId: 'demo', clientSecret: 'demo' });
  onTestFinished(() => api.close());
  const { id: category_id } = await api.categories.upsert({ code: 'K-1', name: 'Tops' });
  await seedProducts(databaseUrl, [
    { id: 1, code: 'P-1' },
    { id: 2, code: 'P-2', category_code: 'K-1' },
  ]);
  await seedReviews(databaseUrl, [plain, special, unrated]);
  return { reviews: api.reviews, category_id };
}

const codes = (items: Review[]) => items.map(({ code }) => code);

test('each filter of the spec finds what it names and nothing else', async () => {
  const { reviews, category_id } = await openWithReviews();
  const period = { start_date: '2024-03-01', end_date: '2024-03-31' };
  const only: ReviewFilters[] = [
    ...[{ product_id: 2 }, { product_code: 'P-2' }, { user_code: 'kim' }, { category_id }, { category_code: 'K-1' }],
    ...[{ score: 5 as const }, { photo: true }, { tag_name: 'summer' }, { third_party_name: 'partner' }],
    ...[{ sub_brand_id: 8 }, { sub_brand_code: 'S-8' }],
  ];
  for (const filter of only) {
    const { items } = await reviews.list({ ...period, ...filter });
    expect({ filter, codes: codes(items) }).toEqual({ filter, codes: ['special'] });
  }
  expect(codes((await reviews.list({ ...period, score: 0 })).items)).toEqual(['unrated']);
  const turned = await reviews.list({ ...period, date_order_desc: true, score: undefined });
  expect(codes(turned.items)[0]).toBe('unrated');
});

test('a period is of days or of times, both ends included, by creation or by update', async () => {
  const { reviews } = await openWithReviews();
  const found = async (params: Parameters<typeof reviews.list>[0]) => codes((await reviews.list(params)).items);
  expect(await found({ start_date: '2024-03-06', end_date: '2024-03-06' })).toEqual(['unrated']);
  const noon = { start_datetime: '2024-03-05 12:00:00', end_datetime: '2024-03-05 12:00:00' };
  expect(await found(noon)).toEqual(['plain', 'special']);
  expect(await found({ start_datetime: '2024-03-05 12:00:01', end_datetime: '2024-03-06 11:59:59' })).toEqual([]);
  expect(await found({ start_date: '2024-03-20', end_date: '2024-03-20', date_updated_at: true })).toEqual(['special']);
});

test('45 days are what the service takes and what the client lets through', async () => {
  const { reviews } = await openWithReviews();
  const days = { start_date: '2024-02-01', end_date: '2024-03-16' };
  expect((await reviews.list(days)).items).toHaveLength(3);
  expect(
    (await reviews.list({ start_datetime: '2024-02-01 00:00:00', end_datetime: '2024-03-17 00:00:00' })).items,
  ).toHaveLength(3);
  await expect(reviews.list({ ...days, end_date: '2024-03-17' })).rejects.toThrow(/at most 45 days, got 46/);
});
