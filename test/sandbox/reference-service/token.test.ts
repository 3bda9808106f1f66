import { expect, test } from 'vitest';
import { createDatabase } from '../../harness/database.ts';
import { runService, tokenOf } from './service.ts';

test('a token ends when its time is over, which the answer told', async () => {
  let now = new Date('2024-01-05T00:00:00Z');
  const { call } = await runService({ tokenTtlSeconds: 60, now: () => now });
  const form = 'grant_type=client_credentials&client_id=demo&client_secret=demo';
  const { body } = await call('POST', '/oauth/token', { token: null, form });
  expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 60 });
  expect((await call('GET', '/v1/orders', { token: body.access_token })).status).toBe(200);
  now = new Date('2024-01-05T00:01:00Z');
  expect((await call('GET', '/v1/orders', { token: body.access_token })).status).toBe(401);
});

test('tokens can be ended all at once', async () => {
  const { call, service } = await runService();
  expect((await call('GET', '/v1/orders')).status).toBe(200);
  await service.expireTokens();
  expect((await call('GET', '/v1/orders')).status).toBe(401);
});

test('a token is good at another instance on the same database, and so is the data', async () => {
  const databaseUrl = await createDatabase();
  const [one, other] = await Promise.all([runService({ databaseUrl }), runService({ databaseUrl })]);
  const token = await tokenOf(one.url);
  await one.call('POST', '/v1/user_grades', { token, json: { name: 'Gold' } });
  const { status, body } = await other.call('GET', '/v1/user_grades', { token });
  expect([status, body.length]).toEqual([200, 1]);
});
