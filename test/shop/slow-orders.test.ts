import { expect, test } from 'vitest';
import { readSlowAlone } from '../../src/shop/read-slow-orders.ts';
import { timeoutError } from '../../src/shop/shop-timeout.ts';

const codes = Array.from({ length: 200 }, (_, n) => `O${n}`);

/** A shop that takes this long for a statement on these orders, in seconds. There is a further order, Z. */
function shop(secondsFor: (codes: readonly string[]) => number) {
  let spent = 0;
  const read = async (some: readonly string[], limit: number) => {
    const seconds = secondsFor(some);
    spent += Math.min(seconds, limit);
    if (seconds > limit) throw timeoutError('orders.sql', limit);
    return some.map((code) => ({ order: { code }, lines: [] }));
  };
  return { reads: { read, nextCodes: async () => ['Z'] }, spent: () => spent };
}

const slowAre = (slow: readonly string[], seconds: number) => (some: readonly string[]) =>
  some.some((code) => slow.includes(code)) ? seconds : 0.01;

test('one slow order of 200 is found with 36 s of statements besides the first', async () => {
  const { reads, spent } = shop(slowAre(['O77'], 60));
  const read = await readSlowAlone(codes, reads);
  expect(read.filter(({ fault }) => fault !== undefined)).toMatchObject([
    { order: { code: 'O77' }, fault: expect.stringContaining('30 s, for this order alone') },
  ]);
  expect(read.map(({ order }) => order.code)).toEqual(codes);
  expect(Math.round(spent())).toBe(66);
});

test('200 slow orders of 200 cost ten minutes at most', async () => {
  const { reads, spent } = shop(slowAre(codes, 60));
  const read = await readSlowAlone(codes, reads);
  expect(read.filter(({ fault }) => fault === undefined)).toEqual([]);
  expect(spent()).toBeLessThanOrEqual(600);
});

test('orders that take 10 s each are read, beside one that takes too long', async () => {
  const { reads } = shop((some) =>
    some.includes('O9') ? 60 : slowAre(['O5', 'O6', 'O7', 'O8'], some.length * 10)(some),
  );
  const read = await readSlowAlone(codes, reads);
  expect(read.filter(({ fault }) => fault !== undefined).map(({ order }) => order.code)).toEqual(['O9']);
});

test('where each statement takes 5 s, slow orders are found with the limit of 30 s, and many fail the reading', async () => {
  const some = shop((asked) => (asked.includes('O9') ? 60 : 5));
  const read = await readSlowAlone(codes, some.reads);
  expect(read.filter(({ fault }) => fault !== undefined)).toMatchObject([
    { order: { code: 'O9' }, fault: expect.stringContaining('30 s, for this order alone') },
  ]);
  const many = shop((asked) => (asked.some((code) => code.endsWith('9')) ? 60 : 5));
  await expect(readSlowAlone(codes, many.reads)).rejects.toMatchObject({ code: 'shop-timeout' });
});

test('a shop that cannot read any order within 30 s fails after two to four statements of 30 s', async () => {
  const { reads, spent } = shop(() => 60);
  await expect(readSlowAlone(codes, reads)).rejects.toMatchObject({ code: 'shop-timeout' });
  expect(spent()).toBeLessThan(130);
});
