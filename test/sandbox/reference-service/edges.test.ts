import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startReferenceService } from '../../../src/sandbox/reference-service/index.ts';
import { seedReviews } from '../../../src/sandbox/reference-service/seed.ts';
import { createDatabase, query } from '../../harness/database.ts';
import { until } from '../../harness/world.ts';
import { anOrder, openClient, runService, tokenOf, waitingForLocks } from './service.ts';

test('JSON that is none is 400, a path that is none 404, both in JSON', async () => {
  const { call, url } = await runService();
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/orders`, { method: 'POST', headers, body: '{"code":' });
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: expect.any(String), errors: [expect.any(String)] },
  ]);
  expect((await call('GET', '/v1/nothing')).body).toEqual({ error: 'no such path', errors: ['no such path'] });
  expect((await call('GET', '/v1/orders/abc')).status).toBe(404);
});

test('an empty JSON body is no parameters, and strange field names do no harm', async () => {
  const { call } = await runService();
  const headers = { 'content-type': 'application/json' };
  expect((await call('DELETE', '/v1/orders/1', { headers })).status).toBe(404);
  const form = '__proto__[]=x&a=1&a[]=2&a[][b]=3&[=&constructor=y&code=c&name=n';
  expect((await call('POST', '/v1/categories', { form })).body).toMatchObject({ code: 'c', name: 'n' });
});

test('text that Postgres cannot hold is refused, not an error of the service', async () => {
  const { call } = await runService();
  expect((await call('POST', '/v1/orders', { json: { ...anOrder, user_name: 'a\u0000b' } })).status).toBe(422);
  expect((await call('POST', '/v1/orders', { json: { ...anOrder, total_price: 1e30 } })).status).toBe(422);
});

test('no field, and no text however long, makes the service fail', async () => {
  const { call } = await runService();
  // Random, for Postgres would press an even one into its index.
  const long = randomBytes(6000).toString('hex');
  const category = { code: 'c', name: 'C' };
  for (const [path, json] of [
    ['/v1/orders', { ...anOrder, code: long }],
    ['/v1/orders', { ...anOrder, user_code: long }],
    ['/v1/categories', { ...category, code: long }],
    ['/v1/reviews', { code: long }],
    ['/v1/reviews', { product_code: long }],
    ['/v1/reviews', { options: [{ review_option_type_id: 1, created_at: '2024-01-05', value: '1', code: long }] }],
    ['/webhook_receivers', { url: `http://127.0.0.1/${long}` }],
  ] as const) {
    const { status, body } = await call('POST', path, { json });
    expect([status, body.error]).toEqual([
      422,
      expect.stringMatching(/^[\w.[\]]+: found .*, expected a text of .*500|2000/),
    ]);
  }
  expect((await call('POST', '/v1/reviews', { json: { message: long } })).status).toBe(201);
});

test('a body that is no object, is too deep or is of another type is refused, not passed over', async () => {
  const { call, url } = await runService();
  const bearer = `Bearer ${await tokenOf(url)}`;
  const post = async (body: string, type = 'application/json') => {
    const headers = { 'content-type': type, authorization: bearer };
    const answer = await fetch(`${url}/v1/reviews`, { method: 'POST', headers, body });
    return [answer.status, ((await answer.json()) as { errors: unknown }).errors];
  };
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  for (const body of ['[]', '5', '"x"', 'null', deep(100_000)]) {
    expect(await post(body)).toEqual([400, ['expected a JSON object']]);
  }
  for (const name of ['message', 'unknown']) {
    expect(await post(`{"${name}":${deep(100_000)}}`)).toEqual([400, ['expected JSON of at most 20 levels']]);
  }
  expect(await post('message=x', 'text/plain')).toEqual([415, [expect.any(String)]]);
  expect((await call('GET', '/v1/reviews')).body).toEqual([]);
});

test('a path that cannot be read is told in the words of all errors, without its token', async () => {
  const { url } = await runService();
  for (const [path, status] of [
    ['/v1/orders/%zz?access_token=secret', 400],
    [`/v1/orders/${'9'.repeat(600)}?access_token=secret`, 414],
  ] as const) {
    const answer = await fetch(`${url}${path}`);
    const reason = 'the path cannot be read';
    expect([answer.status, await answer.json()]).toEqual([status, { error: reason, errors: [reason] }]);
  }
});

test.each(['GET /v1/orders HTTP/1.0', 'GET /v1/orders HTTP/1.1\r\nHost: ', 'GET /v1/orders HTTP/1.1\r\nHost: a b'])(
  'a list is answered whatever the Host: %j',
  async (request) => {
    const { url } = await runService();
    const { port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`${request}\r\nAuthorization: Bearer ${await tokenOf(url)}\r\nConnection: close\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
    expect(answer).toContain(`link: <http://127.0.0.1:${port}/v1/orders?page=1>; rel="last"`);
  },
);

test('of two requests that wait for each other in Postgres, none fails', async () => {
  const { call, databaseUrl } = await runService();
  await using other = await openClient(databaseUrl);
  /** Whether Postgres ended the request's transaction. On a busy machine it may end the other one. */
  async function isRequestEnded(a: string, b: string): Promise<boolean> {
    for (const code of [a, b]) await call('POST', '/v1/categories', { json: { code, name: code } });
    const lock = (code: string) =>
      other.query('select from reference_service.categories where code = $1 for update', [code]);
    await other.query('begin');
    await lock(a);
    const written = call('PATCH', '/v1/categories', { json: { code: b, parent_category_code: a } });
    await waitingForLocks(databaseUrl, 1);
    const ended = await lock(b).then(
      () => true,
      (error: { code?: string }) => {
        if (error.code !== '40P01') throw error;
        return false;
      },
    );
    await other.query('commit');
    expect((await written).status).toBe(204);
    return ended;
  }
  await expect.poll(() => isRequestEnded(randomUUID(), randomUUID()), { timeout: 60_000 }).toBe(true);
});

test('a sub-order of an order that is just being deleted is 404', async () => {
  const { call, databaseUrl } = await runService();
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  await using other = await openClient(databaseUrl);
  await other.query('begin');
  await other.query('delete from reference_service.orders');
  const added = call('POST', `/v1/orders/${id}/sub_orders`, { json: { product_id: 1 } });
  await waitingForLocks(databaseUrl, 1);
  await other.query('commit');
  expect((await added).status).toBe(404);
});

test('the Date header follows the service’s clock', async () => {
  const { call } = await runService({ now: () => new Date('2013-01-02T03:04:05.678Z') });
  expect((await call('GET', '/v1/orders')).headers.get('date')).toBe('Wed, 02 Jan 2013 03:04:05 GMT');
});

test('requests are counted by method and route', async () => {
  const { call, service } = await runService();
  await call('GET', '/v1/orders/1');
  await call('GET', '/v1/orders/2');
  expect(service.requests()).toEqual({ 'POST /oauth/token': 1, 'GET /v1/orders/:id': 2 });
});

test('over its rate the service answers 429 with the seconds to wait, until it is told otherwise', async () => {
  const { call, service } = await runService();
  await call('GET', '/v1/orders');
  service.setFaults({ rateLimitPerSecond: 0.01 });
  await call('GET', '/v1/orders');
  const { status, headers } = await call('GET', '/v1/orders');
  expect([status, Number(headers.get('retry-after')) > 1]).toEqual([429, true]);
  service.setFaults({ rateLimitPerSecond: undefined });
  expect((await call('GET', '/v1/orders')).status).toBe(200);
});

test('a failing request ends in 500, 503, or a broken connection before or after the work', async () => {
  const chosen: number[] = [];
  const { call, service, databaseUrl } = await runService({ random: () => chosen.shift() ?? 0.99 });
  await call('GET', '/v1/orders');
  service.setFaults({ failRate: 0.5 });
  const codes: string[] = [];
  for (const kind of [0, 0.2, 0.4, 0.6, 0.8]) {
    chosen.push(0, kind);
    const code = `A-${kind}`;
    const answer = await call('POST', '/v1/orders', { json: { ...anOrder, code } }).catch(() => undefined);
    codes.push(answer ? `${answer.status} ${answer.headers.get('retry-after')}` : 'broken');
  }
  expect(codes).toEqual(['500 null', '503 1', '503 null', 'broken', 'broken']);
  expect(await query(databaseUrl, 'select code from reference_service.orders')).toEqual([{ code: 'A-0.8' }]);
});

test('what is stored is there after a restart', async () => {
  const databaseUrl = await createDatabase();
  const first = await startReferenceService({ databaseUrl });
  await first.close();
  const { call } = await runService({ databaseUrl });
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  const again = await runService({ databaseUrl });
  expect((await again.call('GET', `/v1/orders/${id}`)).body.code).toBe('A-1');
});

test('closing waits for what is under way and for nothing else', async () => {
  const service = await startReferenceService({ databaseUrl: await createDatabase(), latencyMs: 300 });
  const underWay = fetch(`${service.url}/v1/orders`);
  while (service.requests()['GET /v1/orders'] === undefined) await new Promise(setImmediate);
  const closed = service.close();
  expect((await underWay).status).toBe(401);
  await closed;
  await expect(fetch(service.url)).rejects.toThrow();
});

test('a port that is taken is an error, and leaves nothing open', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const databaseUrl = await createDatabase();
  await expect(startReferenceService({ databaseUrl, port })).rejects.toThrow('EADDRINUSE');
  const others = 'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
  // Postgres counts a session until it has seen its connection end.
  await until(async () => (await query(databaseUrl, others)).length === 0);
  taken.close();
});

test('seeds go in more than once, in batches, and are numbered by their dates', async () => {
  const databaseUrl = await createDatabase();
  const reviews = Array.from({ length: 6000 }, (_, index) => {
    const created_at = new Date(Date.UTC(2024, 0, 1) + index * 1000);
    return { product_code: `P-${index % 7}`, message: 'm', score: 5, created_at, updated_at: created_at };
  });
  await seedReviews(databaseUrl, reviews);
  await seedReviews(databaseUrl, reviews.slice(0, 1));
  const [counted] = await query(
    databaseUrl,
    'select count(*)::integer as all, count(distinct product_id)::integer as products, max(id)::integer as last from reference_service.reviews',
  );
  expect(counted).toEqual({ all: 6001, products: 7, last: 6001 });
});
