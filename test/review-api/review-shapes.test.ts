import { expect, test } from 'vitest';
import { MalformedResponseError } from '../../src/review-api/index.ts';
import { client, january, json, quick, tinyService } from './tiny-service.ts';

const once = { retry: { ...quick, attempts: 1 } };

async function readReview(body: object) {
  const service = await tinyService(() => json(body));
  return client(service.url, once).reviews.get(7);
}

test('a review with nothing but its id has null for what is absent and empty lists', async () => {
  const { id, score, display, images, options, comments, product_options } = await readReview({ id: '7' });
  expect({ id, score, display, images, options, comments, product_options }).toEqual({
    id: 7,
    score: null,
    display: null,
    images: [],
    options: [],
    comments: null,
    product_options: {},
  });
});

test('flags may come as 1 and 0, texts as numbers, numbers as texts, and an option without value', async () => {
  const sent = { id: 7, display: 1, store_order: 0, code: 12, sub_brand_id: '-3', product_options: { Size: null } };
  const read = { display: true, store_order: false, code: '12', sub_brand_id: -3, product_options: { Size: '' } };
  expect(await readReview(sent)).toMatchObject(read);
});

test('unknown fields pass, in the review and in its images, videos, options and comments', async () => {
  const image = { url: 'https://i/1', width: 10, alt: 'x' };
  const sent = { id: 7, mood: 'sunny', images: [image], videos: [{ sd_url: 'https://v/1', length: 3 }] };
  const review = await readReview({ ...sent, comments: [{ id: 1, message: 'Thanks' }] });
  expect(review).toMatchObject({ ...sent, comments: [{ id: 1, message: 'Thanks' }] });
  expect(review.images[0]).toMatchObject({ gallery_url: null, thumbnail_height: null });
  expect(review.videos[0]?.hd_url).toBeNull();
});

test('additional information comes in the default form and in the v2 form, and the two can be told apart', async () => {
  const option = { id: 1, review_id: 7, review_option_type_id: 2, value: '165', created_at: null, updated_at: null };
  const v2 = { ...option, id: 2, option_type_name: 'Height', value_text: '165 cm' };
  const { options } = await readReview({ id: 7, options: [option, v2] });
  expect(options).toEqual([option, v2]);
  expect(options.map((one) => ('value_text' in one ? one.value_text : undefined))).toEqual([undefined, '165 cm']);
});

test.each<[field: string, body: object]>([
  ['score', { id: 7, score: 'five' }],
  ['score, got a number with a fraction', { id: 7, score: 4.5 }],
  ['display', { id: 7, display: 'yes' }],
  ['images', { id: 7, images: 'none' }],
  ['message', { id: 7, message: { text: 'Kim Minji' } }],
  ['options.id', { id: 7, options: [{ value: 'x' }] }],
  ['id', { id: null }],
])(
  'a review whose %s is of another type is a MalformedResponseError that names the field, not what it holds',
  async (field, body) => {
    const error = await readReview(body).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(MalformedResponseError);
    expect(error).toMatchObject({ detail: expect.stringContaining(`as ${field}`) });
    expect(String(error)).not.toMatch(/Minji|five/);
  },
);

test('of a list the item at fault is told, while the export takes the page as it is', async () => {
  const service = await tinyService(() => json([{ id: 1 }, { id: 2, score: 'five' }, 'poison']));
  const { reviews } = client(service.url, once);
  await expect(reviews.list(january)).rejects.toThrow(/item 2 of the list: expected an integer as score, got string/);
  expect((await reviews.page(january, 1)).items).toHaveLength(3);
});

test('what the typed reading refuses, the raw one shows; another review than the one asked for neither', async () => {
  const service = await tinyService(({ path }) => json({ id: path.endsWith('/7') ? 7 : 9, score: 'five' }));
  const { reviews } = client(service.url, once);
  expect((await reviews.getRaw(7)).item).toEqual({ id: 7, score: 'five' });
  await expect(reviews.getRaw(8)).rejects.toThrow(/got another one \(9\)/);
  await expect(reviews.get(8)).rejects.toThrow(MalformedResponseError);
});

test('a write that the service would refuse, or could not read, is refused before it is sent', async () => {
  const service = await tinyService(() => ({ status: 204 }));
  const { reviews } = client(service.url);
  const noScore = { score: null } as unknown as { score: number };
  for (const call of [
    ...[
      () => reviews.upsert({ score: 6 }),
      () => reviews.upsert({ score: 0 }),
      () => reviews.upsert({ image_urls: ['1', '2', '3', '4', '5'] }),
    ],
    ...[() => reviews.update(1, { image_urls: [] }), () => reviews.put(1, { options: [] })],
    ...[() => reviews.updateByCode('r', noScore), () => reviews.updateByCode('', { score: 1 })],
    ...[() => reviews.update(1, { product_code: '' }), () => reviews.put(1, { product_options: {} })],
  ]) {
    await expect(call()).rejects.toThrow(TypeError);
  }
  await expect(reviews.get('5' as unknown as number)).rejects.toThrow('expected id to be a positive integer, got "5"');
  expect(service.seen).toEqual([]);
});
