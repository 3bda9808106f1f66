import { expect, test } from 'vitest';
import { PageLimitError, type ReviewListParams } from '../../src/review-api/index.ts';
import { client, january, json, type Seen, tinyService } from './tiny-service.ts';

type Listed = { id: number; created_at: string };

const review = (id: number): Listed => ({ id, created_at: new Date(id * 1000).toISOString() });

/** A service that holds reviews 1 to `count`, shows no page over 30, and tells the last page as asked. */
function serviceOf(count: number, lastPage: 'real' | 'capped' | 'absent') {
  return tinyService(({ params }: Seen) => {
    const [page, limit] = [Number(params.get('page')), Number(params.get('limit'))];
    const all = Array.from({ length: count }, (_, index) => review(index + 1));
    const real = Math.max(1, Math.ceil(count / limit));
    const last = { real, capped: Math.min(30, real), absent: undefined }[lastPage];
    const body = all.slice((page - 1) * limit, page * limit);
    return json(body, last === undefined ? {} : { link: `<x?page=${last}>; rel="last"` });
  });
}

async function readAll(url: string, params: { limit?: number } = {}) {
  const ids: number[] = [];
  const read = async () => {
    const pages = client(url).reviews.listAll({ ...january, ...params });
    for await (const { items } of pages) ids.push(...items.map(({ id }) => id));
  };
  const error = await read().catch((reason: unknown) => reason);
  return { ids, error };
}

test.each([
  [61, 'real'],
  [61, 'capped'],
  [61, 'absent'],
  [60, 'capped'],
  [60, 'absent'],
  // A service may leave hidden reviews out: then page 30 is short although others follow.
  [59, 'capped'],
] as const)(
  'a list of %i that may continue after page 30 (last page: %s) ends in an error with a hint',
  async (count, lastPage) => {
    const service = await serviceOf(count, lastPage);
    const { ids, error } = await readAll(service.url, { limit: 2 });
    expect(ids).toHaveLength(Math.min(count, 60));
    expect(error).toBeInstanceOf(PageLimitError);
    expect(error).toMatchObject({ retryable: false, hint: expect.stringContaining('narrow the period') });
    expect(Math.max(...service.calls().map(({ params }) => Number(params.get('page'))))).toBe(30);
  },
);

test('a short page 30 without a Link header is the end of the list', async () => {
  const service = await serviceOf(59, 'absent');
  expect(await readAll(service.url, { limit: 2 })).toMatchObject({ ids: { length: 59 }, error: undefined });
});

test('less than thirty pages cost one request each', async () => {
  const service = await serviceOf(5, 'real');
  expect((await readAll(service.url, { limit: 2 })).ids).toEqual([1, 2, 3, 4, 5]);
  expect(service.calls()).toHaveLength(3);
});

const tooLong = { start_datetime: '2024-01-01 00:00:00', end_datetime: '2024-02-15 00:00:01' };

test.each<[string, object]>([
  ['46 days', { start_date: '2024-01-01', end_date: '2024-02-15' }],
  ['45 days and a second', tooLong],
  ['a start alone that is over 45 days ago', { start_date: '2024-01-01' }],
  ['an end before the start', { start_date: '2024-01-02', end_date: '2024-01-01' }],
  ['days and times', { start_date: '2024-01-01', end_datetime: '2024-01-02 00:00:00' }],
  ['a day that is none', { start_date: '2024-02-30', end_date: '2024-03-01' }],
  ['a time with an offset', { start_datetime: '2024-01-01T00:00:00+09:00' }],
  ['page 31', { ...january, page: 31 }],
  ['page 0', { ...january, page: 0 }],
  ['a limit of 101', { ...january, limit: 101 }],
  ['a limit of 0', { ...january, limit: 0 }],
  ['a score of 6', { ...january, score: 6 }],
  ...['product_code', 'user_code', 'category_code', 'tag_name', 'third_party_name', 'sub_brand_code'].map(
    (name): [string, object] => [`an empty ${name}`, { ...january, [name]: '' }],
  ),
  ...['product_id', 'category_id', 'sub_brand_id'].map((name): [string, object] => [
    `a ${name} of 0`,
    { ...january, [name]: 0 },
  ]),
])('%s is refused with a TypeError before anything is sent', async (_what, params) => {
  const service = await tinyService(() => json([]));
  const { reviews } = client(service.url, { now: () => Date.parse('2024-03-01T00:00:00Z') });
  await expect(reviews.list(params as ReviewListParams)).rejects.toThrow(TypeError);
  if (!('page' in params)) await expect(reviews.listAll(params).next()).rejects.toThrow(TypeError);
  expect(service.seen).toEqual([]);
});

test('a period of 45 days is requested', async () => {
  const service = await tinyService(() => json([]));
  const { reviews } = client(service.url);
  await reviews.list({ start_date: '2024-02-01', end_date: '2024-03-16' });
  await reviews.list({ start_datetime: '2024-02-01 00:00:00', end_datetime: '2024-03-17 00:00:00' });
  expect(service.calls()).toHaveLength(2);
});

test('a period that only looks too long from another zone is left to the service', async () => {
  const service = await tinyService(() => json([]));
  const { reviews } = client(service.url, { now: () => Date.parse('2024-02-15T09:00:00Z') });
  // In the west of the world it is still the 14th, so that these may be 45 days.
  await reviews.list({ start_date: '2024-01-01' });
  expect(service.calls()).toHaveLength(1);
});

test('the filters of orders are checked like those of reviews', async () => {
  const service = await tinyService(() => json([]));
  const { orders } = client(service.url);
  for (const params of [{ paid_on: '05.01.2024' }, { usernames: [] }, { usernames: ['a,b'] }, { page: 0 }]) {
    await expect(orders.list(params)).rejects.toThrow(TypeError);
  }
  expect(service.seen).toEqual([]);
  await orders.list({ usernames: ['su1', 'su2'], paid_on: '2024-01-05' });
  expect(service.calls()[0]?.params.get('usernames')).toBe('su1,su2');
});

test('days and times together are refused by the types too', () => {
  // @ts-expect-error one kind only
  const both: ReviewListParams = { start_date: '2024-01-01', end_datetime: '2024-01-02 00:00:00' };
  // @ts-expect-error 0 to 5
  const rating: ReviewListParams = { score: 6 };
  expect([both, rating]).toHaveLength(2);
});
