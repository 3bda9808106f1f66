import dns from 'node:dns';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  MalformedResponseError,
  NotFoundError,
  RefusedError,
  type ReviewApi,
  UnavailableError,
  UnknownOutcomeError,
} from '../../src/review-api/index.ts';
import { client, failureOf, january, json, order, quick, tinyService } from './tiny-service.ts';

const line = { product_id: 3, price: '12.50' };
const orderBody = { code: 'A-1', created_at: '2024-01-01T00:00:00+09:00', total_price: '12.50' };

/** What each request adds once more. */
const additions: Record<string, (api: ReviewApi) => Promise<unknown>> = {
  '/v1/orders/5/sub_orders': (api) => api.subOrders.create(5, line),
  '/v1/user_grades': (api) => api.userGrades.create({ name: 'Gold' }),
  '/v1/reviews': (api) => api.reviews.upsert({ product_code: 'P', score: 5, message: 'Fits well.' }),
};

test.each(['lost', 'half', { status: 408 }, { status: 502, body: '<html>' }, { status: 201, body: '<html>' }] as const)(
  'a sub-order, a grade and a review without a code whose answer is no answer (%o) are not added twice',
  async (reply) => {
    for (const [path, add] of Object.entries(additions)) {
      const service = await tinyService(() => reply);
      const error = await failureOf(add(client(service.url)));
      expect(error).toBeInstanceOf(UnknownOutcomeError);
      expect(error).toMatchObject({ method: 'POST', path });
      expect(service.calls()).toHaveLength(1);
    }
  },
);

test('a sub-order is sent again where the service cannot have seen it or said that it was too much', async () => {
  const service = await tinyService((_seen, nth) => (nth < 3 ? { status: 429 } : { status: 201, body: { id: 8 } }));
  expect(await client(service.url).subOrders.create(5, line)).toEqual({ id: 8 });

  const closed = await tinyService(() => json([]));
  await new Promise((resolve) => closed.server.close(resolve));
  const retry = { ...quick, attempts: 3 };
  const error = await failureOf(client(closed.url, { retry }).subOrders.create(5, line));
  expect(error).toBeInstanceOf(UnavailableError);

  const named = await tinyService(
    () => ({ status: 201, body: { id: 9 } }),
    () => json({ access_token: 'token' }, { connection: 'close' }),
  );
  const api = client(named.url.replace('127.0.0.1', 'localhost'));
  await api.authenticate();
  // For a moment the name is not resolved. One with such a long part never is, whatever the network.
  const { lookup } = dns;
  const lookups = vi
    .spyOn(dns, 'lookup')
    .mockImplementationOnce(((_: string, ...rest: [dns.LookupOptions, () => void]) =>
      lookup(`${'x'.repeat(64)}.invalid`, ...rest)) as typeof lookup);
  onTestFinished(() => lookups.mockRestore());
  expect(await api.subOrders.create(5, line)).toEqual({ id: 9 });
  expect(lookups).toHaveBeenCalledTimes(2);
});

test('an order is sent again after a lost answer, since its code makes it the same order', async () => {
  const service = await tinyService((_seen, nth) =>
    nth === 1 ? 'lost' : { status: 201, body: order(4, { code: 'A-1' }) },
  );
  expect((await client(service.url).orders.upsert(orderBody)).id).toBe(4);
  expect(service.calls()).toHaveLength(2);
});

test('a page whose body breaks off is read again', async () => {
  const service = await tinyService((_seen, nth) => (nth < 6 ? 'half' : json([{ id: 1 }])));
  expect((await client(service.url).reviews.page(january, 1)).items).toEqual([{ id: 1 }]);
});

test('a service that keeps silent is asked again after the time limit', async () => {
  const service = await tinyService((_seen, nth) => (nth === 1 ? new Promise<'lost'>(() => {}) : json([])));
  const api = client(service.url, { timeouts: { headersMs: 50 } });
  expect((await api.reviews.page(january, 1)).items).toEqual([]);
  expect(service.calls()).toHaveLength(2);
});

test('a response that trickles in is given up, and asked for again', async () => {
  const service = await tinyService((_seen, nth) => (nth === 1 ? 'trickling' : json([{ id: 1 }])));
  const api = client(service.url, { timeouts: { connectMs: 500, headersMs: 1000, bodyMs: 1000 } });
  expect((await api.reviews.page(january, 1)).items).toEqual([{ id: 1 }]);
});

test('HTML, an object or nothing with status 200 is no data', async () => {
  for (const [body, found] of [
    ['<html><body>Maintenance</body></html>', 'expected JSON, got HTML with status 200; Maintenance'],
    [{ error: 'busy' }, 'expected an array as a list, got object'],
    [undefined, 'expected JSON, got an empty body with status 200'],
    ['busy', 'expected JSON, got text with status 200'],
  ]) {
    const service = await tinyService(() => ({ body }));
    const error = await failureOf(client(service.url).reviews.page(january, 1));
    expect(error).toBeInstanceOf(MalformedResponseError);
    expect(error.detail).toBe(found);
    expect(service.calls()).toHaveLength(4);
  }
});

test.each([
  ['{"code": "A-1", "id": [], "sub_orders": []}', 'an integer as id, got an array'],
  ['{"code": "A-1", "id": 9007199254740992, "sub_orders": []}', 'an integer as id, got a number beyond 2^53 - 1'],
  ['{"code": "A-1", "id": "9007199254740993", "sub_orders": []}', 'an integer as id, got a number beyond 2^53 - 1'],
  ['{"code": "A-1", "id": 1, "sub_orders": [{"id": 1e999, "product_id": 1}]}', 'as sub_orders.id, got a number beyond'],
])('an order that is answered with %s is sent four times, and the error says what is wrong', async (body, wrong) => {
  const service = await tinyService(() => ({ status: 201, body }));
  const error = await failureOf(client(service.url).orders.upsert(orderBody));
  expect(error).toBeInstanceOf(MalformedResponseError);
  expect([service.calls().length, error.attempts, error.detail]).toEqual([4, 4, expect.stringContaining(wrong)]);
});

test('a web page with status 200 is no success of an update or a deletion, and with 404 it is one of a deletion', async () => {
  const page = '<html><body>Maintenance</body></html>';
  const calls = [
    (api: ReturnType<typeof client>) => api.subOrders.update(5, 6, { status: 'paid' }),
    (api: ReturnType<typeof client>) => api.subOrders.remove(5, 6),
    (api: ReturnType<typeof client>) => api.orders.remove(5),
    (api: ReturnType<typeof client>) => api.categories.update(5, { name: 'Shoes' }),
    (api: ReturnType<typeof client>) => api.userGrades.update(5, { name: 'Gold' }),
  ];
  for (const call of calls) {
    const service = await tinyService(() => ({ body: page }));
    await expect(call(client(service.url))).rejects.toThrow(MalformedResponseError);
  }
  const gone = await tinyService(() => ({ status: 404, body: page }));
  await client(gone.url).orders.remove(5);
});

test('a response that shows another record is malformed', async () => {
  const service = await tinyService(() => ({ body: order(6, { code: 'B', name: 'Gold' }) }));
  const api = client(service.url);
  for (const call of [
    () => api.orders.get(5),
    () => api.orders.upsert(orderBody),
    () => api.categories.get(5),
    () => api.categories.upsert({ code: 'A-1', name: 'Shoes' }),
    () => api.userGrades.get(5),
  ]) {
    await expect(call()).rejects.toThrow(MalformedResponseError);
  }
});

test('refusals are not repeated and carry the words of the service', async () => {
  for (const status of [400, 403, 409, 422]) {
    const service = await tinyService(() => ({ status, body: { message: 'price 12.50 of A-1 is odd' } }));
    const error = await failureOf(client(service.url).orders.upsert(orderBody));
    expect(error).toBeInstanceOf(RefusedError);
    expect(error).toMatchObject({ status, detail: 'message: price 12.50 of A-1 is odd', retryable: false });
    expect(service.calls()).toHaveLength(1);
  }
});

test('a review that is not there is a NotFoundError, a redirect is not followed', async () => {
  const gone = await tinyService(() => ({ status: 404 }));
  await expect(client(gone.url).reviews.get(5)).rejects.toThrow(NotFoundError);
  const moved = await tinyService(() => ({
    status: 301,
    headers: { location: 'http://127.0.0.1:1/x?access_token=t' },
  }));
  const error = await failureOf(client(moved.url).reviews.get(5));
  expect(error).toBeInstanceOf(RefusedError);
  expect(error).toMatchObject({ detail: 'redirected to http://127.0.0.1:1/x' });
});

test('a 429 slows everybody: no request starts before the time, and the wait is reported', async () => {
  let opensAt: number | undefined;
  const service = await tinyService(() => {
    opensAt ??= performance.now() + 200;
    return performance.now() < opensAt ? { status: 429, headers: { 'retry-after': '0.2' } } : json(order(1));
  });
  const waits: string[] = [];
  const api = client(service.url, { onWait: ({ reason }) => waits.push(reason), concurrency: 1 });
  await Promise.all(Array.from({ length: 5 }, () => api.orders.get(1)));
  expect(waits).toContain('the review service asked for fewer requests');
  // Five answers and the one refusal: the four others would have been refused too, had they not waited.
  expect(service.calls()).toHaveLength(6);
  expect(api.stats()).toMatchObject({ requests: 7, retries: 1 });
});

test.each([
  ['ahead', { date: 'Wed, 01 May 2024 01:00:00 GMT', 'retry-after': 'Wed, 01 May 2024 01:00:01 GMT' }],
  ['behind', { date: 'Tue, 30 Apr 2024 23:00:00 GMT', 'retry-after': 'Tue, 30 Apr 2024 23:00:01 GMT' }],
])('waits and requests are reported, a named time by the clock of a service that is %s', async (_, headers) => {
  const [nowMs, reported] = [Date.parse('2024-05-01T00:00:00Z'), [] as unknown[]];
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
    'the review service asked for fewer requests',
    'waiting to retry GET /v1/orders/1: 503 error: busy',
  ] as const;
  expect(reported).toEqual([
    ...[['debug', 'request to the review service', request(503)], request(503)],
    ...[['warn', waits[0], { until }], { untilMs, reason: waits[0] }],
    ...[['info', waits[1], { until }], { untilMs, reason: waits[1] }],
    ...[['debug', 'request to the review service', request(200)], request(200)],
  ]);
});

test('a request that waits for the ceiling when the service asks for fewer does not go into that pause', async () => {
  const isHeld = Promise.withResolvers<void>();
  let [acquired, opensAt, early] = [0, 0, 0];
  const service = await tinyService(({ path }, nth) => {
    if (path.endsWith('/2') && performance.now() < opensAt) early += 1;
    if (path.endsWith('/2') || nth > 1) return json(order(Number(path.at(-1))));
    opensAt = performance.now() + 200;
    return { status: 429, headers: { 'retry-after': '0.2' } };
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

test('the check that a call makes before a request comes after the wait for the ceiling, and sends nothing where it fails', async () => {
  const service = await tinyService(() => json({ id: 8 }));
  let acquired = 0;
  const acquire = async () => {
    acquired += 1;
  };
  const api = client(service.url, { acquire });
  await api.authenticate();
  const beforeSend = () => {
    throw new Error(`checked after ${acquired} waits`);
  };
  await expect(api.subOrders.create(5, line, { beforeSend })).rejects.toThrow('checked after 2 waits');
  expect(service.calls()).toEqual([]);
});

test('a shorter wait that the service names while a longer one lasts does not end the longer one', async () => {
  const [bothSent, isHeld] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let [opensAt, early] = [0, 0];
  const service = await tinyService(async ({ path }, nth) => {
    if (nth > 1) {
      if (performance.now() < opensAt) early += 1;
      return json(order(Number(path.at(-1))));
    }
    if (path.endsWith('/2')) {
      bothSent.resolve();
      await isHeld.promise;
      return { status: 429, headers: { 'retry-after': '0.02' } };
    }
    await bothSent.promise;
    opensAt = performance.now() + 300;
    return { status: 429, headers: { 'retry-after': '0.3' } };
  });
  const api = client(service.url, { onWait: () => isHeld.resolve() });
  await Promise.all([api.orders.get(1), api.orders.get(2)]);
  expect({ requests: service.calls().length, early }).toEqual({ requests: 4, early: 0 });
});

test('waiting ends when the signal aborts, and a write in flight is then of unknown outcome', async () => {
  const stop = new AbortController();
  const waiting = await tinyService(() => ({ status: 429, headers: { 'retry-after': '60' } }));
  const api = client(waiting.url, { signal: stop.signal, onWait: () => stop.abort(new Error('stopped')) });
  await expect(api.orders.get(1)).rejects.toThrow('stopped');

  const halt = new AbortController();
  const hanging = await tinyService(() => {
    halt.abort(new Error('stopped'));
    return new Promise<'lost'>(() => {});
  });
  await expect(client(hanging.url, { signal: halt.signal }).subOrders.create(1, line)).rejects.toThrow(
    UnknownOutcomeError,
  );
});

test('closing lets a request in flight finish and starts no other', async () => {
  let answer: () => void = () => {};
  let arrived: () => void = () => {};
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const service = await tinyService(async () => {
    arrived();
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return json(order(1));
  });
  const api = client(service.url, { concurrency: 1 });
  const [running, queued] = [api.orders.get(1), api.orders.get(2)];
  await arrival;
  const closed = api.close();
  answer();
  const [first, second] = await Promise.allSettled([running, queued]);
  expect(first).toMatchObject({ value: { id: 1 } });
  expect(second).toMatchObject({ reason: { message: expect.stringContaining('closed') } });
  await closed;
  expect(service.calls()).toHaveLength(1);
});

test.each([503, 429])('a %i with Retry-After of a request that is given up holds no other request', async (status) => {
  const service = await tinyService(({ path }) =>
    path.endsWith('/9') ? { status, headers: { 'retry-after': '600' } } : json(order(1)),
  );
  const api = client(service.url, { concurrency: 1, retry: { ...quick, attempts: 1 } });
  await expect(api.orders.get(9, { giveUpAfterMs: 1000 })).rejects.toMatchObject({ status });
  expect(await api.orders.get(1)).toMatchObject({ id: 1 });
});

test('a call that may spend 200 ms on failures gives up by then, and its error says status and attempts', async () => {
  const service = await tinyService(() => ({ status: 500, body: { message: 'always' } }));
  const api = client(service.url, { retry: { baseDelayMs: 50, maxDelayMs: 100 } });
  const error = await api.orders.upsert(orderBody, { giveUpAfterMs: 200 }).catch((reason) => reason);
  expect(error).toBeInstanceOf(UnavailableError);
  const sent = service.calls().length;
  expect(error).toMatchObject({ status: 500, attempts: sent, retryable: true });
  expect(sent).toBeLessThan(14);
  expect(error.message).toContain('the review service failed on this request (status 500');
});

test('waits count up to the limit of all waiting; those of a 429 are not what a call spends on failures', async () => {
  const failing = await tinyService(() => ({ status: 503, headers: { 'retry-after': '0.02' } }));
  const retry = { ...quick, totalWaitMs: 20 };
  expect(await failureOf(client(failing.url, { retry }).orders.get(1))).toMatchObject({ attempts: 2 });

  const replies = [{ status: 429, headers: { 'retry-after': '1' } }, { status: 500 }, json(order(1))];
  const service = await tinyService((_seen, nth) => replies[nth - 1] ?? 'lost');
  await client(service.url).orders.get(1, { giveUpAfterMs: 1000 });
});

test('a service that cannot be reached is distinguished from one that fails on a request: its error has no status', async () => {
  const closed = await tinyService(() => json([]));
  await new Promise((resolve) => closed.server.close(resolve));
  const error = await failureOf(client(closed.url).orders.upsert(orderBody, { giveUpAfterMs: 5 }));
  expect(error).toMatchObject({ name: 'UnavailableError', status: undefined });
});
