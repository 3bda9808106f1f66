import { expect, test } from 'vitest';
import { type SeedReview, seedProducts, seedReviews } from '../../../src/sandbox/reference-service/seed.ts';
import { linksOf, type Running, runService } from './service.ts';

const now = () => new Date('2024-06-15T03:00:00Z');
const at = (time: string, more: Partial<SeedReview> = {}): SeedReview => ({
  product_code: 'P-1',
  message: time,
  created_at: new Date(time),
  updated_at: new Date(time),
  ...more,
});

async function seeded(reviews: SeedReview[], options: Parameters<typeof runService>[0] = {}) {
  const running = await runService({ now, ...options }, (url) => seedReviews(url, reviews));
  return { ...running, messages: messagesOf(running) };
}

const messagesOf =
  ({ call }: Running) =>
  async (query: Record<string, string | number>): Promise<string[]> => {
    const { status, body } = await call('GET', '/v1/reviews', { query });
    if (status !== 200) throw new Error(body.error);
    return body.map((review: { message: string }) => review.message);
  };

test('without dates, a list covers thirty days in the service’s zone, oldest first', async () => {
  const { messages } = await seeded([
    at('2024-06-15T14:59:59.999Z'),
    at('2024-05-15T15:00:00.000Z'),
    at('2024-05-15T14:59:59.999Z'),
    at('2024-06-15T15:00:00.000Z'),
  ]);
  expect(await messages({})).toEqual(['2024-05-15T15:00:00.000Z', '2024-06-15T14:59:59.999Z']);
});

test('both ends of a period belong to it, with all milliseconds of the last second', async () => {
  const { messages } = await seeded([
    at('2024-06-01T02:59:59.999Z'),
    at('2024-06-01T03:00:00.000Z'),
    at('2024-06-01T04:00:00.999Z'),
    at('2024-06-01T04:00:01.000Z'),
  ]);
  const inside = ['2024-06-01T03:00:00.000Z', '2024-06-01T04:00:00.999Z'];
  expect(await messages({ start_datetime: '2024-06-01 12:00:00', end_datetime: '2024-06-01 13:00:00' })).toEqual(
    inside,
  );
  expect(
    await messages({ start_datetime: '2024-06-01T03:00:00Z', end_datetime: '2024-06-01T04:00:00.500+00:00' }),
  ).toEqual(inside);
});

test('times win over days', async () => {
  const { messages } = await seeded([at('2024-06-01T03:00:00Z'), at('2024-06-02T03:00:00Z')]);
  const days = { start_date: '2024-06-01', end_date: '2024-06-01' };
  const times = { start_datetime: '2024-06-02 00:00:00', end_datetime: '2024-06-02 23:59:59' };
  expect(await messages(days)).toEqual(['2024-06-01T03:00:00Z']);
  expect(await messages({ ...days, ...times })).toEqual(['2024-06-02T03:00:00Z']);
});

test('forty-five days may be asked for, a second more may not', async () => {
  const { call } = await runService({ now });
  const ask = (query: Record<string, string>) => call('GET', '/v1/reviews', { query });
  const start_datetime = '2024-01-01 00:00:00';
  expect((await ask({ start_date: '2024-01-01', end_date: '2024-02-14' })).status).toBe(200);
  expect((await ask({ start_datetime, end_datetime: '2024-02-15 00:00:00' })).status).toBe(200);
  const { status, body } = await ask({ start_datetime, end_datetime: '2024-02-15 00:00:01' });
  expect([status, body.error]).toEqual([422, 'period: found 45.00 days from start to end, expected at most 45']);
  expect((await ask({ start_date: '2024-01-01', end_date: '2024-02-15' })).status).toBe(422);
  expect((await ask({ start_date: '2024-01-01' })).status).toBe(422);
});

test('where clocks go back, forty-five calendar days are still forty-five days', async () => {
  const { call } = await runService({ now, timeZone: 'America/New_York' });
  const query = { start_date: '2024-10-01', end_date: '2024-11-14' };
  expect((await call('GET', '/v1/reviews', { query })).status).toBe(200);
});

test('timestamps carry the zone’s offset of their own day, and milliseconds', async () => {
  const { call } = await seeded([at('2024-03-10T06:59:59.123Z'), at('2024-03-10T07:00:00.000Z')], {
    timeZone: 'America/New_York',
  });
  const { body } = await call('GET', '/v1/reviews', { query: { start_date: '2024-03-01', end_date: '2024-03-31' } });
  expect(body.map((review: { created_at: string }) => review.created_at)).toEqual([
    '2024-03-10T01:59:59.123-05:00',
    '2024-03-10T03:00:00.000-04:00',
  ]);
});

test('the update axis and the reverse order are asked for by 1; ties go by id', async () => {
  const moved = { updated_at: new Date('2024-06-10T00:00:00Z') };
  const { messages } = await seeded([
    at('2024-06-01T00:00:00Z', { message: 'a' }),
    at('2024-06-01T00:00:00Z', { message: 'b' }),
    at('2024-01-01T00:00:00Z', { message: 'old', ...moved }),
  ]);
  expect(await messages({ date_order_desc: 1 })).toEqual(['b', 'a']);
  expect(await messages({ date_updated_at: 1 })).toEqual(['a', 'b', 'old']);
  expect(await messages({ date_updated_at: 1, date_order_desc: 1, limit: 1 })).toEqual(['old']);
});

test('every filter narrows the list', async () => {
  const day = '2024-06-01T00:00:00Z';
  const running = await seeded([
    at(day, { message: 'plain', score: 5 }),
    at(day, { message: 'other product', score: 4, product_code: 'P-2' }),
    at(day, { message: 'kim', score: 4, user_code: 'kim' }),
    at(day, { message: 'unrated', score: null }),
    at(day, { message: 'photo', score: 3, images_count: 2 }),
    at(day, { message: 'video and photo', score: 3, images_count: 1, videos_count: 1, tag_name: 'vip' }),
    at(day, { message: 'partner', score: 1, third_party_name: 'mall' }),
    at(day, { message: 'sub-brand', score: 2, sub_brand_id: 8, sub_brand_code: 'kids' }),
  ]);
  const { call, messages, databaseUrl } = running;
  const category = (await call('POST', '/v1/categories', { json: { code: 'C', name: 'Coats' } })).body;
  await seedProducts(databaseUrl, [{ code: 'P-2', category_code: 'C' }]);
  const product = (await call('GET', '/v1/reviews', { query: { product_code: 'P-2' } })).body[0].product_id;
  const expected: [Record<string, string | number>, string[]][] = [
    [{ product_id: product }, ['other product']],
    [{ product_code: 'P-2' }, ['other product']],
    [{ category_id: category.id }, ['other product']],
    [{ category_code: 'C' }, ['other product']],
    [{ user_code: 'kim' }, ['kim']],
    [{ score: 0 }, ['unrated']],
    [{ score: 5 }, ['plain']],
    [{ photo: 1 }, ['photo', 'video and photo']],
    [{ tag_name: 'vip' }, ['video and photo']],
    [{ third_party_name: 'mall' }, ['partner']],
    [{ sub_brand_id: 8 }, ['sub-brand']],
    [{ sub_brand_code: 'kids' }, ['sub-brand']],
    [{ score: 4, user_code: 'kim' }, ['kim']],
    [{ score: 4, user_code: 'lee' }, []],
  ];
  for (const [query, found] of expected) expect([query, await messages(query)]).toEqual([query, found]);
});

test('an item has the fields of the spec, with what only some reviews have', async () => {
  const { call } = await seeded([
    at('2024-06-01T00:00:00Z', {
      score: 4,
      user_code: 'kim',
      user_name: 'Kim',
      product_options: { Size: 'L' },
      images_count: 1,
      videos_count: 1,
      comments_count: 2,
      likes_count: 3,
      plus_likes_count: 2,
      order_code: 'A-1',
      source: 'sms',
      options: [{ review_option_type_id: 7, value: 'true to size' }],
    }),
  ]);
  const [item] = (await call('GET', '/v1/reviews')).body;
  expect(item).toMatchObject({
    code: null,
    display: true,
    score: 4,
    user_code: 'kim',
    product_code: 'P-1',
    review_type: 'video&photo',
    images_count: 1,
    videos_count: 1,
    comments_count: 2,
    likes_count: 3,
    plus_likes_count: 2,
    source: 'sms',
    product_options: { Size: 'L' },
    order_code: 'A-1',
    store_order: false,
    store_name: null,
    options: [{ review_id: item.id, review_option_type_id: 7, value: 'true to size' }],
  });
  expect(typeof item.user_id).toBe('number');
  expect(Object.keys(item.images[0])).toHaveLength(12);
  expect(item.video_urls).toEqual([item.videos[0].sd_url]);
  for (const absent of ['comments', 'tag_name', 'third_party_name', 'sub_brand_id'])
    expect(item).not.toHaveProperty(absent);
  expect(item.options[0]).not.toHaveProperty('option_type_name');
});

test('a shop on the v2 form sees the names of its options', async () => {
  const review = at('2024-06-01T00:00:00Z', { options: [{ review_option_type_id: 7, value: 'true to size' }] });
  const { call } = await seeded([review], { reviewOptionsForm: 'v2' });
  const [item] = (await call('GET', '/v1/reviews')).body;
  expect(item.options[0]).toMatchObject({ option_type_name: 'Option type 7', value_text: 'true to size' });
});

test.for([
  ['real', '32'],
  ['capped', '30'],
  ['absent', undefined],
] as const)(
  'of 32 pages, the last is told as %s: %s; page 31 is refused, and none follows the thirtieth',
  async ([lastPageLink, last]) => {
    const many = Array.from({ length: 32 }, (_, index) => at('2024-06-01T00:00:00Z', { message: String(index) }));
    const { call } = await seeded(many, { lastPageLink });
    const ask = (page: number) => call('GET', '/v1/reviews', { query: { limit: 1, page } });
    const pageOf = (url: string | undefined) => (url === undefined ? undefined : new URL(url).searchParams.get('page'));
    const first = linksOf(await ask(1));
    expect([pageOf(first.last), pageOf(first.next)]).toEqual([last, '2']);
    const thirtieth = await ask(30);
    expect(thirtieth.body[0].message).toBe('29');
    expect(linksOf(thirtieth).next).toBeUndefined();
    const beyond = await ask(31);
    expect([beyond.status, beyond.body.error]).toEqual([422, 'page: found "31", expected an integer from 1 to 30']);
  },
);

test('what a filter cannot be is refused by name', async () => {
  const { call } = await runService({ now });
  const wrong = {
    score: 6,
    photo: 2,
    limit: 101,
    start_datetime: '2024-06-01 24:00:00',
    end_date: 'today',
    product_id: 'P',
  };
  const { status, body } = await call('GET', '/v1/reviews', { query: wrong });
  expect(status).toBe(422);
  for (const name of Object.keys(wrong)) expect(body.errors.join('\n')).toContain(`${name}: found`);
});

test('the overview tells the first and the last creation, or nulls', async () => {
  const empty = await runService();
  const none = { first_review_created_at: null, last_review_created_at: null };
  expect((await empty.call('GET', '/v1/reviews/overview')).body).toEqual(none);
  const { call } = await seeded([at('2024-06-01T00:00:00.001Z'), at('2013-06-01T00:00:00Z')]);
  expect((await call('GET', '/v1/reviews/overview')).body).toEqual({
    first_review_created_at: '2013-06-01T09:00:00.000+09:00',
    last_review_created_at: '2024-06-01T09:00:00.001+09:00',
  });
});
