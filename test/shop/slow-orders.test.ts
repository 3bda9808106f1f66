import { expect, test } from 'vitest';
import { readPageInParts, readSlowAlone } from '../../src/shop/read-by-key.ts';
import { conflictError, timeoutError } from '../../src/shop/session.ts';

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

const faulty = (orders: Awaited<ReturnType<typeof readSlowAlone>>) =>
  orders.flatMap(({ order, fault }) => (fault === undefined ? [] : order.code));

test('one slow order of 200 is found with 45 s of statements besides the first', async () => {
  const { read, spent } = shop(slowAre(['O77'], 60));
  const orders = await readSlowAlone(codes, read);
  const fault = expect.stringContaining('a limit of the database, for this order alone');
  expect(orders[77]).toMatchObject({ order: { code: 'O77' }, fault });
  expect(faulty(orders)).toEqual(['O77']);
  expect(orders.map(({ order }) => order.code)).toEqual(codes);
  expect(spent()).toBeLessThan(30 + 45);
});

const many = codes.filter((code) => /[2-9]$/.test(code));
const fourSlow = slowAre(['O5', 'O6', 'O7', 'O8'], 10);

test.each<[string, readonly string[], (asked: readonly string[]) => number, readonly string[]]>([
  ['that comes first', codes, slowAre(['O0'], 60), ['O0']],
  ['that comes last', codes, slowAre(['O199'], 60), ['O199']],
  ['that is read alone', ['O0'], slowAre(['O0'], 60), ['O0']],
  ['and another one, which are all that is read', ['O1', 'O2'], () => 60, ['O1', 'O2']],
  ['and 159 others of 200', codes, slowAre(many, 60), many],
  ['beside four of 10 s each', codes, (asked) => (asked.includes('O9') ? 60 : fourSlow(asked) * asked.length), ['O9']],
  ['where each statement takes 5 s', codes, (asked) => (asked.includes('O9') ? 60 : 5), ['O9']],
])('a slow order %s is a fault of its own', async (_, asked, seconds, expected) => {
  const orders = await readSlowAlone(asked, shop(seconds).read);
  expect(faulty(orders)).toEqual(expected);
  expect(orders).toHaveLength(asked.length);
});

test('a shop that reads no order within 30 s fails after four statements of 30 s', async () => {
  const { read, spent } = shop(() => 60);
  await expect(readSlowAlone(codes, read)).rejects.toMatchObject({ code: 'shop-timeout' });
  expect(spent()).toBeLessThan(150);
});

test('a page of one row that a standby cancels is given up', async () => {
  let asked = 0;
  const read = async () => {
    asked += 1;
    throw asked === 1 ? conflictError('orders.sql', undefined) : new Error('it was asked again');
  };
  await expect(readPageInParts(1, AbortSignal.any([]), read)).rejects.toThrow('conflict with recovery');
});
