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
