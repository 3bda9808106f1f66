import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openBatch } from '../../src/warehouse/batch.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

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

test('calls that come within 10 ms are one statement, and each gets its own result', async () => {
  const { sizes, call } = batchOfNumbers();
  const results = call(3);
  await vi.advanceTimersByTimeAsync(10);
  expect(await results).toEqual([0, 2, 4]);
  expect(sizes).toEqual([3]);
});

test('100 calls are written at once, and no more than 200 in one statement', async () => {
  const { sizes, call } = batchOfNumbers();
  const results = Promise.all([call(1), call(99), call(240)]);
  await vi.advanceTimersByTimeAsync(0);
  await results;
  expect(sizes).toEqual([200, 140]);
});

test('after a statement for several orders, calls collect for 160 ms; after one for a few, for 10 ms', async () => {
  const { sizes, call } = batchOfNumbers();
  const results = call(5);
  await vi.advanceTimersByTimeAsync(10);
  await results;
  const more = call(2);
  await vi.advanceTimersByTimeAsync(159);
  expect(sizes).toEqual([5]);
  await vi.advanceTimersByTimeAsync(1);
  await more;
  const last = call(1);
  await vi.advanceTimersByTimeAsync(10);
  await last;
  expect(sizes).toEqual([5, 2, 1]);
});
