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

test('an option without a value is empty, and a form may name it in brackets', async () => {
  const { call } = await runService();
  const product_options = { Size: null, Colour: 5 };
  const { body } = await call('POST', '/v1/reviews', { json: { product_options } });
  expect(body.product_options).toEqual({ Size: '', Colour: '5' });
  await call('PATCH', `/v1/reviews/${body.id}`, { json: { product_options: [null, 'Size:L'] } });
  expect((await call('GET', `/v1/reviews/${body.id}`)).body.product_options).toEqual({ Size: 'L' });
  const form = 'product_options[Size]=M&product_options[Colour]=red';
  expect((await call('POST', '/v1/reviews', { form })).body.product_options).toEqual({ Size: 'M', Colour: 'red' });
  expect((await call('POST', '/v1/reviews', { form: 'message[x]=y' })).status).toBe(422);
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

test('more than four images, a score of six, or half an option is refused by name', async () => {
  const { call } = await runService();
  const json = {
    ...aReview,
    score: 6,
    display: 'maybe',
    image_urls: ['a', 'b', 'c', 'd', 'e'].map((name) => `https://example.com/${name}.jpg`),
    options: [{ review_option_type_id: 1, value: 'tall' }],
    product_options: ['no colon'],
  };
  const { status, body } = await call('POST', '/v1/reviews', { json });
  expect(status).toBe(422);
  expect(body.errors.map((reason: string) => reason.split(':')[0]).sort()).toEqual(
    ['display', 'image_urls', 'options[0].created_at', 'product_options', 'score'].sort(),
  );
});

test('options given anew take the place of the old; one with a known code keeps its id', async () => {
  const { call } = await runService();
  const option = (value: string, code?: string) => ({
    review_option_type_id: 1,
    created_at: '2024-01-01T00:00:00Z',
    value,
    code,
  });
  const { id, options } = (
    await call('POST', '/v1/reviews', { json: { ...aReview, options: [option('a'), option('b', 'O-1')] } })
  ).body;
  const json = { options: [option('c', 'O-1')] };
  expect((await call('PATCH', `/v1/reviews/${id}`, { json })).status).toBe(204);
  expect((await call('GET', `/v1/reviews/${id}`)).body.options).toMatchObject([{ id: options[1].id, value: 'c' }]);
  const stolen = await call('POST', '/v1/reviews', { json: { ...aReview, options: [option('d', 'O-1')] } });
  expect([stolen.status, (await call('GET', '/v1/reviews')).body.length]).toEqual([422, 1]);
});

test('by id an empty score takes the rating away; by code it is refused', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/reviews', { json: { ...aReview, code: 'R-1' } })).body;
  const byCode = await call('PATCH', '/v1/reviews', { json: { code: 'R-1', score: '' } });
  expect([byCode.status, byCode.body.error]).toEqual([422, expect.stringContaining('score')]);
  expect((await call('PATCH', '/v1/reviews', { form: 'code=R-1&score=2' })).status).toBe(204);
  expect((await call('GET', `/v1/reviews/${id}`)).body.score).toBe(2);
  const byId = await call('PATCH', `/v1/reviews/${id}`, { form: 'score=' });
  expect([byId.status, byId.headers.get('location'), byId.body]).toEqual([204, `/v1/reviews/${id}`, undefined]);
  expect((await call('GET', `/v1/reviews/${id}`)).body.score).toBeNull();
});
