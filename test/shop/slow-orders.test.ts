import { expect, test } from 'vitest';
import { readSlowAlone } from '../../src/shop/read-slow-orders.ts';
import { timeoutError } from '../../src/shop/shop-timeout.ts';

const codes = Array.from({ length: 200 }, (_, n) => `O${n}`);

/** A shop that takes this long for a statement on these orders, in seconds. */
function shop(secondsFor: (codes: readonly string[]) => number) {
  let spent = 0;
  const read = async (some: readonly string[], limit: number) => {
    const seconds = secondsFor(some);
    spent += Math.min(seconds, limit);
    if (seconds > limit) throw timeoutError('orders.sql', limit);
    return some.map((code) => ({ order: { code }, lines: [] }));
  };
  return { read, spent: () => spent };
}

const slowAre = (slow: readonly string[], seconds: number) => (some: readonly string[]) =>
  some.some((code) => slow.includes(code)) ? seconds : 0.01;

test('one slow order of 200 is found with 45 s of statements besides the first', async () => {
  const { read, spent } = shop(slowAre(['O77'], 60));
  const orders = await readSlowAlone(codes, read);
  expect(orders.filter(({ fault }) => fault !== undefined)).toMatchObject([
    { order: { code: 'O77' }, fault: expect.stringContaining('a limit of the database, for this order alone') },
  ]);
  expect(orders.map(({ order }) => order.code)).toEqual(codes);
  expect(spent()).toBeLessThan(30 + 45);
});

test('a slow order that comes first, last or alone is a fault of its own', async () => {
  for (const slow of ['O0', 'O199']) {
    const orders = await readSlowAlone(codes, shop(slowAre([slow], 60)).read);
    expect(orders.filter(({ fault }) => fault !== undefined).map(({ order }) => order.code)).toEqual([slow]);
  }
  expect(await readSlowAlone(['O0'], shop(slowAre(['O0'], 60)).read)).toMatchObject([{ order: { code: 'O0' } }]);
});

test('two slow orders that are all that is read are faults, not a slow shop', async () => {
  const orders = await readSlowAlone(['O1', 'O2'], shop(() => 60).read);
  expect(orders.map(({ fault }) => fault !== undefined)).toEqual([true, true]);
});

test('160 slow orders of 200 are faults, and the other 40 are read', async () => {
  const slow = codes.filter((code) => /[2-9]$/.test(code));
  const orders = await readSlowAlone(codes, shop(slowAre(slow, 60)).read);
  expect(orders.filter(({ fault }) => fault !== undefined).map(({ order }) => order.code)).toEqual(slow);
  expect(orders).toHaveLength(200);
});

test('orders that take 10 s each are read, beside one that takes too long', async () => {
  const { read } = shop((some) =>
    some.includes('O9') ? 60 : slowAre(['O5', 'O6', 'O7', 'O8'], some.length * 10)(some),
  );
  const orders = await readSlowAlone(codes, read);
  expect(orders.filter(({ fault }) => fault !== undefined).map(({ order }) => order.code)).toEqual(['O9']);
});

test('where each statement takes 5 s, the slow order is found all the same', async () => {
  const orders = await readSlowAlone(codes, shop((asked) => (asked.includes('O9') ? 60 : 5)).read);
  expect(orders.filter(({ fault }) => fault !== undefined).map(({ order }) => order.code)).toEqual(['O9']);
});

test('a shop that reads no order within 30 s fails after four statements of 30 s', async () => {
  const { read, spent } = shop(() => 60);
  await expect(readSlowAlone(codes, read)).rejects.toMatchObject({ code: 'shop-timeout' });
  expect(spent()).toBeLessThan(150);
});
