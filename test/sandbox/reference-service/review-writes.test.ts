import { expect, test } from 'vitest';
import { aReview, runService } from './service.ts';

test('images show from the next second on, and count as a change at that second', async () => {
  let now = new Date('2024-06-15T03:00:00Z');
  const { call } = await runService({ now: () => now });
  const image_urls = ['https://example.com/1.jpg', 'https://example.com/2.jpg'];
  const { body } = await call('POST', '/v1/reviews', { json: { ...aReview, image_urls } });
  expect([body.images_count, body.review_type]).toEqual([0, 'text']);
  now = new Date('2024-06-15T03:00:05Z');
  const later = (await call('GET', `/v1/reviews/${body.id}`)).body;
  expect([later.images_count, later.review_type]).toEqual([2, 'photo']);
  expect(later.images.map((image: { url: string }) => image.url)).toEqual(image_urls);
  expect(later.updated_at).toBe('2024-06-15T12:00:01.000+09:00');
});
