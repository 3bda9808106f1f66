import { expect, onTestFinished, test } from 'vitest';
import {
  type ReviewApi,
  type ReviewApiOptions,
  type SessionStore,
  UnavailableError,
  UnknownOutcomeError,
} from '../../src/review-api/index.ts';
import {
  type Answering,
  client,
  failureOf,
  json,
  order,
  orderOf,
  quick,
  type Seen,
  sharedStore,
  tinyService,
  until,
} from './tiny-service.ts';

const wait = (status: number, seconds: number) => ({ status, headers: { 'retry-after': String(seconds) } });
const busy = (seconds: number) => wait(429, seconds);
/** A 503 that names a wait of an hour. */
const hour = wait(503, 3600);
const is = (id: number) => (seen: Seen) => seen.path.endsWith(`/${id}`);

test('a 429 slows everybody, and the wait is reported', async () => {
  let opensAt: number | undefined;
  const service = await tinyService((seen) => {
    opensAt ??= performance.now() + 200;
    return performance.now() < opensAt ? busy(0.2) : orderOf(seen);
  });
  const waits: string[] = [];
  const api = client(service.url, { onWait: ({ reason }) => waits.push(reason), concurrency: 1 });
  await Promise.all(Array.from({ length: 5 }, () => api.orders.get(1)));
  expect(waits).toContain('the review service asked for fewer requests');
  // Five answers and the one refusal: the four others would have been refused too, had they not waited.
  expect(service.calls()).toHaveLength(6);
  expect(api.stats()).toMatchObject({ requests: 7, retries: 1 });
});

test('waits and requests are reported; a date is read by the clock of the service', async () => {
  const [nowMs, reported] = [Date.parse('2024-05-01T00:00:00Z'), [] as unknown[]];
  const headers = { date: 'Wed, 01 May 2024 01:00:00 GMT', 'retry-after': 'Wed, 01 May 2024 01:00:01 GMT' };
  const service = await tinyService((_seen, nth) =>
    nth === 1 ? { status: 503, headers, body: { error: 'busy' } } : json(order(1)),
  );
  const log = (level: string) => (fields: object, message: string) => reported.push([level, message, fields]);
  const api = client(service.url, {
    now: () => nowMs,
    retry: { baseDelayMs: 0, maxRetryAfterMs: 2000 },
    log: { debug: log('debug'), info: log('info'), warn: log('warn') },
    onWait: (wait) => reported.push(wait),
    onRequestEnd: (facts) => reported.push(facts),
  });
  await api.authenticate();
  reported.length = 0;
  await api.orders.get(1);
  const request = (status: number) => ({ method: 'GET', path: '/v1/orders/1', status, durationMs: expect.any(Number) });
  const [untilMs, until] = [nowMs + 1000, new Date(nowMs + 1000)];
  const waits = [
    'the review service failed on a request and asked to wait',
    'waiting to retry GET /v1/orders/1: 503 error: busy',
  ] as const;
  expect(reported).toEqual([
    ...[['debug', 'request to the review service', request(503)], request(503)],
    ...[['warn', waits[0], { until }], { untilMs, reason: waits[0] }],
    ...[['info', waits[1], { until }], { untilMs, reason: waits[1] }],
    ...[['debug', 'request to the review service', request(200)], request(200)],
  ]);
});

test('many requests that fail again and again are few lines of the log', async () => {
  const lines: string[] = [];
  const log = (level: string) => (_fields: object, message: string) =>
    message.startsWith('waiting') && lines.push(level);
  const service = await tinyService(() => ({ status: 500 }));
  const api = client(service.url, {
    retry: { ...quick, attempts: 6 },
    log: { debug: log('debug'), info: log('info'), warn: log('warn') },
  });
  await Promise.allSettled(Array.from({ length: 20 }, (_, index) => api.orders.get(index + 1)));
  const count = (level: string) => lines.filter((one) => one === level).length;
  expect(['debug', 'info', 'warn'].map(count)).toEqual([98, 1, 1]);
});

test('a request that waits for the ceiling waits for a pause that begins meanwhile', async () => {
  const isHeld = Promise.withResolvers<void>();
  let [acquired, opensAt, early] = [0, 0, 0];
  const service = await tinyService((seen, nth) => {
    if (seen.path.endsWith('/2') && performance.now() < opensAt) early += 1;
    if (seen.path.endsWith('/2') || nth > 1) return orderOf(seen);
    opensAt = performance.now() + 200;
    return busy(0.2);
  });
  // The token and the first order go at once.
  const acquire = async () => {
    acquired += 1;
    if (acquired === 3) await isHeld.promise;
  };
  const api = client(service.url, { acquire, onWait: () => isHeld.resolve() });
  await Promise.all([api.orders.get(1), api.orders.get(2)]);
  expect({ requests: service.calls().length, early }).toEqual({ requests: 3, early: 0 });
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

test('closing lets a request in flight finish and starts no other', async () => {
  const [arrival, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const service = await tinyService(async (seen) => {
    arrival.resolve();
    await answer.promise;
    return orderOf(seen);
  });
  const api = client(service.url, { concurrency: 1 });
  const both = Promise.allSettled([api.orders.get(1), api.orders.get(2)]);
  await arrival.promise;
  const closed = api.close();
  answer.resolve();
  const closing = { reason: { message: expect.stringContaining('closed') } };
  expect(await both).toMatchObject([{ value: { id: 1 } }, closing]);
  await closed;
  expect(service.calls()).toHaveLength(1);
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

test('waits count up to the limit; the hold of a 429 counts nowhere', async () => {
  const failing = await tinyService(() => wait(503, 0.02));
  const retry = { ...quick, totalWaitMs: 20 };
  expect(await failureOf(client(failing.url, { retry }).orders.get(1))).toMatchObject({ attempts: 2 });

  const replies = [busy(1), { status: 500 }, json(order(1))];
  const service = await tinyService((_seen, nth) => replies[nth - 1] ?? 'lost');
  const patient = client(service.url, { retry: { ...quick, totalWaitMs: 900 } });
  await patient.orders.get(1, { giveUpAfterMs: 1000 });
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

test('a call that always gets a 429, and is the only one, asks whether the service is full', async () => {
  for (const isFull of [false, true]) {
    const isSpared = ({ path }: Seen) => path === '/v1/reviews/overview' && !isFull;
    const service = await tinyService((seen) => (isSpared(seen) ? json({}) : { status: 429 }));
    const api = client(service.url, { retry: { ...quick, baseDelayMs: 1 } });
    const error = await failureOf(api.orders.get(1, { giveUpAfterMs: 0 }));
    expect(error).toMatchObject({ name: 'LimitedError' });
    const looks = service.calls().filter(({ path }) => path.endsWith('overview')).length;
    expect(isFull ? looks > 1 : looks === 1).toBe(true);
  }
});

test('a call that gets a 503 with a wait of an hour, and is the only one, asks whether the service is down', async () => {
  const service = await hourFor(is(9), () => json({}));
  const { session, first } = openMany(service.url, 1);
  expect(await failureOf(first.orders.get(9, { giveUpAfterMs: 200 }))).toMatchObject({ status: 503 });
  expect(service.calls().map(({ path }) => path)).toEqual(['/v1/orders/9', '/v1/reviews/overview']);
  expect(session.session.heldUntilMs ?? 0).toBe(0);
  const down = await hourFor(() => true);
  const { isHeld, ...other } = openMany(down.url, 1);
  other.stuck.push(failureOf(other.first.orders.get(9, { giveUpAfterMs: 200 })));
  await isHeld();
});

test('a call that may not wait so long ends at once, and sends nothing', async () => {
  const service = await tinyService(orderOf);
  const kept = { heldUntilMs: Date.parse('2200-01-01T00:00:00Z'), heldReason: 'a ban' };
  const session: SessionStore = { get: async () => kept, set: async () => {} };
  const error = await failureOf(
    client(service.url, { session, retry: { ...quick, maxRetryAfterMs: 1000 } }).orders.get(1),
  );
  expect(error).toMatchObject({ name: 'LimitedError' });
  expect(error.message).toContain('no request may be sent before 2200-01-01T00:00:00');
  expect(service.seen).toEqual([]);
});

/** Some orders get a 503 with an hour's `Retry-After`, the others are answered. */
const hourFor = (isBad: (seen: Seen) => boolean, others: Answering = orderOf) =>
  tinyService((seen, nth) => (isBad(seen) ? hour : others(seen, nth)));

/** Clients of one session. They end with the test, and with them `stuck`: calls that would wait for an hour. */
function openMany(url: string, count: number, options: Partial<ReviewApiOptions> = {}) {
  const [session, stop] = [sharedStore(), new AbortController()];
  const stuck: Promise<unknown>[] = [];
  const open = () => client(url, { session, signal: stop.signal, ...options });
  const [first, ...others] = Array.from({ length: count }, open) as [ReviewApi, ...ReviewApi[]];
  // Before the clients are closed, which lets requests in flight finish.
  onTestFinished(async () => {
    stop.abort(new Error('stopped'));
    await Promise.all(stuck);
  });
  const isHeld = () => until(() => session.session.heldReason === 'failed');
  return { session, stuck, isHeld, first, others, second: others[0] as ReviewApi };
}

/** The overview, too: a call that is the only one asks for it. */
const isNineOrOverview = (seen: Seen) => is(9)(seen) || seen.path.endsWith('overview');

test('a hold for one record that another client began ends by one request of this one', async () => {
  const service = await hourFor(isNineOrOverview);
  const { session, isHeld, first, second } = openMany(service.url, 2, { concurrency: 4 });
  const stuck = failureOf(first.orders.get(9, { giveUpAfterMs: 200 }));
  await isHeld();
  expect(await Promise.all([1, 2, 3].map((id) => second.orders.get(id)))).toHaveLength(3);
  expect(session.session.heldUntilMs).toBe(0);
  expect((await stuck).status).toBe(503);
});

test('a call that the ceiling fails gives up its turn to look whether a hold is over', async () => {
  const service = await hourFor(isNineOrOverview);
  let isFailing = true;
  const acquire = async () => {
    if (isFailing) throw new Error('no ceiling');
  };
  const { stuck, isHeld, first, second, session } = openMany(service.url, 2);
  stuck.push(failureOf(first.orders.get(9, { giveUpAfterMs: 200 })));
  await isHeld();
  const limited = client(service.url, { session, acquire, retry: { ...quick, maxRetryAfterMs: 1000 } });
  expect((await failureOf(limited.orders.get(1))).message).toBe('no ceiling');
  isFailing = false;
  expect(await limited.orders.get(2)).toMatchObject({ id: 2 });
  expect(await second.orders.get(3)).toMatchObject({ id: 3 });
});

test.each([1, 8])('records that fail with a wait of an hour, %i in all places, hold no others', async (concurrency) => {
  const service = await hourFor(({ path }) => Number(path.split('/').at(-1)) <= concurrency);
  const { stuck, first } = openMany(service.url, 1, { concurrency, session: undefined });
  const calls = Array.from({ length: concurrency + 10 }, (_, n) => first.orders.get(n + 1));
  stuck.push(...calls.slice(0, concurrency).map((call) => failureOf(call)));
  expect(await Promise.all(calls.slice(concurrency))).toHaveLength(10);
});

test('creations that have all slots end a hold for one record by the overview', async () => {
  const service = await hourFor(is(9), () => json({ id: 5 }));
  const { isHeld, stuck, first } = openMany(service.url, 1, { concurrency: 2 });
  stuck.push(failureOf(first.orders.get(9)));
  await isHeld();
  const create = () => first.subOrders.create(1, { product_id: 1, price: '1' });
  expect(await Promise.all([create(), create(), create()])).toHaveLength(3);
  expect(service.calls()[1]).toMatchObject({ path: '/v1/reviews/overview' });
});

test('a hold after a failure is not lifted by a request that was sent before', async () => {
  const refused = Promise.withResolvers<void>();
  const service = await hourFor(is(9), (seen) => refused.promise.then(() => orderOf(seen)));
  const { session, stuck, isHeld, first } = openMany(service.url, 1, { concurrency: 2 });
  const before = first.orders.get(1);
  stuck.push(failureOf(first.orders.get(9)));
  await isHeld();
  refused.resolve();
  await before;
  expect(session.session.heldUntilMs).toBeGreaterThan(Date.now() + 3_500_000);
});
