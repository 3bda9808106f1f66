import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../../src/app/config.ts';
import { comparisonLines } from '../../src/app/difference-text.ts';
import { discreetly } from '../../src/app/explain-view.ts';
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
    await world.warehouse(
      `insert into sync.dead_letters (kind, key, order_code, reason, payload)
     values ('order', $1, $1, 'refused: kim.minji@example.com, 010-1234-5678 <b>', '{}')`,
      [code],
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
