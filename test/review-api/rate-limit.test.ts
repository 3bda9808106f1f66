import { expect, onTestFinished, test, vi } from 'vitest';
import { openRateLimit } from '../../src/review-api/index.ts';

test('no more than the ceiling start within a second, and those who wait go in their order', async () => {
  const acquire = openRateLimit({ requestsPerSecond: 50, store: 'memory' });
  const started: { number: number; atMs: number }[] = [];
  await Promise.all(
    Array.from({ length: 60 }, async (_, number) => {
      await acquire();
      started.push({ number, atMs: performance.now() });
    }),
  );
  expect(started.map(({ number }) => number)).toEqual(Array.from({ length: 60 }, (_, number) => number));
  // Not a measure of speed but the promise itself: the 53rd cannot come within a second of the first.
  expect((started[52]?.atMs ?? 0) - (started[0]?.atMs ?? 0)).toBeGreaterThan(1000);
});

test('workers on one store share the ceiling, and spread over the second', async () => {
  let row = { points: 0, expire: 0 };
  // What the library asks of its table, for one key: count within the window, or begin a new one.
  const query = async ({ values: [, points, expire, now] }: { values: [string, number, number, number] }) => {
    row = row.expire <= now ? { points, expire } : { ...row, points: row.points + points };
    return { rows: [row] };
  };
  const store = { postgres: { query }, schema: 'sync', table: 'rate_limit' };
  const workers = [1, 2, 3].map(() => openRateLimit({ requestsPerSecond: 30, store }));
  const startedMs: number[] = [];
  const worker = async (acquire: () => Promise<void>) => {
    for (let left = 13; left > 0; left -= 1) {
      await acquire();
      startedMs.push(performance.now());
    }
  };
  await Promise.all(workers.map(worker));
  expect((startedMs[33] ?? 0) - (startedMs[0] ?? 0)).toBeGreaterThan(1000);
  // Ten slots of 33 ms: a window is not used up at its beginning.
  expect(startedMs.filter((atMs) => atMs - (startedMs[0] ?? 0) < 300).length).toBeLessThan(15);
});

test.each([
  [2.5, 25, 10],
  [1.25, 12, 10],
  [20, 20, 1],
  [0.2, 2, 10],
  [0.15, 1, 7],
])('%d requests a second are %d in a window of %d s', async (requestsPerSecond, most, seconds) => {
  const windows: number[] = [];
  const query = async ({ values: [, , expire, now] }: { values: [string, number, number, number] }) => {
    windows.push(Math.round((expire - now) / 1000));
    // The first is one too many for a window that ends at once.
    return { rows: [{ points: windows.length === 1 ? most + 1 : 1, expire: now + 1 }] };
  };
  const store = { postgres: { query }, schema: 'sync', table: 'rate_limit' };
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  await openRateLimit({ requestsPerSecond, store })();
  expect(windows).toEqual([seconds, seconds]);
});

test('slots of a window that passed unused are not made up for: no burst follows a pause', async () => {
  // A window of which 900 ms have passed without a request.
  const expire = Date.now() + 100;
  let points = 0;
  const query = async () => {
    points += 1;
    return { rows: [{ points, expire }] };
  };
  const acquire = openRateLimit({
    requestsPerSecond: 20,
    store: { postgres: { query }, schema: 'sync', table: 'rate_limit' },
  });
  const startedMs: number[] = [];
  for (let left = 5; left > 0; left -= 1) {
    await acquire();
    startedMs.push(performance.now());
  }
  // One slot of 50 ms may be made up for.
  expect((startedMs[4] ?? 0) - (startedMs[0] ?? 0)).toBeGreaterThan(140);
});

test('an aborted wait ends with its reason, and the next caller is served', async () => {
  const acquire = openRateLimit({ requestsPerSecond: 20, store: 'memory' });
  const stop = new AbortController();
  await acquire(stop.signal);
  const waiting = acquire(stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  await acquire();
});

test.each([
  ['does not answer', () => Promise.reject(new Error('no database'))],
  [
    'has a window that a clock nine hours ahead began',
    async () => ({ rows: [{ points: 1, expire: Date.now() + 9 * 3_600_000 }] }),
  ],
])('when the store %s, this process keeps the ceiling alone, and reports it', async (_, query) => {
  const troubles: unknown[] = [];
  const postgres = { query };
  const store = { postgres, schema: 'sync', table: 'rate_limit' };
  const acquire = openRateLimit({ requestsPerSecond: 100, store, onStoreError: (error) => troubles.push(error) });
  await acquire();
  await acquire();
  expect(troubles).toHaveLength(2);
});

test('a ceiling that is none is refused', () => {
  for (const requestsPerSecond of [0, -1, Number.NaN]) {
    expect(() => openRateLimit({ requestsPerSecond, store: 'memory' })).toThrow(TypeError);
  }
});
