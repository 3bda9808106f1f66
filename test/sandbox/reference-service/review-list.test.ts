import { expect, test } from 'vitest';
import { type SeedReview, seedReviews } from '../../../src/sandbox/reference-service/seed.ts';
import { type Running, runService } from './service.ts';

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
