import { expect, test } from 'vitest';
import { openRateLimit } from '../../src/review-api/index.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

// Lower bounds only: they are the promise itself, and no measure of speed.

/** When so many requests started, in milliseconds after the first. */
async function starts(acquire: () => Promise<void>, count: number): Promise<number[]> {
  const at: number[] = [];
  while (at.length < count) {
    await acquire();
    at.push(performance.now());
  }
  return at;
}

const since = ([first = 0]: number[], at = 0) => at - first;

test('no more than the ceiling start within their time, in their order', async () => {
  const acquire = openRateLimit({ requestsPerSecond: 200, store: 'memory' });
  const started: number[] = [];
  const at: number[] = [];
  const start = async (number: number) => {
    await acquire();
    started.push(number);
    at.push(performance.now());
  };
  await Promise.all(Array.from({ length: 50 }, (_, number) => start(number)));
  expect(started).toEqual([...started.keys()]);
  // 49 slots of 5 ms. The first may be noted late.
  expect(since(at, at[49])).toBeGreaterThan(150);
});

async function openStore() {
  const { warehouse, ask } = await openTestWarehouse(3);
  return { store: { postgres: warehouse.pool, schema: 'sync', table: 'rate_limit' }, ask };
}

test('workers on one store share the ceiling, and spread over the second', async () => {
  const { store } = await openStore();
  const workers = [1, 2, 3].map(() => starts(openRateLimit({ requestsPerSecond: 50, store }), 13));
  const at = (await Promise.all(workers)).flat().toSorted((one, other) => one - other);
  expect(since(at, at[33])).toBeGreaterThan(450);
  // Ten slots of 20 ms: a second is not used up at its beginning.
  expect(at.filter((ms) => since(at, ms) < 200).length).toBeLessThan(15);
});

test('slots are as long as the ceiling says, not made up for, nor believed hours ahead', async () => {
  const { store, ask } = await openStore();
  /** The time of the slot after the last, in seconds, and how far it is ahead of the server's clock. */
  const next = async () => {
    const sql =
      'expire / 1e6::float8 as at, expire / 1e6::float8 - extract(epoch from clock_timestamp())::float8 as ahead';
    const [row] = await ask<{ at: number; ahead: number }>(`select ${sql} from sync.rate_limit`);
    return row ?? { at: 0, ahead: 0 };
  };
  const acquire = openRateLimit({ requestsPerSecond: 20, store });
  await acquire();
  // A pause of 0.9 s is followed by no burst.
  await ask('update sync.rate_limit set expire = expire - 900000');
  const before = await next();
  await acquire();
  expect((await next()).at - before.at).toBeGreaterThan(0.8);
  // As a clock that was hours ahead has written it.
  await ask('update sync.rate_limit set expire = expire + 9 * 3600000000');
  await acquire();
  expect((await next()).ahead).toBeLessThan(1);
  await ask('delete from sync.rate_limit');
  await openRateLimit({ requestsPerSecond: 0.15, store })();
  expect([4, 5, 6, 7]).toContain(Math.ceil((await next()).ahead));
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
  const postgres = { query: () => Promise.reject(new Error('no database')) };
  const store = { postgres, schema: 'sync', table: 'rate_limit' };
  const onStoreError = (error: unknown) => troubles.push(error);
  const at = await starts(openRateLimit({ requestsPerSecond: 20, store, onStoreError }), 4);
  expect(since(at, at[3])).toBeGreaterThan(90);
  expect(troubles).toHaveLength(4);
});

test('a ceiling that is none is refused', () => {
  for (const requestsPerSecond of [0, -1, Number.NaN])
    expect(() => openRateLimit({ requestsPerSecond, store: 'memory' })).toThrow(TypeError);
});
