import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressOf, startHere } from '../harness/cli.ts';
import { chromiumPath, startBrowser } from '../harness/servers.ts';
import { hourlyReviews, openServe, type Serving } from '../harness/world.ts';

/** A colon, which ends the user's name in HTTP Basic, may stand in it. */
const token = 'the-token:of-the-page';
const environment = { STATUS_TOKEN: token, WEBHOOK_SECRET: 'a-secret-part-of-the-path' };
const asUser = (password: string) => ({ authorization: `Basic ${btoa(`anybody:${password}`)}` });

/**
 * One window of reviews is not read, and one second is a gap. Dead letters name a customer. Orders were synced on 14 of
 * 15 days.
 */
async function openTroubled(): Promise<Serving> {
  const serving = await openServe(environment);
  const { world } = serving;
  await world.seedReviews(hourlyReviews(60, 24));
  await world.run('backfill-reviews');
  await world.warehouse(`
    delete from sync.export_windows where start_at = (select max(start_at) from sync.export_windows);
    insert into sync.dead_letters (kind, key, reason, payload) values
    ('order', 'A-1', 'the service refused it: 422 <script>alert(1)</script>', '{"user_email": "kim@example.com"}'),
    ('review', '5', 'no score', '{"user_name": "Kim"}');
    insert into sync.open_gaps (axis, start_at, end_at, kind, reason)
    values ('created', '2026-01-02 03:04:05+00', '2026-01-02 03:04:06+00', 'failed', 'it fails');
    insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, counts)
    select 'orders-' || n, 'sync-orders', 'command', at, at, 'done', jsonb_build_object('orders_pushed', n)
    from (select n, now() - interval '1 minute' - (n - 1) * interval '1 day' as at from generate_series(1, 15) n where n <> 4) as ended`);
  return serving;
}

let serving: Serving;
beforeAll(async () => {
  serving = await openTroubled();
});
afterAll(() => serving[Symbol.asyncDispose]());

test('without STATUS_TOKEN there is no page; an unread warehouse is named and hides no queue', async () => {
  await using closing = await openServe(environment);
  await closing.world.warehouse('alter table sync.dead_letters rename to elsewhere');
  const answer = await fetch(closing.url, { headers: asUser(token) });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '15']);
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  const unread =
    /The warehouse cannot be read: relation &#34;sync\.dead_letters&#34; does not exist.*review-sync doctor/s;
  expect(await answer.text()).toMatch(unread);
  const board = (headers: object) => fetch(`${closing.url}/queues/api/queues`, { headers: { ...headers } });
  expect([(await board({})).status, (await board(asUser(token))).status]).toEqual([401, 200]);

  const closed = startHere(['serve'], { ...closing.environment, STATUS_TOKEN: '', WEBHOOK_SECRET: '' });
  const url = await addressOf(closed);
  expect((await fetch(url)).status).toBe(404);
  expect((await fetch(`${url}/webhooks/`, { method: 'POST' })).status).toBe(404);
  expect(closed.saidSoFar()).toMatch(/STATUS_TOKEN is not set.*WEBHOOK_SECRET is not set: no webhook is accepted/s);
});

test('the page shows all of the status, and escapes every text', async () => {
  await serving.world.warehouse(`insert into sync.runs (id, job, started_by, trigger, started_at)
    select 'open-' || n, 'backfill-orders', 'command', 'backfill', now() - n * interval '1 minute' from generate_series(1, 6) n`);
  const answer = await fetch(serving.url, { headers: asUser(token) });
  const page = await answer.text();
  const all = (pattern: RegExp) => [...page.matchAll(pattern)].map(([, found]) => found);
  const parts = ['flows', 'progress', 'daily', 'dead-letters', 'coverage', 'runs', 'queue', 'schedules'];
  expect(all(/<h2 id="([\w-]+)">/g)).toEqual(parts);
  // At most five runs are looked at.
  expect(all(/<li>(<strong>)backfill-orders<\/strong>/g)).toHaveLength(5);
  expect(page).toMatch(/For 1 min( \d+ s)?; the queue does not say how far it is\./);
  expect(page).not.toMatch(/<form|<button|<input/);
  for (const words of [
    /<td>backfill-orders<\/td>.*<span class="outcome running">running/,
    /<td>backfill-reviews<\/td>.*<span class="outcome done">done<\/span>.*<span class="text">\d+ spans, /,
    '<td>review</td><td>1</td><td><span class="text">no score</span>',
    'not read completely',
    '<title>review-sync: 10 issues</title>',
    'What to do: review-sync backfill reviews --gaps',
    '116 orders pushed by sync orders in 14 days, at most 15 in one. Grey: 1 day without a run of sync orders.',
    '&#60;script&#62;',
  ])
    expect(page).toMatch(words);
});

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  async function open(width: number): Promise<Page> {
    const httpCredentials = { username: 'anybody', password: token };
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: 'dark', httpCredentials });
    await page.goto(serving.url);
    return page;
  }

  /** Rules of axe that the page breaks. Nothing may be wider than the window, with all figures shown. */
  async function faultsOf(page: Page): Promise<string[]> {
    await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
    expect(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')).toBeLessThanOrEqual(0);
    // All tables of figures are alike, and axe takes a second for each.
    await page.evaluate(`document.querySelectorAll('details').forEach((one, n) => { one.open = n === 0; })`);
    await page.evaluate(axe.source);
    const found = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: { html: string }[] }[] };
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  }

  test('a phone shows why records, spans and runs failed without scrolling', async () => {
    const page = await open(390);
    const reasons = `['dead-letters', 'coverage', 'runs'].map((id) =>
      [...document.querySelectorAll('[aria-labelledby=' + id + '] .text')].map((one) => one.getBoundingClientRect().right))`;
    const edges = (await page.evaluate(reasons)) as number[][];
    for (const ofTable of edges) {
      expect(ofTable).not.toEqual([]);
      expect(Math.max(...ofTable)).toBeLessThanOrEqual(390);
    }
  });

  test('on a dark phone nothing is wider than the window, and axe objects to nothing', async () => {
    const page = await open(360);
    // Which shades there are depends on the reviews of the year; each must be legible, as a hole too.
    await page.evaluate(
      `document.querySelectorAll('td.day').forEach((cell, n) => { cell.className = 'day s' + (n % 5) + (n % 2 ? ' hole' : ''); })`,
    );
    expect(await faultsOf(page)).toEqual([]);
  });
});
