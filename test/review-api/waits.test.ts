import { expect, onTestFinished, test, vi } from 'vitest';
import { type SessionStore, UnavailableError, UnknownOutcomeError } from '../../src/review-api/index.ts';
import {
  client,
  failureOf,
  json,
  order,
  orderOf,
  quick,
  type Reply,
  sharedStore,
  tinyService,
} from './tiny-service.ts';

const wait = (status: number, seconds: number) => ({ status, headers: { 'retry-after': String(seconds) } });
const busy = (seconds: number) => wait(429, seconds);

test('a 429 slows everybody, and the wait is reported', async () => {
  // A proxy adds its own header.
  const twice = { status: 429, headers: { 'retry-after': ['0.2', '0.2'] } };
  const service = await tinyService((seen, nth) => (nth === 1 ? twice : orderOf(seen)));
  const [waits, startedMs]: [string[], number] = [[], Date.now()];
  const onWait = ({ reason, untilMs }: { reason: string; untilMs: number }) =>
    waits.push(untilMs >= startedMs + 200 ? reason : 'too short');
  const api = client(service.url, { onWait, concurrency: 1 });
  await Promise.all(Array.from({ length: 5 }, () => api.orders.get(1)));
  expect(waits[0]).toBe('the review service asked for fewer requests');
  // Five answers and the one refusal: the four others would have been refused too, had they not waited.
  expect(service.calls()).toHaveLength(6);
  expect(api.stats()).toMatchObject({ requests: 7, retries: 1 });
});

test('waits and requests are reported; a date is read by the clock of the service', async () => {
  const nowMs = Date.parse('2024-05-01T00:00:00Z');
  const [logged, waits, requests]: [string[], unknown[], unknown[]] = [[], [], []];
  const headers = { date: 'Wed, 01 May 2024 01:00:00 GMT', 'retry-after': 'Wed, 01 May 2024 01:00:01 GMT' };
  const service = await tinyService((_seen, nth) =>
    nth === 1 ? { status: 503, headers, body: { error: 'busy' } } : json(order(1)),
  );
  const log = (level: string) => (_: object, message: string) => logged.push(`${level}: ${message}`);
  const api = client(service.url, {
    now: () => nowMs,
    retry: { baseDelayMs: 0, maxRetryAfterMs: 2000 },
    log: { debug: log('debug'), info: log('info'), warn: log('warn') },
    onWait: (wait) => waits.push(wait),
    onRequestEnd: (facts) => requests.push(facts),
  });
  await api.orders.get(1);
  const [held, again] = [
    'the review service failed on a request and asked to wait',
    'GET /v1/orders/1 is sent again: 503 error: busy',
  ];
  expect(logged.filter((line) => !line.startsWith('debug'))).toEqual([`warn: ${held}`, `info: ${again}`]);
  expect(logged).toContain('debug: request to the review service');
  expect(waits).toEqual([
    { untilMs: nowMs + 1000, reason: held },
    { untilMs: expect.any(Number), reason: again },
  ]);
  const durationMs = expect.any(Number);
  const shown = ['/oauth/token', '/v1/orders/1', '/v1/reviews/overview', '/v1/orders/1'].map((path) => ({ path }));
  expect(requests).toMatchObject(shown);
  expect(requests.at(-1)).toEqual({ method: 'GET', path: '/v1/orders/1', status: 200, durationMs });
});

test('a request without a response for 15 s is reported once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const [arrival, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const service = await tinyService(async (seen) => {
    arrival.resolve();
    await answer.promise;
    return orderOf(seen);
  });
  const [nowMs, waits] = [Date.now(), [] as unknown[]];
  const api = client(service.url, { now: () => nowMs, onWait: (wait) => waits.push(wait) });
  const order = api.orders.get(1);
  await arrival.promise;
  vi.advanceTimersByTime(14_999);
  expect(waits).toEqual([]);
  vi.advanceTimersByTime(1);
  const reason = 'GET /v1/orders/1 has no response after 15 s';
  expect(waits).toEqual([{ reason, untilMs: nowMs + 45_000 }]);
  answer.resolve();
  await order;
  vi.advanceTimersByTime(60_000);
  expect(waits).toHaveLength(1);
});

test('waiting ends when the signal aborts; a write in flight is of unknown outcome', async () => {
  const stop = new AbortController();
  const waiting = await tinyService(() => busy(60));
  const api = client(waiting.url, { signal: stop.signal, onWait: () => stop.abort(new Error('stopped')) });
  await expect(api.orders.get(1)).rejects.toThrow('stopped');

  const halt = new AbortController();
  const hanging = await tinyService(() => {
    halt.abort(new Error('stopped'));
    return new Promise<'lost'>(() => {});
  });
  const write = client(hanging.url, { signal: halt.signal }).subOrders.create(1, { product_id: 3, price: '1' });
  expect(await failureOf(write)).toBeInstanceOf(UnknownOutcomeError);
});

test('a call that may spend 200 ms on failures gives up by then', async () => {
  const service = await tinyService(() => ({ status: 500, body: { message: 'always' } }));
  const api = client(service.url, { retry: { baseDelayMs: 50, maxDelayMs: 100 } });
  const error = await failureOf(api.orders.get(1, { giveUpAfterMs: 200 }));
  expect(error).toBeInstanceOf(UnavailableError);
  const sent = service.calls().length;
  expect(error).toMatchObject({ status: 500, attempts: sent, retryable: true });
  expect(sent).toBeLessThan(14);
  // The time of the attempts counts as well.
  const slow = await tinyService(() => new Promise((resolve) => setTimeout(() => resolve({ status: 500 }), 60)));
  const spending = failureOf(client(slow.url, { retry: { baseDelayMs: 0 } }).orders.get(1, { giveUpAfterMs: 100 }));
  expect((await spending).attempts).toBeLessThan(4);
});

test('waits of one call count up to its limit, and a hold counts nowhere', async () => {
  const failing = await tinyService(({ path }) => (path.endsWith('overview') ? json({}) : wait(503, 0.5)));
  const retry = { ...quick, giveUpAfterMs: 900 };
  expect(await failureOf(client(failing.url, { retry }).orders.get(1))).toMatchObject({ attempts: 2 });

  for (const status of [429, 503]) {
    const service = await tinyService((_seen, nth) => (nth === 1 ? wait(status, 1) : json(order(1))));
    await client(service.url, { retry: { ...quick, giveUpAfterMs: 900 } }).orders.get(1);
  }
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
    return isBad ? wait(status, status === 503 ? 3600 : 0.3) : orderOf(seen);
  });
  const api = client(service.url, { concurrency: 8 });
  const calls = Array.from({ length: 200 }, (_none, n) => api.orders.get(n + 1, { giveUpAfterMs: 200 }));
  const failed = (await Promise.allSettled(calls)).filter((end) => end.status === 'rejected');
  expect(failed.map(({ reason }) => [reason.path, reason.status])).toEqual([['/v1/orders/9', status]]);
});

const hour = { 'retry-after': '3600' };
test.each<[overview: Reply, isHeld: boolean]>([
  [{ status: 429, headers: hour }, true],
  [{ status: 503, headers: hour }, true],
  [{ status: 429 }, true],
  [json({}), false],
  [{ status: 503 }, false],
  [{ status: 500 }, false],
  [{ status: 404 }, false],
  [{ status: 401 }, false],
  ['lost', false],
])(
  'an overview that is %o says whether all wait after a 503, or a 429 of one of many: %s',
  async (overview, isHeld) => {
    for (const status of [429, 503]) {
      const service = await tinyService(({ path }) =>
        path.endsWith('overview') ? overview : { status, headers: hour },
      );
      const [session, stop] = [sharedStore(), new AbortController()];
      const onWait = () => stop.abort(new Error('stopped'));
      const retry = { ...quick, maxRetryAfterMs: 1000 };
      const api = client(service.url, { session, signal: stop.signal, ...(isHeld && { onWait }), retry });
      const error = await failureOf(api.orders.get(1, { giveUpAfterMs: 200, countsHolds: true }));
      if (isHeld) expect(error.message).toBe('stopped');
      else expect(error).toMatchObject({ status, attempts: 1 });
      expect(service.calls().map(({ path }) => path)).toEqual(['/v1/orders/1', '/v1/reviews/overview']);
      expect((session.session.heldUntilMs ?? 0) > Date.now() + 3_000_000).toBe(isHeld && overview !== 'lost');
    }
  },
);

test('a first 429 holds all, even if the overview is shown: writes may count apart', async () => {
  const service = await tinyService(({ path }) => (path.endsWith('overview') ? json({}) : busy(3600)));
  const [session, stop] = [sharedStore(), new AbortController()];
  const onWait = () => stop.abort(new Error('stopped'));
  const api = client(service.url, { session, signal: stop.signal, onWait });
  expect((await failureOf(api.orders.get(1, { giveUpAfterMs: 200 }))).message).toBe('stopped');
  expect(service.calls().map(({ path }) => path)).toEqual(['/v1/orders/1']);
  expect(session.session.heldUntilMs).toBeGreaterThan(Date.now() + 3_000_000);
});

test('a second 429 of one call is about that call, if the overview is shown', async () => {
  const service = await tinyService(({ path }) => (path.endsWith('overview') ? json({}) : busy(0.1)));
  const error = await failureOf(client(service.url, { retry: quick }).orders.get(1, { giveUpAfterMs: 50 }));
  expect(error).toMatchObject({ status: 429, attempts: 2 });
  expect(service.calls().map(({ path }) => path)).toEqual(['/v1/orders/1', '/v1/orders/1', '/v1/reviews/overview']);
});

test('a service that asks a request for a token to wait holds all at once', async () => {
  const service = await tinyService(orderOf, (_seen, nth) =>
    nth === 1 ? wait(503, 0.2) : json({ access_token: 't' }),
  );
  const waits: string[] = [];
  const api = client(service.url, { onWait: ({ reason }) => waits.push(reason) });
  expect(await api.orders.get(1)).toMatchObject({ id: 1 });
  expect([waits[0], service.calls().length]).toEqual(['the review service failed on a request and asked to wait', 1]);
});

test('a call that may not wait so long ends at once, and sends nothing', async () => {
  const service = await tinyService(orderOf);
  const kept = { heldUntilMs: Date.parse('2200-01-01T00:00:00.500Z'), heldReason: 'a ban' };
  const session: SessionStore = { get: async () => kept, set: async () => {} };
  const error = await failureOf(
    client(service.url, { session, retry: { ...quick, maxRetryAfterMs: 1000 } }).orders.get(1),
  );
  expect(error).toMatchObject({ name: 'LimitedError' });
  expect(error.message).toContain('no request may be sent before 2200-01-01T00:00:01');
  expect(service.seen).toEqual([]);
});
