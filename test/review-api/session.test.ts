import { expect, test } from 'vitest';
import { AuthenticationError, LimitedError, type Session, type SessionStore } from '../../src/review-api/index.ts';
import {
  client,
  failureOf,
  json,
  order,
  quick,
  type Reply,
  type Seen,
  secretToken,
  tinyService,
} from './tiny-service.ts';

/** A store as of several processes: one change at a time. */
function sharedStore(): SessionStore & { session: Session } {
  let turn: Promise<unknown> = Promise.resolve();
  const store = {
    session: {} as Session,
    get: async () => store.session,
    set: async (changed: Session) => {
      store.session = { ...store.session, ...changed };
    },
    alone<T>(work: (kept: SessionStore) => Promise<T>): Promise<T> {
      const done = turn.then(() => work(store));
      turn = done.catch(() => {});
      return done;
    },
  };
  return store;
}

/** Knows one token a client: each that it gives out revokes the one before. */
async function oneTokenService(reply: (seen: Seen, nth: number) => Reply) {
  let [given, refused] = [0, 0];
  const service = await tinyService(
    (seen, nth) => {
      if (seen.params.get('access_token') === secretToken(given)) return reply(seen, nth);
      refused += 1;
      return { status: 401 };
    },
    () => {
      given += 1;
      return json({ access_token: secretToken(given) });
    },
  );
  const revoke = () => {
    given += 1;
  };
  return { ...service, refused: () => refused, revoke };
}

const orderOf = ({ path }: Seen) => json(order(Number(path.split('/').at(-1))));

test('clients that share a session use one token of a service that revokes all others, and renew it once', async () => {
  const service = await oneTokenService(orderOf);
  const session = sharedStore();
  const apis = [1, 2, 3].map(() => client(service.url, { session, concurrency: 8 }));
  const readAll = () =>
    Promise.all(apis.flatMap((api) => Array.from({ length: 100 }, (_, n) => api.orders.get(n + 1))));
  await readAll();
  expect([service.tokenRequests(), service.refused()]).toEqual([1, 0]);
  service.revoke();
  await readAll();
  expect(service.tokenRequests()).toBe(2);
  expect(service.refused()).toBeLessThanOrEqual(3 * 8);
  expect(session.session.refusedAtMs).toHaveLength(1);
});

test('a Retry-After holds all clients that share a session, until then and no longer', async () => {
  let opensAt: number | undefined;
  let early = 0;
  const service = await tinyService((seen) => {
    if (opensAt === undefined) {
      opensAt = performance.now() + 500;
      return { status: 429, headers: { 'retry-after': '0.5, 0.5' } };
    }
    if (performance.now() < opensAt) early += 1;
    return orderOf(seen);
  });
  const session = sharedStore();
  const open = () => client(service.url, { session, concurrency: 1 });
  const [first, second] = [open(), open()];
  await first.authenticate();
  await Promise.all([first.orders.get(1), until(() => session.session.heldUntilMs).then(() => second.orders.get(2))]);
  expect([early, service.calls().length]).toEqual([0, 3]);
});

const until = async <T>(look: () => T | undefined): Promise<T> => {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise(setImmediate);
  }
};

test('a call that may not wait so long ends at once with the end of the hold, and sends nothing', async () => {
  const service = await tinyService(orderOf);
  const session = sharedStore();
  await session.set({ heldUntilMs: Date.parse('2200-01-01T00:00:00Z'), heldReason: 'a ban' });
  const api = client(service.url, { session, retry: { ...quick, maxRetryAfterMs: 1000 } });
  const error = await failureOf(api.orders.get(1));
  expect(error).toBeInstanceOf(LimitedError);
  expect(error.message).toContain('no request may be sent before 2200-01-01T00:00:00');
  expect(service.seen).toEqual([]);
});

test.each([
  [503, 'before those that were sent later', 20],
  [503, 'after them', -20],
  [429, 'after them', -20],
])('one order that always gets a %i with Retry-After, %s, does not keep the others', async (status, _, aheadMs) => {
  const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
  const service = await tinyService(async (seen) => {
    const isBad = seen.path.endsWith('/9');
    await after(isBad ? -aheadMs : aheadMs);
    return isBad ? { status, headers: { 'retry-after': status === 503 ? '3600' : '0.3' } } : orderOf(seen);
  });
  const api = client(service.url, { concurrency: 8 });
  const calls = Array.from({ length: 200 }, (_none, n) => api.orders.get(n + 1, { giveUpAfterMs: 200 }));
  const failed = (await Promise.allSettled(calls)).filter((end) => end.status === 'rejected');
  expect(failed.map(({ reason }) => [reason.path, reason.status])).toEqual([['/v1/orders/9', status]]);
});

test('credentials that the service refuses for all are found out once, not by each of five hundred calls', async () => {
  const service = await tinyService(() => ({ status: 401, body: { error: 'disabled' } }));
  const api = client(service.url, { concurrency: 8 });
  const ends = await Promise.all(Array.from({ length: 500 }, (_, n) => failureOf(api.orders.get(n + 1))));
  expect(ends.every((error) => error instanceof AuthenticationError && error.isForAll)).toBe(true);
  expect(service.seen.length).toBeLessThan(30);
});

test('another program that revokes the token again and again is answered by a growing wait', async () => {
  const service = await oneTokenService(orderOf);
  const waits: string[] = [];
  const api = client(service.url, { concurrency: 1, onWait: ({ reason }) => waits.push(reason) });
  for (let n = 1; n <= 3; n += 1) {
    await api.orders.get(n);
    service.revoke();
  }
  expect(service.tokenRequests()).toBe(3);
  expect(waits).toEqual([
    'the token was revoked soon after it was obtained',
    'the token was revoked soon after it was obtained',
  ]);
});
