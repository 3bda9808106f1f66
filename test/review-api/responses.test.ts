import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  MalformedResponseError,
  type ReviewApi,
  UnavailableError,
  UnknownOutcomeError,
} from '../../src/review-api/index.ts';
import { client, failureOf, january, json, order, quick, type Reply, tinyService } from './tiny-service.ts';

type ApiCall = (api: ReviewApi) => Promise<unknown>;

const orderBody = { code: 'A-1', created_at: '2024-01-01T00:00:00+09:00', total_price: '12.50' };
const page: ApiCall = (api) => api.reviews.page(january, 1);
const list: ApiCall = (api) => api.reviews.list(january);
const upsert: ApiCall = (api) => api.orders.upsert(orderBody);
const getOrder: ApiCall = (api) => api.orders.get(1);
const getReview: ApiCall = (api) => api.reviews.get(7);
const overview: ApiCall = (api) => api.reviews.overview();
const updates: ApiCall[] = [
  (api) => api.subOrders.update(5, 6, { status: 'paid' }),
  (api) => api.categories.update(5, { name: 'Shoes' }),
];
const removals: ApiCall[] = [(api) => api.subOrders.remove(5, 6), (api) => api.orders.remove(5)];
const creations: ApiCall[] = [
  (api) => api.subOrders.create(5, { product_id: 3, price: '12.50' }),
  (api) => api.userGrades.create({ name: 'Gold' }),
  (api) => api.reviews.upsert({ product_code: 'P', score: 5, message: 'Fits well.' }),
];

const html = '<html><body>Maintenance [1]</body></html>';
const warning =
  '<br />\n<b>Warning</b>:  Undefined key "x[0]" of minji@shop.example in <b>/w/api.php</b> on line <b>7</b><br />\n';
const tooBig = 'a number beyond 2^53 - 1';

test.each<[detail: string, call: ApiCall, body: unknown]>([
  ['expected JSON, got HTML with status 200; Maintenance', page, html],
  ['expected JSON, got HTML with status 200; Warning', page, `${warning}[{"message":"Kim Minji","score":`],
  ['expected an array, got object', page, { data: [] }],
  ['expected no error, got one with status 200; error: busy', page, { error: 'busy' }],
  ['expected JSON, got an empty body with status 200', page, undefined],
  ['expected no error, got one with status 200', getReview, { id: 7, error: 'not available' }],
  ['expected JSON in UTF-8', list, Buffer.from([0x5b, 0x22, 0xc1, 0xaf, 0x22, 0x5d])],
  ['item 2 of the list: expected an integer as score, got string', list, [{ id: 1 }, { id: 2, score: 'five' }]],
  ['expected no error, got one with status 200; error: try again later', overview, { error: 'try again later' }],
  [`an integer as id, got ${tooBig}`, upsert, '{"code": "A-1", "id": "9007199254740993", "sub_orders": []}'],
  [`text as code, got ${tooBig}`, getOrder, '{"id": 1, "code": 20240101123456789, "sub_orders": []}'],
  [`as sub_orders.id, got ${tooBig}`, upsert, '{"code": "A-1", "id": 1, "sub_orders": [{"id": 1e999}]}'],
  ['as id', getOrder, {}],
  ['as sub_orders', getOrder, { id: 1, code: 'A' }],
  ['as sub_orders.id', getOrder, order(1, { sub_orders: [{ id: null }] })],
  ['got an array', getOrder, []],
  ['got another one (6)', getOrder, order(6)],
  ['got another one (6)', (api) => api.reviews.getRaw(5), { id: 6 }],
  ['as score, got a number with a fraction', getReview, { id: 7, score: 4.5 }],
  ['as display', getReview, { id: 7, display: 'yes' }],
  ['as images', getReview, { id: 7, images: 'none' }],
  ['as message', getReview, { id: 7, message: { text: 'Kim Minji' } }],
  ...[...updates, ...removals].map((call): [string, ApiCall, string] => ['expected no web page', call, html]),
])('a 200 that is not what was asked for: %s', async (detail, call, body) => {
  const service = await tinyService(() => ({ body }));
  const error = await failureOf(call(client(service.url)));
  expect(error).toBeInstanceOf(MalformedResponseError);
  expect(error).toMatchObject({ attempts: 4, detail: expect.stringContaining(detail) });
  expect(service.calls()).toHaveLength(4);
  expect(String(error)).not.toMatch(/Minji|five/);
});

const unknown: Reply[] = ['lost', 'half', { status: 408 }, { status: 502, body: html }, { status: 201, body: html }];

test.each<[Reply, asked?: ApiCall[]]>([
  ...[...unknown, { body: { id: 7, error: 'could not save' } }].map((reply): [Reply] => [reply]),
  ...[0, '0', -1].map((id): [Reply, ApiCall[]] => [json({ id, name: 'Gold' }), creations.slice(0, 2)]),
])('a creation is not sent again after %o', async (reply, asked = creations) => {
  const service = await tinyService(() => reply);
  for (const [index, create] of asked.entries()) {
    const error = await failureOf(create(client(service.url)));
    expect(error).toBeInstanceOf(UnknownOutcomeError);
    expect(service.calls()).toHaveLength(index + 1);
    expect(error).toMatchObject({ method: 'POST', path: service.calls().at(-1)?.path });
  }
});

test.each(['half', 'silent', 'trickling'] as const)(
  'a read and an upsert are sent again after a first response that is %s',
  async (reply) => {
    const silent = new Promise<Reply>(() => {});
    const service = await tinyService(({ method }, nth) => {
      if (nth === 1) return reply === 'silent' ? silent : reply;
      return method === 'GET' ? json([{ id: 1 }]) : { status: 201, body: order(4, { code: 'A-1' }) };
    });
    const api = client(service.url, { timeoutMs: 1000 });
    const both = await Promise.all([page(api), upsert(api)]);
    expect(both).toMatchObject([{ items: [{ id: 1 }] }, { id: 4 }]);
  },
);

test.each<[body: unknown, says: string]>([
  [{ error: 'could not save' }, 'error: could not save'],
  [{ errors: ['of minji@shop.example'] }, 'errors: of '],
  [{ success: false }, 'got one with status 200'],
  [{ status: 'error', message: 'invalid' }, 'invalid'],
  [{ code: 400, msg: 'x' }, 'got one with status 200'],
  [{ status: 500 }, 'got one with status 200'],
  [{ result: false }, 'got one with status 200'],
  [{ ok: false }, 'got one with status 200'],
  [{ success: 'false' }, 'got one with status 200'],
  [{ id: 7, error: 'could not save' }, 'error: could not save'],
  ['Array\nPHP Fatal error: Uncaught Exception', 'got a fatal one with status 200'],
  [{}, ''],
  [{ error: null, errors: {}, success: true, code: 399, status: 0, result: 500 }, ''],
  [{ id: 5, error: 'of a delivery', invoice: 'I-1' }, ''],
  [{ id: 5, code: 'A-1', message: 'a "fatal error"' }, ''],
  [{ id: 5, status: 'failed', code: 'A-1' }, ''],
])('a write that is answered by %j and 200 was carried out, unless that says: %s', async (body, says) => {
  const service = await tinyService(() => ({ body }));
  for (const write of [...updates, ...removals]) {
    const error = await failureOf(write(client(service.url)));
    if (says === '') expect(error).not.toBeInstanceOf(Error);
    else expect(error).toBeInstanceOf(MalformedResponseError);
    expect(String(error)).toContain(says);
    expect(String(error)).not.toContain('minji');
  }
});

test('a redirect or 304 is a failure; it is not followed, and its token is not quoted', async () => {
  const location = 'http://127.0.0.1:1/x?access_token=t';
  const replies = [{ status: 302, headers: { location } }, { status: 304 }];
  const service = await tinyService((_seen, nth) => replies[nth - 1] ?? json(order(1)));
  expect(await getOrder(client(service.url))).toMatchObject({ id: 1 });
  const always = await tinyService(() => ({ status: 301, headers: { location } }));
  const error = await failureOf(upsert(client(always.url, { retry: { ...quick, attempts: 2 } })));
  expect(error).toBeInstanceOf(UnavailableError);
  expect(error).toMatchObject({ status: 301, detail: 'redirected to http://127.0.0.1:1/x', attempts: 2 });
});

test('a deletion is done with 200, 201, 204, 404 and 410; another success says nothing', async () => {
  for (const status of [200, 201, 204, 404, 410]) {
    for (const body of status > 400 ? [html, { error: 'not found' }, 'Fatal error'] : ['gone']) {
      const service = await tinyService(() => ({ status, body }));
      for (const remove of removals) expect(await remove(client(service.url))).toBe(status < 300);
      expect(service.calls()).toHaveLength(removals.length);
    }
  }
  for (const status of [202, 203, 205]) {
    const service = await tinyService(() => ({ status }));
    for (const write of [...updates, ...removals]) {
      const error = await failureOf(write(client(service.url)));
      expect(error).toBeInstanceOf(UnknownOutcomeError);
      expect(error.message).toContain(`expected status 200, 201 or 204, got ${status}`);
    }
    expect(service.calls()).toHaveLength(4);
  }
});

const encoded = (body: Buffer | string, encoding?: string) => ({
  body,
  headers: { ...(encoding && { 'content-encoding': encoding }) },
});
const text = JSON.stringify([{ id: 1, message: '가 é' }]);

/** As a page is. Brotli of 64 kB to 1 MB begins with the byte of "[". */
const long = JSON.stringify([{ id: 1, message: '가 é'.repeat(20_000) }]);

test.each<[name: string, reply: Reply]>([
  ['gzip, as the header says', encoded(gzipSync(long), 'gzip')],
  ['deflate', encoded(deflateSync(long), 'deflate')],
  ['deflate without the bytes of zlib', encoded(deflateRawSync(long), 'deflate')],
  ['brotli', encoded(brotliCompressSync(long), 'BR')],
  ['zstd', encoded(zstdCompressSync(long), 'zstd')],
  ['gzip twice', encoded(gzipSync(gzipSync(long)), 'gzip, gzip')],
  ['brotli, then gzip', encoded(gzipSync(brotliCompressSync(long)), 'br, gzip')],
  ['gzip without a header', encoded(gzipSync(long))],
  ['plain with the header of gzip', encoded(long, 'gzip')],
  ['plain with the header of brotli', encoded(long, 'br')],
  ['plain with the header of deflate', encoded(long, 'deflate')],
  ['a byte order mark', encoded(`\ufeff${long}`)],
  ['a byte order mark with the header of brotli', encoded(`\ufeff${long}`, 'br')],
  ['a byte order mark in gzip', encoded(gzipSync(`\ufeff${long}`), 'gzip')],
])('a body in %s is read', async (_name, reply) => {
  const service = await tinyService(() => reply);
  const { reviews } = client(service.url);
  expect((await reviews.page(january, 1)).rawBody.toString()).toBe(long);
  expect((await reviews.list(january)).items).toMatchObject([{ id: 1, message: expect.stringContaining('가 é') }]);
  expect(service.calls()[0]?.headers['accept-encoding']).toBe('gzip');
});

test('a list of reviews that is 204, "no content", is empty', async () => {
  const { reviews } = client((await tinyService(() => ({ status: 204 }))).url);
  expect(await reviews.page(january, 1)).toMatchObject({ rawBody: Buffer.from('[]'), items: [] });
});

test('a body may be as large as allowed, inflated, and bytes that no text has are kept', async () => {
  const bomb = gzipSync(Buffer.alloc(40 * 1024 * 1024, ' '));
  const bytes = Buffer.from('[{"id":1,"message":"\xc1\xaf"}]', 'latin1');
  const replies = [encoded(bomb, 'gzip'), encoded(gzipSync(text).subarray(0, 20), 'gzip'), { body: bytes }];
  const service = await tinyService((_seen, nth) => replies[nth - 1] ?? 'lost');
  const api = client(service.url, { retry: { ...quick, attempts: 1 } });
  const error = await failureOf(page(api));
  expect(error).toBeInstanceOf(MalformedResponseError);
  expect(error.message).toContain('larger than allowed, 8,388,608 bytes');
  expect((await failureOf(page(api))).message).toContain('the body is compressed, and broken');
  expect((await api.reviews.page(january, 1)).rawBody).toEqual(bytes);

  const large = await tinyService(() => json([{ id: 1, message: 'x'.repeat(50_000) }]));
  const small = client(large.url, { maxBodyBytes: 20_000 });
  expect((await failureOf(page(small))).message).toContain('the body is larger than allowed');
  expect(await failureOf(small.userGrades.create({ name: 'Gold' }))).toBeInstanceOf(UnknownOutcomeError);
});

test('JSON behind a warning is used, and the warning is logged once, masked', async () => {
  const lines: string[] = [];
  const warn = (fields: object, message: string) => lines.push(JSON.stringify(fields) + message);
  const service = await tinyService(({ method, path }) => {
    if (method === 'PUT') return { body: `Warning: Undefined key of minji@shop.example\n{"ok":true}` };
    return path.endsWith('/reviews') ? { body: `\ufeff\nDeprecated: old\n${text}` } : { body: `${warning}{"id":5}` };
  });
  const api = client(service.url, { log: { debug() {}, info() {}, warn } });
  await api.subOrders.update(1, 2, { status: 'paid' });
  expect(await api.subOrders.create(1, { product_id: 3, price: '1' })).toEqual({ id: 5 });
  expect((await api.reviews.page(january, 1)).rawBody.toString()).toBe(text);
  expect(lines).toEqual([
    expect.stringMatching(/Warning: Undefined key .*the review service writes text beside its JSON/),
  ]);
  expect(lines[0]).not.toContain('minji');
});

test('a stored detail is refused, a stored list proves what was so when it was stored', async () => {
  const old = { age: '540', 'x-cache': 'HIT' };
  const service = await tinyService(({ path }, nth) => {
    if (path === '/v1/reviews') return json([], old);
    if (path === '/v1/reviews/overview')
      return json({ first_review_created_at: null, last_review_created_at: null }, old);
    if (path.endsWith('/3')) return { status: 404, body: '{}', headers: old };
    return json(order(1), nth < 3 || path.endsWith('/2') ? old : {});
  });
  const api = client(service.url);
  expect(await api.orders.get(1)).toMatchObject({ id: 1 });
  expect(service.calls()).toHaveLength(3);
  const before = Date.now();
  for (const { requestedAt } of [await api.reviews.page(january, 1), await api.reviews.overview()])
    expect(before - requestedAt.getTime()).toBeGreaterThan(538_000);
  expect(api.stats().oldestMs).toBe(540_000);
  expect(new Set(service.calls().map(({ headers }) => headers['cache-control']))).toEqual(new Set(['no-cache']));
  // A stored 404 is no proof either: the order may have been made since.
  for (const id of [2, 3])
    expect((await failureOf(api.orders.get(id))).detail).toBe('it comes from a cache and is 9 min old');
  const tooOld = await tinyService(() => json([], { age: '3660' }));
  const { detail } = await failureOf(client(tooOld.url).reviews.page(january, 1));
  expect(detail).toMatch(/^it comes from a cache and is 1 h.* old$/);
});

test.each([
  ['older than a minute', { age: '61' }, 2],
  ['of a cache', { 'x-cache': 'HIT from edge-7', age: '3' }, 2],
  ['older than a minute at one of two caches', { age: '540, 0' }, 2],
  ['of a content network', { 'cf-cache-status': 'HIT' }, 2],
  ['of nginx', { 'x-cache-status': 'HIT' }, 2],
  ['of nginx, under its other name', { 'x-proxy-cache': 'STALE' }, 2],
  ['of LiteSpeed', { 'x-litespeed-cache': 'hit' }, 2],
  ['of a cache that gave it away stale', { 'x-cache': 'TCP_STALE from edge' }, 2],
  ['that a cache did not have', { 'x-cache': 'MISS', 'cf-cache-status': 'DYNAMIC', 'x-cache-status': 'EXPIRED' }, 1],
  ['that a cache has refreshed', { 'x-cache': 'RefreshHit from cloudfront' }, 1],
  ['not older than a minute', { age: '60' }, 1],
])('a list %s is asked for again, once, where that helps', async (_, headers, requests) => {
  const obeying = await tinyService((_seen, nth) => json([], nth % 2 === 1 ? headers : {}));
  const api = client(obeying.url);
  for (let lists = 1; lists <= 3; lists += 1) {
    const { requestedAt } = await api.reviews.page(january, 1);
    if (requests === 2) expect(Date.now() - requestedAt.getTime()).toBeLessThan(2000);
    expect(obeying.calls()).toHaveLength(lists * requests);
  }
  const deaf = await tinyService(() => json([], headers));
  const other = client(deaf.url);
  for (let lists = 1; lists <= 3; lists += 1) await other.reviews.page(january, 1);
  expect(deaf.calls()).toHaveLength(2 + requests);
});

const shown = <T>(body: T) => tinyService(() => json(body)).then(({ url }) => client(url));

test('of an order, ids become numbers, unknown fields pass, absent ones stay absent', async () => {
  const price = { cents: 1250, currency_iso: 'USD' };
  const odd = { id: 12, product_id: 0, price: { cents: null }, product_options: [{ name: 'size' }], reviews_count: '' };
  const subOrders = [{ id: '11', product_id: 3, product_options: [], price }, odd];
  const sent = order(4, { id: '4', store: 'x', sub_orders: subOrders });
  const found = await (await shown(sent)).orders.get(4);
  expect(found).toMatchObject({ id: 4, store: 'x', sub_orders: [{ id: 11, product_options: {}, price }, { id: 12 }] });
  expect(found).not.toHaveProperty('user_code');
  expect(found.sub_orders[0]).toMatchObject({ reviews_count: null });
  // A field that the service writes otherwise is not shown: one sub-order must not make its order unreadable.
  const none = { product_id: null, price: null, product_options: undefined, reviews_count: null };
  expect(found.sub_orders[1]).toMatchObject({ id: 12, ...none });
});

test('of a review, absent fields are null, unknown ones pass, odd types are read', async () => {
  const bare = await (await shown({ id: '7' })).reviews.get(7);
  const empty = { images: [], options: [], comments: null, product_options: {} };
  expect(bare).toMatchObject({ id: 7, score: null, display: null, ...empty });

  const odd = { display: 1, store_order: 0, code: 12, sub_brand_id: '-3', product_options: { Size: null } };
  const image = { url: 'https://i/1', width: 10, alt: 'x' };
  const option = { id: 1, review_id: 7, review_option_type_id: 2, value: '165', created_at: null, updated_at: null };
  const v2 = { ...option, id: 2, option_type_name: 'Height', value_text: '165 cm' };
  const sent = { id: 7, mood: 'sunny', images: [image], videos: [{ sd_url: 'https://v/1', length: 3 }] };
  const review = await (await shown({ ...sent, ...odd, comments: [{ id: 1 }], options: [option, v2] })).reviews.get(7);
  const read = { display: true, store_order: false, code: '12', sub_brand_id: -3, product_options: { Size: '' } };
  expect(review).toMatchObject({ ...sent, ...read, comments: [{ id: 1 }] });
  expect(review.images[0]).toMatchObject({ gallery_url: null, thumbnail_height: null });
  expect(review.videos[0]?.hd_url).toBeNull();
  expect(review.options).toEqual([option, v2]);

  // If the typed reading refuses a record, the export and the raw reading take it as it is.
  expect((await (await shown({ id: 7, score: 'five' })).reviews.getRaw(7)).item).toEqual({ id: 7, score: 'five' });
  expect((await (await shown([{ id: 2, score: 'five' }, 'poison'])).reviews.page(january, 1)).items).toHaveLength(2);
});

test('a record by its code is taken from a list in any spelling, its own first', async () => {
  const found = [order(1), order(2), order(3), order(4, { code: 'a-3' })];
  const service = await tinyService(({ path }) => {
    const id = Number(/\d$/.exec(path)?.[0]);
    return json(id === 2 ? order(2, { code: ' a-2' }) : (found[id - 1] ?? found));
  });
  const api = client(service.url);
  for (const { getByCode } of [api.orders, api.categories, api.reviews]) {
    expect((await getByCode('a-2 ')).id).toBe(2);
    expect((await getByCode('a-3')).id).toBe(4);
    expect((await failureOf(getByCode('A-4'))).message).toContain('a list without it');
  }
});

test('the overview tells the bounds and the clock of the service', async () => {
  const bounds = { first_review_created_at: '2013-01-01T00:00:00.000+09:00', last_review_created_at: null };
  const service = await tinyService(() => json(bounds, { date: 'Wed, 01 May 2024 00:00:30 GMT' }));
  const serviceNow = new Date('2024-05-01T00:00:30Z');
  const expected = { ...bounds, serviceNow, requestedAt: expect.any(Date) };
  expect(await client(service.url).reviews.overview()).toEqual(expected);
});

test('a list that gives the same page again ends in an error, not in a loop', async () => {
  const api = await shown([{ id: 1, code: 'c' }]);
  const read = async () => {
    for await (const _page of api.categories.listAll({ limit: 1 }));
  };
  await expect(read()).rejects.toThrow(/page 2 repeats the page before it/);
});

const notice = 'Warning: key "a" of array[0] in {closure} and "{" on line 7';
const reviews = '[{"id":1,"message":"a } \\" [b"},{"id":2}]';

test.each([
  [`${notice}\n${notice}\n`, reviews, ''],
  [warning, '[]', ''],
  ['12:00:00 Deprecated\n\ufeff', reviews, ''],
  ['', reviews, `\n<br />\n${notice}`],
  ['', '[]', '<!-- 0.03 s -->'],
  ['array(1) {\n  [0]=>\n  string(1) "a"\n}\n', reviews, '\n[30-Nov-2026 09:00:00 UTC] PHP Notice: x'],
])('the JSON beside other text is used: %j', async (before, body, behind) => {
  const service = await tinyService(() => ({ body: before + body + behind }));
  const { reviews } = client(service.url, { retry: { ...quick, attempts: 1 } });
  expect((await reviews.page(january, 1)).rawBody.toString()).toBe(body);
});

test.each([
  '<!doctype html><script>[{"id":1}]</script>',
  '<html>\n[]',
  '[]\nPHP Fatal error: Uncaught Exception',
  '[]<!DOCTYPE html><html>A critical error on this website</html>',
  `[]\n${notice}\n${reviews}`,
  `[{"id":1}], "b": 1`,
  'Fatal error: Uncaught Exception: [{"id":1}] in /w/api.php',
  'Array to string conversion []',
  `${warning}{"id":`,
  `${notice}\n[{"id":1,"b":[{"id":2}],"c":"x\n${notice}]}`,
  `"id":1},\n{"id":2}`,
])('a page or a text that ends otherwise is no data: %s', async (body) => {
  const service = await tinyService(() => ({ body }));
  const { reviews } = client(service.url, { retry: { ...quick, attempts: 1 } });
  await expect(reviews.page(january, 1)).rejects.toThrow(MalformedResponseError);
});
