import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { startReferenceService } from '../../../src/sandbox/reference-service/index.ts';
import { createDatabase, query } from '../../harness/database.ts';
import { until } from '../../harness/world.ts';
import { anOrder, runService, tokenOf } from './service.ts';

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
  ] as const) {
    const { status, body } = await call('POST', path, { json });
    expect([status, body.error]).toEqual([
      422,
      expect.stringMatching(/^[\w.[\]]+: found .*, expected a text of .*500/),
    ]);
  }
  expect((await call('POST', '/v1/reviews', { json: { message: long } })).status).toBe(201);
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

test('a token ends when its time is over, or all at once, and is good at another instance on the same database', async () => {
  let now = new Date('2024-01-05T00:00:00Z');
  const databaseUrl = await createDatabase();
  const { call, service, url } = await runService({ databaseUrl, tokenTtlSeconds: 60, now: () => now });
  const token = await tokenOf(url);
  const statusOf = async () => (await call('GET', '/v1/orders', { token })).status;
  expect(await statusOf()).toBe(200);
  now = new Date('2024-01-05T00:01:00Z');
  expect(await statusOf()).toBe(401);
  const other = await runService({ databaseUrl });
  const another = await tokenOf(other.url);
  await other.call('POST', '/v1/orders', { token: another, json: anOrder });
  expect((await call('GET', '/v1/orders', { token: another })).body).toHaveLength(1);
  await service.expireTokens();
  expect((await call('GET', '/v1/orders', { token: another })).status).toBe(401);
});
