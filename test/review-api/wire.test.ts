import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { MalformedResponseError, RefusedError } from '../../src/review-api/index.ts';
import { client, failureOf, january, json, order, quick, tinyService } from './tiny-service.ts';

const encoded = (body: Buffer | string, encoding?: string) => ({
  body,
  headers: encoding === undefined ? {} : { 'content-encoding': encoding },
});
const text = JSON.stringify([{ id: 1 }]);

test.each([
  ['gzip, as the header says', encoded(gzipSync(text), 'gzip')],
  ['deflate', encoded(deflateSync(text), 'deflate')],
  ['brotli', encoded(brotliCompressSync(text), 'br')],
  ['gzip without a header', encoded(gzipSync(text))],
  ['plain with the header of gzip', encoded(text, 'gzip')],
  ['plain with the header of brotli', encoded(text, 'br')],
])('a body in %s is read', async (_name, reply) => {
  const service = await tinyService(() => reply);
  expect((await client(service.url).reviews.page(january, 1)).rawBody.toString()).toBe(text);
});

test('a token and a refusal in gzip are read, and we say what we read', async () => {
  let accepted: string | undefined;
  const service = await tinyService(
    () => ({ status: 422, ...encoded(gzipSync(JSON.stringify({ message: 'price is odd' })), 'gzip') }),
    () => encoded(gzipSync(JSON.stringify({ access_token: 'tok-1' })), 'gzip'),
  );
  service.server.on('request', ({ headers }) => {
    accepted = headers['accept-encoding'];
  });
  const error = await failureOf(client(service.url).orders.get(1));
  expect(error).toBeInstanceOf(RefusedError);
  expect([error.detail, accepted]).toEqual(['message: price is odd', 'gzip']);
});

test('a body in brotli is read, whatever its first byte is', async () => {
  const bodies = Array.from({ length: 40 }, (_, n) => JSON.stringify([{ id: 1, message: 'x'.repeat(n) }]));
  const packed = bodies.map((body) => brotliCompressSync(body));
  // A vertical tab, which a pattern of white space matches.
  expect(packed.some(([first]) => first === 0x0b)).toBe(true);
  const service = await tinyService((_seen, nth) => encoded(packed[nth - 1] ?? Buffer.of(), 'br'));
  const api = client(service.url);
  for (const body of bodies) expect((await api.reviews.page(january, 1)).rawBody.toString()).toBe(body);
});

test('the limit of a body is one of what it inflates to, and a broken one is an error', async () => {
  const bomb = gzipSync(Buffer.alloc(40 * 1024 * 1024, ' '));
  const service = await tinyService((_seen, nth) =>
    nth === 1 ? encoded(bomb, 'gzip') : encoded(gzipSync(text).subarray(0, 20), 'gzip'),
  );
  const api = client(service.url, { retry: { ...quick, attempts: 1 } });
  const error = await failureOf(api.reviews.page(january, 1));
  expect(error).toBeInstanceOf(MalformedResponseError);
  expect(error.message).toContain('larger than allowed, 8,388,608 bytes');
  expect((await failureOf(api.reviews.page(january, 1))).message).toContain('the body is compressed, and broken');
});

const warning =
  '<br />\n<b>Warning</b>:  Undefined key "x[0]" of minji@shop.example in <b>/w/api.php</b> on line <b>7</b><br />\n';

test('JSON behind a warning is used, a write with it is done, and the warning is logged once, masked', async () => {
  const lines: string[] = [];
  const log = {
    debug() {},
    info() {},
    warn: (fields: object, message: string) => lines.push(JSON.stringify(fields) + message),
  };
  const service = await tinyService(({ method, path }) => {
    if (method === 'PUT') return { body: `${warning}{"ok":true}` };
    return path.endsWith('/reviews') ? { body: `\ufeff\nDeprecated: old\n${text}` } : { body: `${warning}{"id":5}` };
  });
  const api = client(service.url, { log });
  await api.subOrders.update(1, 2, { status: 'paid' });
  expect(await api.subOrders.create(1, { product_id: 3, price: '1' })).toEqual({ id: 5 });
  expect((await api.reviews.page(january, 1)).rawBody.toString()).toBe(text);
  expect(lines).toEqual([
    expect.stringMatching(/Warning : Undefined key .*the review service writes text before its JSON/),
  ]);
  expect(lines[0]).not.toContain('minji');
});

test.each(['<html><body>[1]</body></html>', 'Fatal error: see []', `${warning}{"id":`])(
  'a page or a text that ends otherwise is no data: %s',
  async (body) => {
    const service = await tinyService(() => ({ body }));
    await expect(client(service.url).reviews.page(january, 1)).rejects.toThrow(MalformedResponseError);
  },
);

test('a request asks for no stored answer; a stored detail is refused, a stored list proves what was so then', async () => {
  const [old, caching] = [{ age: '540', 'x-cache': 'HIT' }, [] as (string | undefined)[]];
  const service = await tinyService(({ path }, nth) => {
    if (path === '/v1/reviews') return json([], old);
    return json(order(1), nth < 3 ? old : {});
  });
  service.server.on('request', ({ headers }) => caching.push(headers['cache-control']));
  const api = client(service.url);
  expect(await api.orders.get(1)).toMatchObject({ id: 1 });
  expect(service.calls()).toHaveLength(3);
  const before = Date.now();
  const { requestedAt } = await api.reviews.page(january, 1);
  expect(before - requestedAt.getTime()).toBeGreaterThan(538_000);
  expect(api.stats().oldestMs).toBe(540_000);
  expect(new Set(caching.slice(1))).toEqual(new Set(['no-cache']));
  const dates = { first_review_created_at: null, last_review_created_at: null };
  const overview = await tinyService(() => json(dates, old));
  const { requestedAt: shownAt } = await client(overview.url).reviews.overview();
  expect(Date.now() - shownAt.getTime()).toBeGreaterThan(539_000);
  for (const headers of [{ age: '60' }, { 'x-cache': 'MISS' }]) {
    const fresh = await tinyService(() => json(order(1), headers));
    expect(await client(fresh.url).orders.get(1)).toMatchObject({ id: 1 });
    expect(fresh.calls()).toHaveLength(1);
  }
  const kept = await tinyService(() => json(order(1), old));
  expect((await failureOf(client(kept.url).orders.get(1))).detail).toBe('it comes from a cache and is 540 s old');
});

test.each([
  ['older than a minute', { age: '61' }, 2],
  ['of a cache', { 'x-cache': 'HIT from edge-7', age: '3' }, 2],
  ['not older than a minute', { age: '60' }, 1],
  ['that a cache has passed on', { 'x-cache': 'MISS from edge-7' }, 1],
])('a list %s is asked for again, once, where that helps', async (_, headers, requests) => {
  const obeying = await tinyService((_seen, nth) => json([], nth % 2 === 1 ? headers : {}));
  const api = client(obeying.url);
  for (let list = 1; list <= 3; list += 1) {
    const { requestedAt } = await api.reviews.page(january, 1);
    if (requests === 2) expect(Date.now() - requestedAt.getTime()).toBeLessThan(2000);
    expect(obeying.calls()).toHaveLength(list * requests);
  }
  const deaf = await tinyService(() => json([], headers));
  const other = client(deaf.url);
  for (let list = 1; list <= 3; list += 1) await other.reviews.page(january, 1);
  expect(deaf.calls()).toHaveLength(2 + requests);
});
