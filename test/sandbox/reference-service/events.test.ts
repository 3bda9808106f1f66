import { expect, test } from 'vitest';
import { runCli, startHere } from '../../harness/cli.ts';
import { createDatabase, query } from '../../harness/database.ts';
import { runService, tokenOf } from './service.ts';
import { startReceiver } from './webhook-receiver.ts';

const noon = '2024-06-15T12:00:00.000+09:00';
const review = (id: number, updated_at = noon) => [{ brand_id: 1, reviews: [{ id, updated_at }] }];
const summary = (id: number, reviews_count: number, score: number) => [
  {
    brand_id: 1,
    products: [{ id, code: null, reviews_count, score, meta_reviews_count: reviews_count, meta_score: score }],
  },
];

test('each change of a review tells of it, then of the summaries that it changes', async () => {
  let now = new Date(noon);
  const receiver = await startReceiver();
  const { call, service } = await runService({ now: () => now, receivers: [receiver.url] });
  /** The bodies since it was last asked. */
  const said = async () => {
    await service.webhooksIdle();
    return receiver.received.splice(0).map((request) => request.body);
  };
  const { id } = (await call('POST', '/v1/reviews', { product_id: 7, message: 'm', score: 5 })).body;
  const unrated = (await call('POST', '/v1/reviews', { product_id: 7, message: 'm' })).body.id;
  await service.webhooksIdle();
  const { method, headers } = receiver.received[0] ?? {};
  expect([method, headers?.['content-type']]).toEqual(['POST', expect.stringMatching(/^application\/json\b/)]);
  await said();
  await call('PATCH', `/v1/reviews/${unrated}`, { message: 'other' });
  expect(await said()).toEqual([review(unrated)]);
  now = new Date('2024-06-15T03:00:01.5Z');
  const later = '2024-06-15T12:00:01.500+09:00';
  await call('PATCH', `/v1/reviews/${id}`, { score: 4 });
  expect(await said()).toEqual([review(id, later), summary(7, 2, 4)]);
  await call('PATCH', `/v1/reviews/${id}`, { display: 0 });
  expect(await said()).toEqual([review(id, later), summary(7, 1, 0)]);
  await call('PATCH', `/v1/reviews/${id}`, { score: 1 });
  expect(await said(), 'a hidden review counts for nothing').toEqual([review(id, later)]);
  await call('PATCH', `/v1/reviews/${unrated}`, { product_id: 8 });
  const products = [...summary(7, 0, 0), ...summary(8, 1, 0)].flatMap((brand) => brand.products);
  expect((await said()).at(-1)).toEqual([{ brand_id: 1, products: expect.arrayContaining(products) }]);
  await call('DELETE', `/v1/reviews/${unrated}`);
  expect(await said()).toEqual([summary(8, 0, 0)]);
});

test('the command reference-service obeys each of its options, and refuses odd values', async () => {
  const databaseUrl = await createDatabase('service');
  const started = async (options: string) => {
    const command = `reference-service --database-url ${databaseUrl} --port 0 ${options}`;
    const service = startHere(command.split(' '), {});
    await service.says('Ctrl-C ends it.');
    return /listens on (\S+)\./.exec(service.saidSoFar())?.[1] ?? '';
  };
  const url = await started('--client-id me --client-secret mine --time-zone UTC --token-ttl 7');
  await expect(tokenOf(url)).rejects.toThrow('no token: 401');
  const post = (path: string, fields: Record<string, string>) =>
    fetch(url + path, { method: 'POST', body: new URLSearchParams(fields) });
  const client = { grant_type: 'client_credentials', client_id: 'me', client_secret: 'mine' };
  const token = (await (await post('/oauth/token', client)).json()) as { access_token: string };
  expect(token).toMatchObject({ expires_in: 7 });
  const { access_token } = token;
  await post('/v1/orders', { code: 'A', total_price: '1', created_at: '2026-01-01 00:00:00', access_token });
  expect(await query(databaseUrl, 'select created_at from reference_service.orders')).toEqual([
    { created_at: new Date('2026-01-01T00:00:00Z') },
  ]);

  const slow = await started('--latency 200 --fail-rate 1 --rate-limit 0.01');
  const startedAt = performance.now();
  // A failure may be a broken connection.
  const asked = async () => (await fetch(`${slow}/v1/orders`).catch(() => undefined))?.status ?? 500;
  expect(await asked()).toBeGreaterThanOrEqual(500);
  // A lower bound only: a timer of Node may end a millisecond early.
  expect(performance.now() - startedAt).toBeGreaterThan(190);
  expect(await asked()).toBe(429);
  for (const wrong of ['--time-zone Mars', '--fail-rate 2']) {
    const { status, stderr } = await runCli(['reference-service', ...wrong.split(' ')], {});
    expect([status, stderr]).toEqual([2, expect.stringContaining(wrong.split(' ')[0] ?? '')]);
  }
});
