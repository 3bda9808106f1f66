import { expect, onTestFinished, test, vi } from 'vitest';
import { hold, isHeld, look, openSession, renewToken } from '../../src/review-api/http/session.ts';
import { AuthenticationError } from '../../src/review-api/index.ts';
import {
  client,
  failureOf,
  january,
  json,
  orderOf,
  type Reply,
  type Seen,
  secretToken,
  sharedStore,
  tinyService,
} from './tiny-service.ts';

const tokenOf = (seen: Seen) => seen.params.get('access_token');
const manyOf = (count: number, call: (n: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, n) => call(n + 1)));
const tokens = (answering: (seen: Seen, nth: number) => Reply) => tinyService(() => json([]), answering);

test('a write whose token is refused is repeated with a new one', async () => {
  const service = await tinyService((_seen, nth) => (nth === 1 ? { status: 401 } : { status: 201, body: { id: 7 } }));
  expect(await client(service.url).subOrders.create(1, { product_id: 3, price: '12.50' })).toEqual({ id: 7 });
  const writes = service.calls().filter(({ method }) => method === 'POST');
  expect(writes.map(tokenOf)).toEqual([secretToken(1), secretToken(2)]);
  expect(writes[1]?.body).toContain('price=12.50');
});

test('a hold is never shortened by this process, and ends where the store says so', async () => {
  const store = sharedStore();
  const session = openSession(store, { stopped: new AbortController().signal, now: Date.now, onWait() {} });
  const [hour, atMost] = [3_600_000, 24 * 3_600_000];
  await hold(session, hour, 'failed');
  await hold(session, 1000, 'limited');
  expect([store.session.heldReason, session.heldUntilMs > performance.now() + hour / 2]).toEqual(['failed', true]);
  await hold(session, 7 * atMost, 'limited');
  expect(session.heldUntilMs).toBeLessThanOrEqual(performance.now() + atMost);
  await store.set({ heldUntilMs: 0 });
  await look(session);
  expect(isHeld(session)).toBe(false);
});

test.each([
  [0, [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]],
  [1, [250, 500, 1000, 1000]],
  [2, [250, 500, 1000, 1000]],
  [3, []],
])('how long to wait for a token if the ones before were revoked after %i uses each', async (uses, expected) => {
  const waits: number[] = [];
  const onWait = (forMs: number, reason: string) => {
    expect(reason).toBe('the token was revoked soon after it was obtained');
    waits.push(forMs);
  };
  const session = openSession(undefined, { stopped: AbortSignal.abort(), now: Date.now, onWait });
  const token = { value: 'own', renewAtMs: Number.POSITIVE_INFINITY, isOurs: true, isRefused: true, uses };
  for (const _wait of expected.length > 0 ? expected : [0]) {
    session.token = { ...token };
    // The wait meets a signal that has aborted.
    await renewToken(session, async () => undefined).catch(() => {});
  }
  expect(waits).toEqual(expected);
});

test.each([
  [25, 500, 25],
  [1, 12, 14],
])(
  'tokens that serve %i requests each carry %i calls, refused to those in flight only',
  async (uses, calls, mostTokens) => {
    const served: Record<string, number> = {};
    const service = await tinyService((seen) => {
      const token = tokenOf(seen) ?? '';
      served[token] = (served[token] ?? 0) + 1;
      return served[token] > uses ? { status: 401 } : orderOf(seen);
    });
    const api = client(service.url, { concurrency: 8 });
    expect(await manyOf(calls, (n) => api.orders.get(n))).toHaveLength(calls);
    expect(service.tokenRequests()).toBeLessThanOrEqual(mostTokens);
    expect(service.calls().length).toBeLessThanOrEqual(calls + 8 * mostTokens);
  },
);

test('tokens that are refused at first use are counted in a row only', async () => {
  const served: Record<string, number> = { [secretToken(3)]: 0, [secretToken(6)]: 0 };
  const service = await tinyService((seen) => {
    const token = tokenOf(seen) ?? '';
    served[token] = (served[token] ?? 3) + 1;
    return served[token] > 3 ? { status: 401 } : orderOf(seen);
  });
  const api = client(service.url);
  for (const id of [1, 2, 3, 4]) expect(await api.orders.get(id)).toMatchObject({ id });
  expect(service.tokenRequests()).toBe(6);
});

const [credentials, address] = ['check the client id and the client secret', 'http or https in the base address'];
test.each([
  ...[401, 400, 200].map((status) => [status, 'error: invalid_client', credentials] as const),
  ...[404, 405].map((status) => [status, 'error: invalid_client', address] as const),
  [301, 'redirected to https://elsewhere.example', address] as const,
])('a token that is refused with status %i is reported at once: %s; %s', async (status, detail, hint) => {
  const headers = { location: 'https://elsewhere.example?x=1' };
  const service = await tokens(() => ({ status, headers, body: { error: 'invalid_client' } }));
  const api = client(service.url);
  const error = await failureOf(api.authenticate());
  expect(error).toBeInstanceOf(AuthenticationError);
  expect(error).toMatchObject({ method: 'POST', path: '/oauth/token', status, detail });
  expect(error.hint).toContain(hint);
  // For ten seconds no other call asks for one.
  expect(await failureOf(api.orders.get(1))).toBe(error);
  expect(service.seen).toHaveLength(1);
});

test('refused credentials are tried again after ten seconds, the token of another at once', async () => {
  let aheadMs = 0;
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  onTestFinished(() => clock.mockRestore());
  const service = await tokens((_seen, nth) => (nth < 3 ? { status: 401 } : json({ access_token: secretToken(nth) })));
  const session = sharedStore();
  const [alone, shared] = [client(service.url), client(service.url, { session })];
  const read = (api = alone) => failureOf(api.reviews.page(january, 1));
  for (const api of [alone, shared]) expect(await read(api)).toBeInstanceOf(AuthenticationError);
  await session.set({ token: 'of another process' });
  aheadMs = 500;
  expect(await read(shared)).toMatchObject({ items: [] });
  expect([await read(), service.tokenRequests()]).toEqual([expect.any(AuthenticationError), 2]);
  aheadMs = 10_001;
  expect(await read()).toMatchObject({ items: [] });
});

test('an empty token is not used; a service that fails is asked for one again', async () => {
  const empty = await tokens(() => json({ access_token: '' }));
  await expect(client(empty.url).authenticate()).rejects.toThrow('expected text as access_token, got none');
  const service = await tokens((_seen, nth) => (nth < 3 ? { status: 503 } : json({ access_token: 't' })));
  expect((await client(service.url).reviews.page(january, 1)).items).toEqual([]);
  expect(service.tokenRequests()).toBe(3);
});

test.each<[lives: unknown, last: number, headers?: Record<string, string>]>([
  [100, 2],
  ['100', 2],
  [0, 1],
  ['soon', 1],
  [-5, 1],
  // From a cache, past its end: it is used until it is refused.
  [3600, 1, { age: '3500' }],
])('a token that lives %j s is renewed ahead of its end: after 91 s it is token %i', async (lives, last, headers) => {
  let nowMs = 1_000_000;
  const answer = (nth: number) => json({ access_token: secretToken(nth), expires_in: lives }, headers);
  const service = await tinyService(orderOf, (_seen, nth) => answer(nth));
  const api = client(service.url, { now: () => nowMs });
  for (const afterMs of [0, 89_000, 2_000]) {
    nowMs += afterMs;
    await api.orders.get(1);
  }
  expect(service.calls().map(tokenOf)).toEqual([secretToken(1), secretToken(1), secretToken(last)]);
});

test('credentials that are refused for all are found out once, not by each call', async () => {
  const service = await tinyService(() => ({ status: 401, body: { error: 'disabled' } }));
  const api = client(service.url, { concurrency: 8 });
  const ends = await manyOf(500, (n) => failureOf(api.orders.get(n)));
  expect(ends.every((error) => error instanceof AuthenticationError && error.isForAll)).toBe(true);
  expect(service.seen.length).toBeLessThan(50);
  const alone = await tinyService(() => ({ status: 401 }));
  const one = client(alone.url);
  for (const id of [1, 2, 3])
    expect(await failureOf(one.orders.get(id))).toMatchObject({ isForAll: true, path: '/v1/orders/1' });
  expect(alone.calls().map(({ path }) => path)).toEqual(Array(3).fill(['/v1/orders/1', '/v1/reviews/overview']).flat());
});

test.each([json({}), { status: 404 }])('records with only 401 are alone if the overview gets %o', async (overview) => {
  const answer = (seen: Seen) => (Number(seen.path.split('/').at(-1)) < 4 ? { status: 401 } : orderOf(seen));
  const service = await tinyService((seen) => (seen.path.endsWith('overview') ? overview : answer(seen)));
  const api = client(service.url);
  const ends: unknown[] = [];
  for (const id of [1, 2, 3, 4]) ends.push(await failureOf(api.orders.get(id)));
  const alone = expect.objectContaining({ name: 'AuthenticationError', isForAll: false });
  expect(ends).toEqual([alone, alone, alone, expect.objectContaining({ id: 4 })]);
  // A token that refuses a record serves the others.
  expect(service.tokenRequests()).toBe(3);
});

test.each([{ status: 429 }, { status: 503 }, 'lost'] as const)(
  'an overview that gets %o says nothing of the refused request',
  async (failure) => {
    const service = await tinyService((seen, nth) =>
      seen.path.endsWith('overview') ? failure : nth === 1 ? { status: 401 } : orderOf(seen),
    );
    const api = client(service.url);
    expect(await api.orders.get(9)).toMatchObject({ id: 9 });
    // After a 429 the overview is asked once more, whether all have to wait.
    const paths = service.calls().map(({ path }) => path);
    expect(new Set(paths.slice(1, -1))).toEqual(new Set(['/v1/reviews/overview']));
  },
);

test('a creation that is refused has changed nothing, also where the overview fails', async () => {
  const service = await tinyService(({ path }) => ({ status: path.endsWith('overview') ? 500 : 401 }));
  const create = client(service.url).subOrders.create(1, { product_id: 3, price: '1' });
  expect(await failureOf(create)).toBeInstanceOf(AuthenticationError);
});

test('clients that share a session use one token, and renew it once when it is revoked', async () => {
  // The last token that was given out is the only one that serves.
  let [given, refused] = [0, 0];
  const service = await tinyService(
    (seen) => {
      if (tokenOf(seen) === secretToken(given)) return orderOf(seen);
      refused += 1;
      return { status: 401 };
    },
    () => {
      given += 1;
      return json({ access_token: secretToken(given) });
    },
  );
  const session = sharedStore();
  const apis = [1, 2, 3].map(() => client(service.url, { session, concurrency: 8 }));
  const readAll = () => Promise.all(apis.map((api) => manyOf(100, (n) => api.orders.get(n))));
  await readAll();
  expect([service.tokenRequests(), refused]).toEqual([1, 0]);
  given += 1;
  await readAll();
  expect(service.tokenRequests()).toBe(2);
  expect(refused).toBeLessThanOrEqual(3 * 8);
  expect(session.session.refusedAtMs).toHaveLength(1);
  // A token of another process was accepted there.
  given += 1;
  await client(service.url, { session }).orders.get(1);
  expect(session.session.refusedAtMs).toHaveLength(2);
});
