import { expect, test } from 'vitest';
import { openRateLimit } from '../../src/review-api/index.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

test('no more than the ceiling start within a second, in their order', async () => {
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

async function openStore() {
  const { warehouse, ask } = await openTestWarehouse(3);
  return { store: { postgres: warehouse.pool, schema: 'sync', table: 'rate_limit' }, ask };
}

test('workers on one store share the ceiling, and spread over the second', async () => {
  const { store } = await openStore();
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
  // Ten slots of 33 ms: a second is not used up at its beginning.
  expect(startedMs.filter((atMs) => atMs - (startedMs[0] ?? 0) < 300).length).toBeLessThan(15);
});

test('with 0.15 requests a second the next slot is 6.7 s away', async () => {
  const { store, ask } = await openStore();
  await openRateLimit({ requestsPerSecond: 0.15, store })();
  const ahead = `select ceil(expire / 1000000.0 - extract(epoch from clock_timestamp()))::integer as seconds from sync.rate_limit`;
  const [{ seconds } = { seconds: 0 }] = await ask<{ seconds: number }>(ahead);
  expect([4, 5, 6, 7]).toContain(seconds);
});

test('slots that passed unused are not made up for: no burst follows a pause', async () => {
  const { store, ask } = await openStore();
  const acquire = openRateLimit({ requestsPerSecond: 20, store });
  await acquire();
  await ask('update sync.rate_limit set expire = expire - 900000');
  const startedMs: number[] = [];
  for (let left = 5; left > 0; left -= 1) {
    await acquire();
    startedMs.push(performance.now());
  }
  // One slot of 50 ms may be made up for.
  expect((startedMs[4] ?? 0) - (startedMs[0] ?? 0)).toBeGreaterThan(140);
});

test('a slot that a clock hours ahead has written holds nobody', async () => {
  const { store, ask } = await openStore();
  const acquire = openRateLimit({ requestsPerSecond: 20, store });
  await acquire();
  await ask('update sync.rate_limit set expire = expire + 9 * 3600000000');
  await acquire();
  const ahead =
    'select expire < extract(epoch from clock_timestamp()) * 1000000 + 1000000 as fine from sync.rate_limit';
  expect(await ask(ahead)).toEqual([{ fine: true }]);
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

test('without its store a process keeps the ceiling alone, and reports it', async () => {
  const troubles: unknown[] = [];
  const store = {
    postgres: { query: () => Promise.reject(new Error('no database')) },
    schema: 'sync',
    table: 'rate_limit',
  };
  const acquire = openRateLimit({ requestsPerSecond: 20, store, onStoreError: (error) => troubles.push(error) });
  const startedMs = performance.now();
  for (let left = 4; left > 0; left -= 1) await acquire();
  expect(performance.now() - startedMs).toBeGreaterThan(90);
  expect(troubles).toHaveLength(4);
});

test('a ceiling that is none is refused', () => {
  for (const requestsPerSecond of [0, -1, Number.NaN]) {
    expect(() => openRateLimit({ requestsPerSecond, store: 'memory' })).toThrow(TypeError);
  }
});
