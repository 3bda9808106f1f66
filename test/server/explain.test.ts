import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../../src/app/config.ts';
import { comparisonLines } from '../../src/app/difference-text.ts';
import {
  discreetly,
  isUnknownOrder,
  isUnknownReview,
  openly,
  orderParts,
  type Part,
  reviewParts,
} from '../../src/app/explain-view.ts';
import { openLog } from '../../src/base/log.ts';
import { startServing } from '../../src/cli/ui/serving.ts';
import { isValid } from '../../src/server/explain.ts';
import { openMeasuredApp } from '../../src/server/measured-app.ts';
import { runCli } from '../harness/cli.ts';
import { type Rule, startRuleProxy } from '../harness/proxy.ts';
import { openWorld, until, type World } from '../harness/world.ts';

const token = 'the-token-of-the-search';
let opened: AsyncDisposableStack;
let world: World;
let proxy: Awaited<ReturnType<typeof startRuleProxy>>;
let url: string;
async function search(of: string, key: string, headers: Record<string, string> = {}) {
  const query = new URLSearchParams({ of, key });
  const response = await fetch(`${url}/explain?${query}`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** The same, again while shop or service are too slow for the search: on a busy machine they may be. */
const searched = (of: string, key: string) =>
  until(async () => {
    const answer = await search(of, key);
    return answer.status !== 503 && answer.status !== 429 && answer;
  }, 60);

/** The code of an order that was pushed with its lines. */
async function pushed(): Promise<string> {
  await runCli(['sync', 'reviews'], world.environment);
  await runCli(['sync', 'orders'], world.environment);
  const rows = await world.warehouse<{ code: string }>(
    `select order_code as code from sync.order_links join sync.sub_order_links using (order_code)
     where sub_order_id is not null order by ordered_at desc limit 1`,
  );
  return rows[0]?.code ?? '';
}

/** Names, phone numbers and e-mail addresses of all customers of the shop. */
async function customers(): Promise<string[]> {
  const orders = await readFile('sql/shop/orders.sql', 'utf8');
  const rows = await world.shop<{ value: string }>(
    `select distinct value from (${orders}) as o cross join lateral (values (user_name), (user_phone), (user_email)) as v (value)
     where length(value) > 1`,
  );
  return rows.map(({ value }) => value);
}

describe('with a shop and a service', () => {
  beforeEach(async () => {
    opened = new AsyncDisposableStack();
    world = opened.use(await openWorld({ shop: 'sample' }));
    proxy = await startRuleProxy(world.serviceUrl);
    opened.defer(() => proxy.close());
    const environment = { ...world.environment, REVIEW_API_BASE_URL: proxy.url, STATUS_TOKEN: token, PORT: '0' };
    const { app, metrics, reports } = await openMeasuredApp(readConfig(environment), openLog('silent'), opened);
    url = await startServing({ app, metrics, reports }, opened);
  });
  afterEach(() => opened.disposeAsync());

  test('an order is explained with keys, dates and numbers, and with no value of any customer', async () => {
    const code = await pushed();
    const orders = await readFile('sql/shop/orders.sql', 'utf8');
    const [customer] = await world.shop<{ name: string }>(
      `select user_name as name from (${orders}) as o where code = $1`,
      [code],
    );
    await world.warehouse(
      `insert into sync.dead_letters (kind, key, order_code, reason, payload)
     values ('order', $1, $1, 'refused: kim.minji@example.com, 010-1234-5678 <b> ' || $2::text, '{}')`,
      [code, customer?.name],
    );
    const { status, text } = await searched('order', code);
    expect(status).toBe(200);
    for (const words of [code, 'Due again', 'Sub-orders', 'a value', '[e-mail]', '&#60;b&#62;'])
      expect(text).toContain(words);
    expect(text).toContain('No difference in what could be compared');
    const values = await customers();
    expect(values.length).toBeGreaterThan(50);
    for (const value of [...values, 'kim.minji', '1234-5678']) expect(text).not.toContain(value);
    // One lookup by id.
    expect(new Set(proxy.requests.map(({ method, path }) => `${method} ${path}`)).size).toBe(1);
  });

  test('a search needs the token, a key that can be one, and a user: another site starts none', async () => {
    const odd = [
      '<script>alert(1)</script>',
      '"><img src=x onerror=alert(1)>',
      "' or 1=1 --",
      '../../x',
      '🙂 \u202e',
      '&lt;b&gt; %3Cscript%3E',
    ];
    for (const key of odd) {
      const { status, text } = await search('order', key);
      expect(status).toBe(200);
      expect(text).toContain('Nothing is known of this key');
      expect(text).not.toMatch(/<script>alert|<img/);
    }
    const before = proxy.requests.length;
    expect((await search('review', '0')).status).toBe(422);
    expect((await search('order', 'a\u0000b')).status).toBe(422);
    expect((await search('order', 'x'.repeat(5000))).status).toBe(422);
    expect((await search('order', 'x', { authorization: 'Bearer wrong' })).status).toBe(401);
    // none: a link in a mail, a bookmark or a typed address. A person presses the button.
    for (const site of ['cross-site', 'same-site', 'none']) {
      const { status, text } = await search('order', 'x', { 'sec-fetch-site': site });
      expect([status, text.includes('Press Explain')]).toEqual([200, true]);
    }
    expect(proxy.requests).toHaveLength(before);
    const basic = { authorization: `Basic ${Buffer.from(`any:${token}`).toString('base64')}` };
    expect((await search('order', 'x', basic)).text).toContain('Press Explain');
    expect((await search('order', 'x', { ...basic, referer: 'http://evil.example/' })).text).toContain('Press Explain');
    expect(proxy.requests).toHaveLength(before);
    expect((await search('order', 'x', { ...basic, referer: `${url}/explain` })).text).toContain('Nothing is known');
    expect((await search('order', 'x', { 'sec-fetch-site': 'same-origin' })).text).toContain('Nothing is known');
    expect(proxy.requests.length).toBeGreaterThan(before);

    // Twelve in a minute, those above included.
    let allowed = 0;
    let refused = await search('review', '999999999999999');
    for (; refused.status === 200 && allowed < 40; allowed += 1) refused = await search('review', '999999999999999');
    expect(refused.status).toBe(429);
    expect(allowed).toBeLessThanOrEqual(12);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.text).toContain('Searches are limited');
    vi.setSystemTime(Date.now() + 61_000);
    onTestFinished(() => void vi.useRealTimers());
    expect((await search('review', '999999999999999')).status).not.toBe(429);
  });

  test('one search runs at a time, and a shop or a service that is down leaves out only its own part', async () => {
    const code = await pushed();
    const held = Promise.withResolvers<void>();
    const seen = Promise.withResolvers<void>();
    const holding: Rule = async () => {
      seen.resolve();
      await held.promise;
      return 'pass' as const;
    };
    proxy.use(holding);
    const first = search('order', code);
    await seen.promise;
    expect((await search('order', code)).status).toBe(429);
    held.resolve();
    expect([200, 503]).toContain((await first).status);

    proxy.use(() => ({ status: 503 }));
    const isOut = await searched('order', code);
    expect(isOut.status).toBe(200);
    expect(isOut.text).toMatch(/The service<\/h2><p>The service could not be asked about the order: /);
    expect(isOut.text).toContain('Due again');
    expect(isOut.text).toContain('total_price');
    // This path has the shop's rows as they are.
    for (const value of await customers()) expect(isOut.text).not.toContain(value);
    const review = await searched('review', '1');
    expect(review.text).toContain('Nothing was compared: the service could not be asked.');
    // Both together, with all further attempts, and once more where the machine was slow.
    expect(proxy.requests.length).toBeLessThanOrEqual(20);

    proxy.use(() => 'pass');
    await world.shop('alter table shop.orders rename to orders_elsewhere');
    const noShop = await searched('order', code);
    expect(noShop.text).toMatch(/The shop<\/h2><p>It cannot be read: /);
    expect(noShop.text).toContain('Sub-orders');
    expect((await searched('order', 'never-pushed')).text).toMatch(/The shop<\/h2><p>It cannot be read: /);

    // A search that is too late keeps its turn as long as the shop works on it.
    await world.shop('create view shop.orders as select * from shop.orders_elsewhere where pg_sleep(60) is not null');
    expect((await search('order', code)).status).toBe(503);
    const next = await search('order', code);
    expect([next.status, next.headers.get('retry-after')]).toEqual([429, '5']);
    await world.shop(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`);
  });
});

test('a code is whole text without control characters, an id is a number that the warehouse can hold', () => {
  const order = (key: string) => isValid({ of: 'order', key });
  expect([order('A-1'), order('주문 1'), order('x'.repeat(200))]).toEqual([true, true, true]);
  expect([order(''), order('x'.repeat(201)), order('a\nb'), order('\u0000'), order('\ud800')]).toEqual(
    Array.from({ length: 5 }, () => false),
  );
  const review = (key: string) => isValid({ of: 'review', key });
  expect(['1', '999999999999999'].map(review)).toEqual([true, true]);
  expect(['0', '-1', '1e3', '01', '1 or 1=1', '9999999999999999'].map(review)).toEqual(
    Array.from({ length: 6 }, () => false),
  );
});

test('a line’s code that holds an e-mail address or a phone number is masked in each difference', () => {
  const line = { lineCode: 'kim@example.com 010-1234-5678', subOrderId: 7 };
  const [shown, notShown] = ['status', 'invoice'].map((field) => ({
    field,
    shop: '1',
    service: '2',
    isShown: field === 'status',
  }));
  const subOrders = {
    matched: [
      { ...line, isHidden: true, fields: [] },
      { ...line, isHidden: false, fields: [shown, notShown] },
    ],
    create: [line],
    remove: [line],
    keep: [{ ...line, why: 'review-sync did not create it' }],
  };
  const linesNotSent = [{ ...line, reason: 'it is there twice' }];
  const difference = { orderId: 1, isDeletion: false, fields: [], fieldsNotSent: [], linesNotSent, subOrders };
  const said = comparisonLines(difference as never, discreetly).join('\n');
  expect(said.match(/line \[e-mail\] \[phone\]/g)).toHaveLength(7);
  expect(said).not.toMatch(/kim|1234/);
});

test('each kind of difference has its sentence, and a deletion only one', () => {
  const field = (name: string, isShown = true) => ({ field: name, shop: '1', service: null, isShown });
  const line = { lineCode: 'L', subOrderId: 7 };
  const difference = {
    ...{ orderId: 1, isDeletion: false, fields: [field('total_price'), field('mileage', false)] },
    ...{
      fieldsNotSent: [{ field: 'user_grade_id', reason: 'waits' }],
      linesNotSent: [{ lineCode: 'N', reason: 'twice' }],
    },
    subOrders: {
      matched: [
        { ...line, isHidden: true, fields: [] },
        { ...line, isHidden: false, fields: [field('status'), field('invoice', false)] },
      ],
      ...{ create: [line], remove: [line], links: [] },
      keep: [
        { ...line, why: 'odd' },
        { ...line, lineCode: null, why: 'foreign' },
      ],
    },
  };
  const said = (more: object = {}) => comparisonLines({ ...difference, ...more } as never, openly);
  expect(said()).toEqual([
    'Shop and service differ',
    '  total_price: the shop has 1, the service nothing',
    '  line L: the service does not show its sub-order 7',
    '  line L (sub-order 7): status: the shop has 1, the service nothing',
    '  line L: the service has no sub-order for it',
    '  sub-order 7: its line L is gone from the shop',
    '  sub-order 7: its line L is gone from the shop; the sub-order stays: odd',
    '  sub-order 7: no line matches it; the sub-order stays: foreign',
    '  could not be compared: mileage (the shop has 1): the service does not show this field; user_grade_id: waits; ' +
      'line N (twice); line L: invoice (the shop has 1): the service does not show this field',
  ]);
  expect(said({ isDeletion: true })).toEqual([
    'Shop and service differ',
    '  the shop has deleted the order; a push deletes it at the service',
  ]);
});

/** Parts of an explanation as `explain` draws them, a row each. */
const drawn = (parts: Part[]) =>
  parts.flatMap(({ title, lines, tables }) => [
    `# ${title}`,
    ...lines,
    ...tables.flatMap((one) => [one.title, ...[one.head, ...one.rows].map((row) => row.join('|'))]),
  ]);
const at = (second: number) => new Date(second * 1000);
const letters = [
  { id: 1, kind: 'order', resolvedAt: null, lastFailedAt: at(1), reason: 'odd' },
  { id: 2, kind: 'line', resolvedAt: at(3), lastFailedAt: at(2), reason: 'old' },
];

test('what is known of an order is said whole, part by part, and so is what is not', () => {
  const unknown = { code: 'A', lines: [], deadLetters: [] };
  const link = { pushedAt: at(1), dueAt: at(2), failedPushes: 3, sentFields: ['user_phone'] };
  const subOrder = {
    id: 7,
    product_id: 8,
    price: { cents: 900 },
    status: 'paid',
    reviews_count: 2,
    updated_at: 'now',
    invoice: 'X',
  };
  const known = {
    ...{ code: 'A', link, deadLetters: letters },
    shop: {
      order: { code: 'A', mileage: '', total_price: '9' },
      lines: [
        { order_code: 'A', line_code: '1', status: null },
        { order_code: 'A', line_code: '2', status: 'paid' },
      ],
      fault: 'no date',
    },
    lines: [
      { lineCode: '1', subOrderId: 7, content: { price: '9' } },
      { lineCode: '2', subOrderId: null, content: null },
    ],
    service: { id: 1, code: 'A', sub_orders: [subOrder] },
  };
  const said = (order: object, fault?: string) => drawn(orderParts(order as never, openly, fault));
  expect(said(known)).toEqual([
    '# The shop',
    'It cannot be read: no date',
    'The order',
    'field|value',
    'code|A',
    'total_price|9',
    'Lines',
    'line_code|status',
    '1|',
    '2|paid',
    '# Pushed',
    'Pushed: last recorded at 1970-01-01 00:00:01, with e-mail and phone.',
    'Due again: 1970-01-01 00:00:02. Failed in a row: 3.',
    'Lines',
    'line|sub-order|as last sent',
    '1|7|{"price":"9"}',
    '2|being added|nothing',
    '# The service',
    'The order',
    'field|value',
    'id|1',
    'code|A',
    'Sub-orders',
    'id|product_id|cents|status|reviews_count|updated_at',
    '7|8|900|paid|2|now',
    '# Dead letters',
    'Dead letters',
    'id|kind|state|last failed|reason',
    '1|order|open|1970-01-01 00:00:01|odd',
    '2|line|closed 1970-01-01 00:00:03|1970-01-01 00:00:02|old',
    '# Difference',
    'Nothing was compared: the shop or the service does not have the order, or it cannot be read.',
  ]);
  expect(said(unknown).filter((line) => !line.startsWith('#'))).toEqual([
    'The shop has no order A.',
    'No push of it is remembered.',
    'The service has no such order.',
    'No dead letters.',
    expect.stringMatching(/^Nothing was compared/),
  ]);
  const never = { pushedAt: null, dueAt: null, failedPushes: 0, sentFields: ['user_name'] };
  expect(said({ ...unknown, link: never, lookupFault: 'down' }, 'no shop').slice(1, 6)).toEqual([
    'It cannot be read: no shop',
    '# Pushed',
    'Pushed: never recorded, without e-mail and phone.',
    'Due again: no. Failed in a row: 0.',
    '# The service',
  ]);
  expect(isUnknownOrder(unknown as never)).toBe(true);
  for (const one of ['shop', 'link', 'service', 'deadLetters'] as const)
    expect([one, isUnknownOrder({ ...unknown, [one]: known[one] } as never)]).toEqual([one, false]);
  expect(isUnknownOrder({ ...unknown, lookupFault: 'down' } as never)).toBe(false);
});

test('what is known of a review is said whole, part by part, and so is what is not', () => {
  const unknown = { id: 1, windows: [], deadLetters: [], differences: [] };
  const windows = [{ axis: 'created', runId: 'r1', startAt: at(1), endAt: at(2), startedAt: at(3), reviews: 4 }];
  const known = {
    ...unknown,
    service: { id: 1 },
    warehouse: { score: 5 },
    windows,
    missed: { at: at(4), runId: 'r2' },
    deadLetters: letters.slice(1),
  };
  const said = (review: object) => drawn(reviewParts(review as never, openly));
  expect(said(known)).toEqual([
    '# The service',
    'The review',
    'field|value',
    'id|1',
    '# The warehouse',
    'The review',
    'field|value',
    'score|5',
    '# Windows that held its dates',
    'Suspected gone: missed at 1970-01-01 00:00:04 by r2.',
    'Windows',
    'axis|from|to|read at|run',
    'created|1970-01-01 00:00:01|1970-01-01 00:00:02|1970-01-01 00:00:03|r1',
    '# Dead letters',
    'Dead letters',
    'id|kind|state|last failed|reason',
    '2|line|closed 1970-01-01 00:00:03|1970-01-01 00:00:02|old',
    '# Difference',
    'Service and warehouse agree.',
  ]);
  expect(said(unknown).filter((line) => !line.startsWith('#'))).toEqual([
    'The service has no such review (404).',
    'The warehouse has no such review.',
    'No recorded window holds its dates.',
    'No dead letters.',
    'Neither the service nor the warehouse shows it.',
  ]);
  expect(isUnknownReview(unknown as never)).toBe(true);
  for (const one of ['service', 'warehouse', 'deadLetters'] as const)
    expect([one, isUnknownReview({ ...unknown, [one]: known[one] } as never)]).toEqual([one, false]);
  expect(isUnknownReview({ ...unknown, serviceFault: 'down' } as never)).toBe(false);
});

test.each<[value: unknown, shown: string]>([
  ['x'.repeat(80), 'x'.repeat(80)],
  ['x'.repeat(81), `${'x'.repeat(79)}…`],
  [at(0), '1970-01-01T00:00:00.000Z'],
  [{ a: 1 }, '{"a":1}'],
  ['', 'nothing'],
])('the operator who asks sees %j as %s', (value, shown) => {
  expect(openly.value('message', value)).toBe(shown);
});

test.each<[field: string, value: unknown, shown: string]>([
  ['product_id', 7_654_321, '7654321'],
  ['product_id', 821012345678, '[phone]'],
  ['product_id', '82 10-1234-5678', 'a text of 15 characters'],
  ['line_code', 'A-1001', 'A-1001'],
  ['created_at', '2026-03-01T10:00:00Z', '2026-03-01T10:00:00Z'],
  ['score', 5, '5'],
  ['user_code', '12345', 'a value'],
  ['message', 'fine', 'a value'],
  ['invoice', 'Kim', 'a text of 3 characters'],
  ['status', null, 'nothing'],
])('of the %s %j the page shows: %s', (field, value, shown) => {
  expect(discreetly.value(field, value)).toBe(shown);
});
