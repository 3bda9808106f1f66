import pg from 'pg';
import { beforeEach, expect, test, vi } from 'vitest';
import { openBatch } from '../../src/warehouse/batch.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

/** A batch whose statements commit at once, and the sizes of its statements. */
function batchOfNumbers() {
  const sizes: number[] = [];
  const double = openBatch(async (items: number[]) => {
    sizes.push(items.length);
    return items.map((item) => item * 2);
  });
  const call = (count: number) => Promise.all(Array.from({ length: count }, (_, item) => double(item)));
  return { sizes, call };
}

test('calls that come within 20 ms are one statement, and each gets its own result', async () => {
  const { sizes, call } = batchOfNumbers();
  const results = call(3);
  await vi.advanceTimersByTimeAsync(20);
  expect(await results).toEqual([0, 2, 4]);
  expect(sizes).toEqual([3]);
});

test('no more than 200 calls are written in one statement', async () => {
  const { sizes, call } = batchOfNumbers();
  const results = Promise.all([call(1), call(99), call(240)]);
  await vi.advanceTimersByTimeAsync(40);
  await results;
  expect(sizes).toEqual([200, 140]);
});

test.each([
  ['22003', 'a value that Postgres refuses', 1],
  ['21000', 'two rows with one key', 1],
  ['53100', 'a full disk', 3],
])('of three calls of which one meets %s (%s), so many reject: %i', async (code, _, rejected) => {
  const run = openBatch(async (items: number[]) => {
    if (items.includes(1)) throw Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code });
    return items;
  });
  const ends = Promise.allSettled([0, 1, 2].map(run));
  await vi.advanceTimersByTimeAsync(20);
  expect((await ends).filter(({ status }) => status === 'rejected')).toHaveLength(rejected);
});
