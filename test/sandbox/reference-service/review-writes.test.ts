import { expect, test } from 'vitest';
import { aReview, runService } from './service.ts';

test('a product that many name for the first time at once is made once', async () => {
  const { call } = await runService();
  for (let product_id = 1; product_id <= 25; product_id += 1) {
    const json = { ...aReview, code: undefined, product_id, product_code: `P-${product_id}` };
    const posts = Array.from({ length: 8 }, () => call('POST', '/v1/reviews', { json }));
    expect(new Set((await Promise.all(posts)).map(({ status }) => status))).toEqual(new Set([201]));
  }
});

test('the highest product id that may be given leaves ids for products that only have a code', async () => {
  const { call } = await runService();
  const product_id = 999_999_999_999_999;
  expect((await call('POST', '/v1/reviews', { json: { product_id: product_id + 1 } })).status).toBe(422);
  expect((await call('POST', '/v1/reviews', { json: { product_id } })).status).toBe(201);
  const { body } = await call('POST', '/v1/reviews', { json: { product_code: 'P-1' } });
  expect(body.product_id).toBeGreaterThan(product_id);
  const listed = await call('GET', '/v1/reviews', { query: { product_id: body.product_id } });
  expect(listed.body.map(({ id }: { id: number }) => id)).toEqual([body.id]);
});

test('a review’s writing time cannot be emptied, nor leave the years that an answer can tell', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/reviews', { json: aReview })).body;
  for (const created_at of ['', null, true, '0000-01-01', '9999-12-31T23:59:59-15:59', '0001-01-01T00:00:00+15:59']) {
    const { status, body } = await call('PATCH', `/v1/reviews/${id}`, { json: { created_at } });
    expect([status, body.errors]).toEqual([422, [expect.stringMatching(/^created_at: found .*, expected /)]]);
  }
});

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
