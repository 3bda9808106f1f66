import { expect, test } from 'vitest';
import { AuthenticationError } from '../../src/review-api/index.ts';
import { client, failureOf, january, json, order, type Seen, secretToken, tinyService } from './tiny-service.ts';

const tokenOf = (seen: Seen) => seen.params.get('access_token');

test('twenty callers whose token was refused renew it once', async () => {
  const service = await tinyService(({ params }) =>
    params.get('access_token') === secretToken(1) ? { status: 401 } : json(order(1)),
  );
  const api = client(service.url);
  const found = await Promise.all(Array.from({ length: 20 }, () => api.orders.get(1)));
  expect(found).toHaveLength(20);
  expect(service.tokenRequests()).toBe(2);
});

test.each([{ status: 401 }, { status: 403, body: { error: 'The access token expired' } }])(
  'a write that met %o is repeated with the new token, also one that is never repeated blindly',
  async (refusal) => {
    const service = await tinyService((_seen, nth) => (nth === 1 ? refusal : { status: 201, body: { id: 7 } }));
    const api = client(service.url);
    expect(await api.subOrders.create(1, { product_id: 3, price: '12.50' })).toEqual({ id: 7 });
    expect(service.calls().map(tokenOf)).toEqual([secretToken(1), secretToken(2)]);
    expect(service.calls()[1]?.body).toContain('price=12.50');
  },
);

test('two fresh tokens refused in a row end in an AuthenticationError', async () => {
  const service = await tinyService(() => ({ status: 401, body: { error: 'no' } }));
  await expect(client(service.url).orders.get(1)).rejects.toThrow(AuthenticationError);
  expect(service.calls()).toHaveLength(2);
});

test('a path that answers 401 for ever ends too, while other paths accept every token', async () => {
  const service = await tinyService(({ path }) => (path === '/v1/orders/9' ? { status: 401 } : json(order(1))));
  const api = client(service.url, { concurrency: 2 });
  let over = false;
  const others = (async () => {
    while (!over) await api.orders.get(1);
  })();
  await expect(api.orders.get(9)).rejects.toThrow(AuthenticationError);
  over = true;
  await others;
});

test('five hundred calls share tokens that live for 25 requests, since a refused request keeps its slot', async () => {
  const served = new Map<string, number>();
  const service = await tinyService(({ path, params }) => {
    const token = params.get('access_token') ?? '';
    served.set(token, (served.get(token) ?? 0) + 1);
    return (served.get(token) ?? 0) > 25 ? { status: 401 } : json(order(Number(path.split('/').at(-1))));
  });
  const api = client(service.url, { concurrency: 8 });
  const calls = Array.from({ length: 500 }, (_, n) => api.orders.get(n + 1));
  expect(await Promise.all(calls)).toHaveLength(500);
  expect(service.tokenRequests()).toBeLessThan(25);
});

test('refused credentials are told at once, in the words of the service', async () => {
  const service = await tinyService(
    () => json([]),
    () => ({ status: 401, body: { error: 'invalid_client' } }),
  );
  const error = await failureOf(client(service.url).authenticate());
  expect(error).toBeInstanceOf(AuthenticationError);
  expect(error).toMatchObject({ method: 'POST', path: '/oauth/token', status: 401, detail: 'error: invalid_client' });
  expect(error.hint).toContain('check the client id and the client secret');
  expect(service.seen).toHaveLength(1);
});

test.each([301, 404, 405])(
  'a base address that is another’s (%i) is named as such, not as wrong credentials',
  async (status) => {
    const service = await tinyService(
      () => json([]),
      () => ({ status, body: { error: 'no such path' } }),
    );
    const error = await failureOf(client(service.url).reviews.overview());
    expect(error).toMatchObject({ status, hint: expect.stringContaining('base address') });
  },
);

test('an empty token is not used', async () => {
  const service = await tinyService(
    () => json([]),
    () => json({ access_token: '' }),
  );
  await expect(client(service.url).authenticate()).rejects.toThrow('expected text as access_token, got none');
});

test.each([
  [100, 2],
  ['100', 2],
  [0, 1],
  ['soon', 1],
])('a token that lives %j s is renewed ahead of its end: after 91 s it is token %i', async (expires_in, last) => {
  let nowMs = 1_000_000;
  const service = await tinyService(
    () => json(order(1)),
    (_seen, nth) => json({ access_token: secretToken(nth), expires_in }),
  );
  const api = client(service.url, { now: () => nowMs });
  await api.orders.get(1);
  nowMs += 89_000;
  await api.orders.get(1);
  nowMs += 2_000;
  await api.orders.get(1);
  expect(service.calls().map(tokenOf)).toEqual([secretToken(1), secretToken(1), secretToken(last)]);
});

test('a service that fails when asked for a token is asked again', async () => {
  const service = await tinyService(
    () => json([]),
    (_seen, nth) => (nth < 3 ? { status: 503 } : json({ access_token: secretToken(nth) })),
  );
  expect((await client(service.url).reviews.page(january, 1)).items).toEqual([]);
  expect(service.tokenRequests()).toBe(3);
});

test('the token goes into the body of writes and the query of the others', async () => {
  const service = await tinyService(({ method }) =>
    method === 'POST' ? { status: 201, body: order(1) } : { status: 204 },
  );
  const api = client(`${service.url}/proxy/`);
  await api.orders.upsert({ code: 'A-1', created_at: '2024-01-01T00:00:00+09:00', total_price: '1.00' });
  await api.orders.remove(1);
  const [write, remove] = service.calls();
  expect(write).toMatchObject({ path: '/proxy/v1/orders', query: '' });
  expect(write?.body).toContain(`access_token=${secretToken(1)}`);
  expect(remove).toMatchObject({ path: '/proxy/v1/orders/1', query: `access_token=${secretToken(1)}`, body: '' });
});
