import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { startReferenceService } from '../../src/reference-service/index.ts';
import { seedReviews } from '../../src/reference-service/seed.ts';
import { createDatabase, query } from '../harness/database.ts';
import { until } from '../harness/world.ts';
import { anOrder, runService } from './service.ts';

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
