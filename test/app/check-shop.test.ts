import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  checkDates,
  checkQueryCosts,
  checkStatuses,
  checkSums,
  shareOfLines,
} from '../../src/app/doctor/check-shop.ts';

const now = '2026-03-01T18:00:00Z';

const dated = (order: Record<string, string>, row: Record<string, string>) => ({
  order: { code: 'A', created_at: '2026-03-01T12:00:00Z', ...order },
  lines: [{ order_code: 'A', line_code: '1', ...row }],
});

const [ahead, early] = ['in the future', "before the order's created_at"];
test.each([
  ['orders.sql', 'created_at', '2026-03-01T18:01:00Z', '2026-03-01T18:01:01Z', ahead],
  ['orders.sql', 'created_at', '2026-03-01T18:00:00Z', '2026-03-02T15:00:00Z', ahead],
  // The end of the day of a change or a delivery: midnight of Seoul, and the last one within 24 hours.
  ['orders.sql', 'updated_at', '2026-03-02T15:00:00.000000Z', '2026-03-01T18:01:01Z', ahead],
  ['orders.sql', 'updated_at', '2026-03-02T18:00:00Z', '2026-03-02T18:15:00Z', ahead],
  ['orders.sql', 'deleted_at', '2026-03-01T18:01:00Z', '2999-12-31T00:00:00Z', ahead],
  ['order_lines.sql', 'delivered_at', '2026-03-02T15:00:00Z', '2026-03-02T15:00:01Z', ahead],
  ['orders.sql', 'updated_at', '2026-03-01T11:59:00Z', '2026-03-01T11:58:59Z', early],
  ['order_lines.sql', 'delivery_started_at', '2026-03-01T11:59:00Z', '2026-03-01T11:58:59Z', early],
  ['order_lines.sql', 'delivered_at', '2026-03-01T11:59:00Z', '2026-03-01T11:58:59Z', early],
])('%s: a %s of %s is right, one of %s is %s', (file, name, right, wrong, why) => {
  const check = (at: string) => {
    const value = { [name]: at };
    return checkDates([file === 'orders.sql' ? dated(value, {}) : dated({}, value)], now, 'postgres');
  };
  expect(check(right)).toEqual([]);
  const what = expect.stringMatching(new RegExp(`^${file}: 1 of 1 rows have ${name} ${why}`));
  expect(check(wrong)).toEqual([{ level: 'warning', what, hint: expect.stringContaining(`as ${name}`) }]);
});

test('the sum of lines is said, and is a warning if over a quarter is far off', () => {
  const check = (...prices: number[]) =>
    checkSums(prices.map((price, n) => dated({ code: `A${n}`, total_price: '100' }, { price: String(price) })))[0];
  const what = 'order_lines.sql: in the median order, the lines add up to 84 % of total_price';
  expect(check(84, 84, 84)).toEqual({ level: 'ok', what });
  // Fewer than three orders prove nothing.
  expect(check(10_000, 10_000)).toBeUndefined();
  // A quarter far off is what vouchers and shipping do; one order more is not.
  expect(check(49, 100, 100, 201, 100, 100, 50, 200)).toMatchObject({ level: 'ok' });
  expect(check(49, 100, 100, 200, 100, 5, 50, 1900)).toMatchObject({
    level: 'warning',
    what: expect.stringMatching(/100 % .* in 3 of 8 orders, .* such as order A5 \(5 %\) and order A7 \(1900 %\)$/),
    hint: expect.stringMatching(/^do the lines belong to these orders\?.*major unit.*times the quantity/),
  });
  // Neither what was given back counts, nor an order that cannot be read or has no price.
  const share = (total: string, more: object = {}, price = '30') => {
    const lines = ['cancelled', 'returned', 'paid'].map((status) => ({ status, price }));
    return shareOfLines({ order: { code: 'A', total_price: total }, lines, ...more } as never);
  };
  expect([share('60'), share('60', { fault: 'odd' }), share('0'), share('60', {}, '0')]).toEqual([0.5, ...Array(3)]);
});

test('changes before their order are said from one in twenty on', () => {
  const early = dated({ updated_at: '2026-03-01T11:00:00Z' }, {});
  const found = (others: number) => checkDates([early, ...Array(others).fill(dated({}, {}))], now, 'mysql');
  expect(found(20)).toEqual([]);
  expect(found(19)).toMatchObject([
    { what: expect.stringMatching(/: 1 of 20 rows .*, such as 2026-03-01T11:00:00Z \(order of 2026-03-01T12/) },
  ]);
});

test('a statement is named by what it reads as a whole, or from five seconds on', async () => {
  const cost = { file: 'orders', purpose: 'find 1 orders by code', seconds: 4.999, scans: [] };
  const said = async (costs: object[]) => {
    const shop = { queryCosts: async () => costs } as never;
    return (await checkQueryCosts(shop)).map(({ level, what }) => `${level}: ${what}`);
  };
  expect(await said([])).toEqual([]);
  expect(await said([cost, { ...cost, purpose: 'rescan' }])).toEqual([
    'ok: no statement reads a large table as a whole: 4999 ms to find 1 orders by code, 4999 ms to rescan',
  ]);
  const scans = [
    { table: 'o', rows: 1200, remedy: 'r1' },
    { table: 'l', remedy: 'r2' },
  ];
  const why = { ...cost, unexplained: 'hidden' };
  expect(await said([{ ...cost, seconds: 5 }, { ...cost, seconds: undefined }, { ...cost, scans }, why, why])).toEqual([
    'warning: orders.sql takes long to find 1 orders by code: 5.000 s today',
    expect.stringMatching(/^fault: orders\.sql takes long to find 1 orders by code: more than 30 s/),
    'warning: orders.sql reads the whole of o (1,200 rows) and l to find 1 orders by code: 4.999 s today',
    'warning: it is unknown whether orders.sql reads a large table as a whole: hidden',
  ]);
});

test('doctor knows each status that a preset or the template sends, and names others', async () => {
  const shopSql = join(import.meta.dirname, '..', '..', 'sql', 'shop');
  const files = (await readdir(shopSql, { recursive: true })).filter((file) => file.endsWith('order_lines.sql'));
  expect(files.length).toBeGreaterThan(10);
  const withStatus = (status: string) => [{ order_code: 'A', line_code: '1', status }];
  for (const file of files) {
    const [, expression] =
      /\n {2}(case(?:(?!\n {2}case)[\s\S])*?) as status/.exec(await readFile(join(shopSql, file), 'utf8')) ?? [];
    const sent = [...(expression ?? '').matchAll(/(?:then|else) '([^']*)'/g)].map(([, status = '']) => status);
    expect([file, sent.length]).toEqual([file, expect.toSatisfy((count: number) => count > 3)]);
    for (const status of sent) expect([file, checkStatuses(withStatus(status))]).toEqual([file, []]);
  }
  expect(checkStatuses(withStatus('angekommen'))[0]?.what).toContain('in 1 line: "angekommen" 1 times');
  // The most frequent first, eight of them, and no word that may be a customer's.
  const words = ['Kim Minji', 'a12345', 'x'.repeat(33), ...'bcdefgh'].flatMap((word, n) => Array(n + 1).fill(word));
  const [found] = checkStatuses(words.flatMap(withStatus));
  expect(found?.what).toMatch(
    /in 55 lines: "h" 10 times, "g" 9 times, .*"b" 4 times, a text of 33 characters 3 times$/,
  );
  expect(checkStatuses(words.slice(0, 3).flatMap(withStatus))[0]?.what).not.toMatch(/Kim|12345/);
});
