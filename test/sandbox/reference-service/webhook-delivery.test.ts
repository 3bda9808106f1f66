import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { startReferenceService } from '../../../src/sandbox/reference-service/index.ts';
import { createDatabase, query } from '../../harness/database.ts';
import { until } from '../../harness/world.ts';
import { aReview, runService } from './service.ts';
import { startReceiver } from './webhook-receiver.ts';

/** Tells of one review: without a product there is no other event. */
const json = { message: 'm' };
const quick = { firstRetryMs: 1, longestRetryMs: 1 };
const kept = 'select attempts, last_error, gave_up_at is not null as is_given_up from reference_service.webhook_events';

test('a receiver is registered, shown without its secret, and removed, by those who have a token', async () => {
  const { call } = await runService({ now: () => new Date('2024-06-15T03:00:00Z') });
  const receiver = await startReceiver();
  expect((await call('GET', '/webhook_receivers', { token: null })).status).toBe(401);
  const made = await call('POST', '/webhook_receivers', { json: { url: receiver.url, secret: 'hush' } });
  const shown = {
    id: 1,
    url: receiver.url,
    has_secret: true,
    created_at: '2024-06-15T12:00:00.000+09:00',
    delivered_at: null,
    waiting: 0,
    failed: 0,
    attempts: 0,
    next_at: null,
    last_error: null,
  };
  expect([made.status, made.headers.get('location'), made.body]).toEqual([201, '/webhook_receivers', shown]);
  const again = (await call('POST', '/webhook_receivers', { form: `url=${receiver.url}` })).body;
  expect(again, 'an absent secret stays').toEqual(shown);
  const open = (await call('POST', '/webhook_receivers', { json: { url: receiver.url, secret: '' } })).body;
  expect(open).toEqual({ ...shown, has_secret: false });
  expect((await call('GET', '/webhook_receivers')).body).toEqual([open]);
  expect((await call('DELETE', '/webhook_receivers/1')).status).toBe(204);
  expect((await call('DELETE', '/webhook_receivers/1')).status).toBe(404);
  expect((await call('GET', '/webhook_receivers')).body).toEqual([]);
});

test('an address that nothing can be sent to is refused by name', async () => {
  const { call, databaseUrl } = await runService();
  for (const url of ['', 'example.com/hook', 'ftp://example.com', 'http://kim:hush@example.com']) {
    const { status, body } = await call('POST', '/webhook_receivers', { json: { url } });
    expect([url, status, body.errors]).toEqual([url, 422, [expect.stringMatching(/^url: found/)]]);
  }
  const started = startReferenceService({ databaseUrl, receivers: [{ url: 'nowhere' }] });
  await expect(started).rejects.toThrow('url: found "nowhere", expected an http or https address');
});

test('with a secret the raw body is signed, without one it is not', async () => {
  const [signed, plain] = [await startReceiver(), await startReceiver()];
  const receivers = [{ url: signed.url, secret: 'hush' }, { url: plain.url }];
  const { call, service } = await runService({ receivers });
  await call('POST', '/v1/reviews', { json: { ...aReview, product_code: '상품-1' } });
  await service.webhooksIdle();
  expect(signed.received).toHaveLength(3);
  for (const { raw, headers } of signed.received) {
    expect(headers['x-signature']).toBe(`sha256=${createHmac('sha256', 'hush').update(raw).digest('hex')}`);
  }
  expect(plain.received.map((request) => request.headers['x-signature'])).toEqual([undefined, undefined, undefined]);
  expect(plain.received.map((request) => request.raw)).toEqual(signed.received.map((request) => request.raw));
});

test('what is not answered with 2xx is sent again until it is; a redirect is not followed', async () => {
  const receiver = await startReceiver();
  const { call, service } = await runService({ receivers: [{ url: receiver.url }], webhooks: quick });
  for (const answer of [500, 302, 307, 404]) {
    receiver.answer = answer;
    const from = receiver.received.length;
    await call('POST', '/v1/reviews', { json });
    await until(async () => receiver.received.length >= from + 2);
    const [shown] = (await call('GET', '/webhook_receivers')).body;
    expect(shown).toMatchObject({ waiting: 1, failed: 0, delivered_at: from === 0 ? null : expect.any(String) });
    expect(shown.last_error).toBe(`the receiver answered ${answer}, expected 2xx`);
    receiver.answer = 204;
    await service.webhooksIdle();
    const sent = receiver.received.slice(from);
    expect(new Set(sent.map(({ method, path, raw }) => `${method} ${path} ${raw}`)).size).toBe(1);
  }
});

test('a receiver that does not answer, or is not there, is tried again', async () => {
  const receiver = await startReceiver();
  const receivers = [{ url: receiver.url }];
  const { call, service, databaseUrl } = await runService({ receivers, webhooks: { ...quick, timeoutMs: 200 } });
  const lastError = async () => (await query<{ last_error: string | null }>(databaseUrl, kept))[0]?.last_error;
  receiver.answer = 'hang';
  await call('POST', '/v1/reviews', { json });
  expect(await until(async () => (await lastError()) ?? undefined)).toBe('the receiver gave no answer within 200 ms');
  receiver.close();
  expect(await until(async () => (await lastError())?.match(/ECONNREFUSED/)?.[0])).toBe('ECONNREFUSED');
  const back = await startReceiver(Number(new URL(receiver.url).port));
  await service.webhooksIdle();
  expect(back.received).toHaveLength(1);
});

test('after the last attempt an event is given up and stays to be seen, and the next one is tried', async () => {
  const receiver = await startReceiver();
  receiver.answer = 500;
  const webhooks = { ...quick, attempts: 3 };
  const { call, service, databaseUrl } = await runService({ receivers: [{ url: receiver.url }], webhooks });
  await call('POST', '/v1/reviews', { json });
  await service.webhooksIdle();
  expect(receiver.received).toHaveLength(3);
  const last_error = 'the receiver answered 500, expected 2xx';
  expect(await query(databaseUrl, kept)).toEqual([{ attempts: 3, last_error, is_given_up: true }]);
  expect((await call('GET', '/webhook_receivers')).body).toMatchObject([
    { waiting: 0, failed: 1, attempts: 3, next_at: null, last_error },
  ]);
  receiver.answer = 200;
  await call('POST', '/v1/reviews', { json });
  await service.webhooksIdle();
  expect(receiver.received).toHaveLength(4);
});

test('one receiver that hangs keeps no other waiting', async () => {
  const [dead, alive] = [await startReceiver(), await startReceiver()];
  dead.answer = 'hang';
  const { call } = await runService({ receivers: [{ url: dead.url }, { url: alive.url }] });
  for (const n of [1, 2, 3]) {
    await call('POST', '/v1/reviews', { json });
    await until(async () => alive.received.length === n);
  }
  expect(dead.received).toHaveLength(1);
});

test('what waited when the service ended is sent after its next start, a delivery in the air too', async () => {
  const receiver = await startReceiver();
  receiver.answer = 'hang';
  const databaseUrl = await createDatabase();
  const receivers = [{ url: receiver.url }];
  const first = await runService({ databaseUrl, receivers });
  await first.call('POST', '/v1/reviews', { json });
  await until(async () => receiver.received.length === 1);
  await first.call('POST', '/v1/reviews', { json });
  await first.service.close();
  expect(await query(databaseUrl, kept)).toEqual(Array(2).fill({ attempts: 0, last_error: null, is_given_up: false }));
  receiver.answer = 200;
  const second = await runService({ databaseUrl });
  await second.service.webhooksIdle();
  const reviews = [1, 2].map((id) => ({ id, updated_at: expect.any(String) }));
  expect(receiver.received.map((request) => request.body)[1]).toEqual([{ brand_id: 1, reviews }]);
});

test('closing lets a delivery under way end', async () => {
  const receiver = await startReceiver();
  const answer = Promise.withResolvers<number>();
  receiver.answer = answer.promise;
  const databaseUrl = await createDatabase();
  const { call, service } = await runService({ databaseUrl, receivers: [{ url: receiver.url }] });
  await call('POST', '/v1/reviews', { json });
  await until(async () => receiver.received.length === 1);
  const closed = service.close();
  answer.resolve(200);
  await closed;
  expect(await query(databaseUrl, kept)).toEqual([]);
});

test('two instances send each event once, and never two at a time to one receiver', async () => {
  const receiver = await startReceiver();
  const databaseUrl = await createDatabase();
  const webhooks = { batch: 3 };
  const one = await runService({ databaseUrl, webhooks, receivers: [{ url: receiver.url }] });
  const two = await runService({ databaseUrl, webhooks });
  const posts = Array.from({ length: 60 }, (_, n) => (n % 2 ? one : two).call('POST', '/v1/reviews', { json }));
  const ids = (await Promise.all(posts)).map(({ body }) => body.id).sort((a, b) => a - b);
  await one.service.webhooksIdle();
  const told = receiver.received.flatMap(({ body }) => body as { reviews: { id: number }[] }[]);
  expect(told.flatMap((brand) => brand.reviews.map((review) => review.id)).sort((a, b) => a - b)).toEqual(ids);
  expect(receiver.mostAtOnce).toBe(1);
});

test('writes at the same time end in a summary that counts them all', async () => {
  const receiver = await startReceiver();
  const { call, service } = await runService({ receivers: [{ url: receiver.url }] });
  const posts = Array.from({ length: 40 }, () => call('POST', '/v1/reviews', { json: aReview }));
  await Promise.all(posts);
  await service.webhooksIdle();
  const summaries = receiver.received.filter(({ raw }) => raw.includes('reviews_count'));
  expect(summaries.at(-1)?.body).toMatchObject([{ products: [{ reviews_count: 40, score: 5 }] }]);
});
