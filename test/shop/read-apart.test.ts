import { expect, test } from 'vitest';
import { ReviewSyncError } from '../../src/base/errors.ts';
import { readApart, readPageInParts } from '../../src/shop/read-apart.ts';

const codes = Array.from({ length: 200 }, (_, n) => `O${n}`);
const failure = (code: string) => new ReviewSyncError(code, 'orders.sql: it failed', { hint: 'correct it' });

/** A shop that takes this long for a reading of these orders, in seconds, or cannot compute one of the `bad` ones. */
function shop(secondsFor: (codes: readonly string[]) => number, bad: readonly string[] = []) {
  const cost = { readings: 0, seconds: 0 };
  const read = async (some: readonly string[], limit: number) => {
    const seconds = secondsFor(some);
    cost.readings += 1;
    cost.seconds += Math.min(seconds, limit);
    if (seconds > limit) throw failure('shop-timeout');
    if (some.some((code) => bad.includes(code))) throw failure('shop-query');
    return some.map((code) => [code, '']);
  };
  return { cost, read: (asked: readonly string[]) => readApart(asked, read, (code, why) => [code, why]) };
}

const slowAre = (slow: readonly string[], seconds: number) => (some: readonly string[]) =>
  some.some((code) => slow.includes(code)) ? seconds : 0.01;

const five = codes.slice(0, 5);
const many = codes.filter((code) => /[2-9]$/.test(code));
const fourSlow = slowAre(['O5', 'O6', 'O7', 'O8'], 10);

test.each<[string, readonly string[], (asked: readonly string[]) => number, readonly string[]]>([
  ['that comes first', codes, slowAre(['O0'], 60), ['O0']],
  ['that comes last', codes, slowAre(['O199'], 60), ['O199']],
  ['that is read alone', ['O0'], slowAre(['O0'], 60), ['O0']],
  ['and another one, which are all that is read', ['O1', 'O2'], () => 60, ['O1', 'O2']],
  ['and three others after one that is read', five, slowAre(five.slice(1), 60), five.slice(1)],
  ['and 159 others of 200', codes, slowAre(many, 60), many],
  ['beside four of 10 s each', codes, (asked) => (asked.includes('O9') ? 60 : fourSlow(asked) * asked.length), ['O9']],
  ['where each statement takes 5 s', codes, (asked) => (asked.includes('O9') ? 60 : 5), ['O9']],
])('a slow order %s is a fault of its own', async (_, asked, seconds, expected) => {
  const { read } = shop(seconds);
  const faults = asked.map((code) => [code, expected.includes(code) ? 'orders.sql: it failed → correct it' : '']);
  expect(await read(asked)).toEqual(faults);
});

test('one slow order of 200 is found with 45 s of statements besides the first', async () => {
  const { read, cost } = shop(slowAre(['O77'], 60));
  await read(codes);
  expect(cost.seconds).toBeLessThan(30 + 45);
});

test('a shop that reads no order within 30 s fails after four statements of 30 s', async () => {
  const { read, cost } = shop(() => 60);
  await expect(read(codes)).rejects.toMatchObject({ code: 'shop-timeout' });
  expect(cost.seconds).toBeLessThan(150);
});

test.each([
  ['three of 500 that cannot be computed cost some sixty readings', ['X0', 'X250', 'X499'], 60],
  ['500 that cannot be computed are faults of their own', undefined, 1000],
])('%s, also where each reading takes 5 s', async (_, some, readings) => {
  const all = Array.from({ length: 500 }, (_, n) => `X${n}`);
  const bad = some ?? all;
  const { read, cost } = shop(() => 5, bad);
  expect((await read(all)).filter(([, why]) => why !== '').map(([code]) => code)).toEqual(bad);
  expect(cost.readings).toBeLessThan(readings);
});

test('an error that is not of a row ends the reading', async () => {
  const read = async () => {
    throw failure('shop');
  };
  await expect(readApart(codes, read, () => undefined)).rejects.toMatchObject({ code: 'shop' });
});

test('an order whose statements a standby cancels is a fault of its own', async () => {
  const read = async (some: readonly string[]) => {
    if (some.includes('O5')) throw failure('shop-conflict');
    return some.map((code) => [code, '']);
  };
  const found = await readApart(codes, read, (code, why) => [code, why]);
  expect(found.filter(([, why]) => why !== '')).toEqual([['O5', 'orders.sql: it failed → correct it']]);
});

test('a tenth of a page that a standby cancels is read; of one row, it is given up', async () => {
  const asked: number[] = [];
  const read = async (size: number) => {
    asked.push(size);
    throw failure('shop-conflict');
  };
  await expect(readPageInParts(10, AbortSignal.any([]), read)).rejects.toMatchObject({ code: 'shop-conflict' });
  expect(asked).toEqual([10, 1]);
});
