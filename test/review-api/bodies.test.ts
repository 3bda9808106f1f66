import { expect, test } from 'vitest';
import { MalformedResponseError, UnknownOutcomeError } from '../../src/review-api/index.ts';
import { client, january, json, quick, tinyService } from './tiny-service.ts';

test('a body larger than allowed is an error that says so, and never fills the memory', async () => {
  const service = await tinyService(() => json([{ id: 1, message: 'x'.repeat(50_000) }]));
  const api = client(service.url, { maxBodyBytes: 20_000 });
  const error = await api.reviews.page(january, 1).catch((reason) => reason);
  expect(error).toBeInstanceOf(MalformedResponseError);
  expect(error.message).toContain('the body is larger than allowed');
  const write = await api.subOrders.create(5, { product_id: 3, price: '1' }).catch((reason) => reason);
  expect(write).toBeInstanceOf(UnknownOutcomeError);
});

test('without a setting of its own the client reads at most 8 MiB of a body', async () => {
  const service = await tinyService(() => ({ body: Buffer.alloc(8 * 1024 * 1024 + 1, ' ') }));
  const api = client(service.url, { retry: { ...quick, attempts: 1, malformedAttempts: 1 } });
  await expect(api.reviews.page(january, 1)).rejects.toThrow('the body is larger than allowed');
});

test('a body that is not UTF-8 is an error where the client reads its texts, and kept as bytes where it does not', async () => {
  const bytes = Buffer.concat([Buffer.from('[{"id":1,"message":"'), Buffer.from([0xc1, 0xaf]), Buffer.from('"}]')]);
  const service = await tinyService(() => ({ body: bytes, headers: { 'content-type': 'application/json' } }));
  const api = client(service.url);
  const error = await api.reviews.list(january).catch((reason) => reason);
  expect(error).toBeInstanceOf(MalformedResponseError);
  expect(error.message).toContain('UTF-8');
  expect((await api.reviews.page(january, 1)).rawBody).toEqual(bytes);
});

test('a byte order mark before the JSON is no fault, and is no part of a review', async () => {
  const service = await tinyService(({ path }) => ({
    body: path.endsWith('/1') ? '\ufeff{"id":1}' : '\ufeff[{"id":1}]',
  }));
  const { reviews } = client(service.url);
  expect((await reviews.list(january)).items).toMatchObject([{ id: 1 }]);
  expect((await reviews.getRaw(1)).rawBody.toString()).toBe('{"id":1}');
});
