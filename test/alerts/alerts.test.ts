import { expect, onTestFinished } from 'vitest';
import type { Issue } from '../../src/alerts/post-issues.ts';
import { postIssues } from '../../src/alerts/post-issues.ts';
import { issuesOf } from '../../src/app/alert-rules.ts';
import { statusReport } from '../../src/app/status-report.ts';
import { startAlertWatcher } from '../../src/background/watch-alerts.ts';
import { openLog } from '../../src/base/log.ts';
import { leaveWatch, takeWatch } from '../../src/warehouse/alerts.ts';
import { startHere, until } from '../harness/cli.ts';
import { valuesOf } from '../harness/database.ts';
import { serve } from '../harness/proxy.ts';
import { noSchedules, openWorld, worldTest as test, type World } from '../harness/world.ts';
import { startReceiver } from '../sandbox/reference-service/webhook-receiver.ts';

const trouble = (key: string, isUrgent = true): Issue => {
  return { key, what: `${key} is wrong`, hint: 'correct it', isUrgent };
};
const textsOf = ({ received }: Awaited<ReturnType<typeof startReceiver>>) =>
  received.map(({ body }) => (body as { text: string }).text);
/** The last runs of these jobs have failed. */
const failed = (world: World, ...jobs: string[]) =>
  world.warehouse(
    `insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, error)
     select job, job, 'schedule', now(), now(), 'failed', 'the service is down' from unnest($1::text[]) as job`,
    [jobs],
  );

test('what is wrong is reported once, until somebody heard it, and so is its recovery', async ({ world }) => {
  const { warehouse } = await world.openApp();
  const texts: string[] = [];
  let [isDeaf, now] = [false, Date.UTC(2026, 0, 1)];
  const post = async (text: string) => {
    if (isDeaf) throw new Error('nobody listens');
    texts.push(text);
  };
  const check = (issues: Issue[], minutesLater = 1) => {
    now += minutesLater * 60_000;
    return postIssues({ db: warehouse.db, log: openLog('silent'), now: () => new Date(now), post }, issues);
  };
  const [reviews, orders] = [trouble('reviews'), trouble('orders')];
  await check([reviews]);
  await check([reviews]);
  await check([reviews, orders, trouble('a hole', false)]);
  expect(texts.splice(0)).toEqual(['reviews', 'orders'].map((one) => `${one} is wrong\n→ correct it`));
  await check([orders], 60);
  await check([orders]);
  expect(texts.splice(0)).toEqual([expect.stringMatching(/^recovered after 1 h.*: reviews is wrong$/)]);
  await check([]);
  texts.splice(0);

  // An issue that was over before anybody heard of it needs no message.
  isDeaf = true;
  expect(await check([orders, reviews])).toBe(false);
  await check([orders]);
  isDeaf = false;
  expect(await check([orders])).toBe(true);
  isDeaf = true;
  expect(await check([])).toBe(false);
  isDeaf = false;
  // It is back before anybody heard that it was over.
  await check([orders]);
  expect(texts).toHaveLength(1);
  await check([]);
  await check([]);
  expect(texts).toEqual([expect.stringMatching(/orders is wrong/), expect.stringMatching(/recovered .*orders/)]);
});

test('a warehouse that does not answer is reported until heard, by one process', async () => {
  const receiver = await startReceiver();
  receiver.answer = 503;
  await using world = await openWorld({ environment: { ALERT_WEBHOOK_URL: receiver.url } });
  const app = await world.openApp();
  // A single failure may be a restart: neither it nor its end is posted. A sequence moves on although its statement
  // fails.
  await world.warehouse(`create sequence public.looks;
    create function public.look() returns trigger language plpgsql as
      $$ begin if nextval('public.looks') = 1 then raise 'restarting'; end if; return new; end $$;
    create trigger look before update on sync.alert_watch for each row execute function public.look()`);
  const looks = async () => Number(valuesOf(await world.warehouse('select last_value from public.looks'))[0]);
  const untilLooked = async () => {
    const before = await looks();
    await until(async () => (await looks()) > before + 2);
  };
  const restarted = startAlertWatcher(app, 20);
  onTestFinished(() => restarted?.close());
  await untilLooked();
  await restarted?.close();
  expect(receiver.received).toEqual([]);
  const database = new URL(world.warehouseUrl).pathname.slice(1);
  await world.atService(`alter database ${database} with allow_connections false`);
  await world.atService('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database]);
  const texts = () => textsOf(receiver);
  let checks = 0;
  const counted = (error: unknown) => {
    checks += 1;
    app.warehouseOutage.failed(error);
  };
  const warehouseOutage = { ...app.warehouseOutage, failed: counted };
  const alerts = startAlertWatcher({ ...app, warehouseOutage }, 20);
  onTestFinished(() => alerts?.close());
  await until(async () => texts().length >= 1);
  receiver.answer = 200;
  const refused = texts().length;
  await until(async () => texts().length > refused);
  // Later checks fail too, and post nothing.
  const before = checks;
  await until(async () => checks > before + 3);
  expect(texts()).toHaveLength(refused + 1);
  // A message that is not accepted is no failure of the warehouse.
  receiver.answer = 503;
  await world.atService(`alter database ${database} with allow_connections true`);
  await until(async () => texts().length > refused + 1);
  const failures = checks;
  await until(async () => texts().length > refused + 2);
  receiver.answer = 200;
  await untilLooked();
  const heard = texts().length;
  await untilLooked();
  await alerts?.close();
  expect([checks, texts().length]).toEqual([failures, heard]);
  const said = texts().slice(refused);
  expect([...new Set(said.map((text) => text.replace(/(for|after) \d.*?( now)?:/, '$1 a while:')))]).toEqual([
    expect.stringMatching(/^review-sync: the warehouse cannot be used, for a while: .+\n→ review-sync doctor/),
    'review-sync: recovered after a while: the warehouse can be used again',
  ]);
});

test('one of several processes posts, and another one once it is gone', async ({ world }) => {
  const { db } = (await world.openApp()).warehouse;
  const isTaken = (watcher: string) => takeWatch(db, watcher);
  expect([await isTaken('a'), await isTaken('b'), await isTaken('a')]).toEqual([true, false, true]);
  await world.warehouse(`update sync.alert_watch set watched_at = now() - interval '91 seconds'`);
  expect([await isTaken('b'), await isTaken('a')]).toEqual([true, false]);
  await leaveWatch(db, 'a');
  expect(await isTaken('a')).toBe(false);
  await leaveWatch(db, 'b');
  expect(await isTaken('a')).toBe(true);
});

test('while the queue is down, all alerts are posted, and status shows all else', async () => {
  const receiver = await startReceiver();
  await using world = await openWorld({ environment: { ALERT_WEBHOOK_URL: receiver.url } });
  const app = await world.openApp();
  world.environment.QUEUE_URL = 'redis://127.0.0.1:1';
  const unread = /the queue cannot be read: The queue \(QUEUE_URL\) cannot be reached.*Newest change read/s;
  await world.ends(1, 'status', unread, 'Next runs: not known, the queue cannot be read');
  await failed(world, 'sync-reviews');
  const isDown = { ...app, queues: new Error('down') as never };
  // A single failure may be a restart: this watcher ends after its first look.
  await startAlertWatcher(isDown, 20)?.close();
  expect(receiver.received).toEqual([]);
  const alerts = startAlertWatcher(isDown, 20);
  onTestFinished(() => alerts?.close());
  await until(async () => receiver.received.length >= 2);
  await alerts?.close();
  expect(textsOf(receiver).sort()).toEqual([
    expect.stringMatching(/^review-sync: the last sync-reviews failed: the service is down\n/),
    expect.stringMatching(/^review-sync: the queue cannot be read: down\n→ start its server/),
  ]);
  // If its messages are not accepted, another process may take over.
  receiver.answer = 503;
  await world.warehouse('delete from sync.alerts');
  const deaf = startAlertWatcher(isDown, 20);
  onTestFinished(() => deaf?.close());
  await until(async () => receiver.received.length > 2);
  await until(() => takeWatch(app.warehouse.db, 'another'));
  // Then nobody else posts.
  await deaf?.close();
  receiver.received.length = 0;
  await startAlertWatcher(app, 20)?.close();
  expect(receiver.received).toEqual([]);
});

test('a worker alerts', async () => {
  const receiver = await startReceiver();
  await using world = await openWorld();
  await failed(world, 'sync-reviews');
  const worker = startHere(['worker'], { ...world.environment, ...noSchedules, ALERT_WEBHOOK_URL: receiver.url });
  await until(async () => receiver.received.length > 0);
  expect(worker.saidSoFar()).not.toContain(receiver.url);
});

test('a process in whose place another one watches posts no further message', async ({ world }) => {
  await failed(world, 'sync-orders', 'sync-reviews');
  const texts: string[] = [];
  // The first message takes so long that another process takes the place.
  const server = await serve(async (request, response) => {
    texts.push(...(await request.setEncoding('utf8').toArray()));
    if (texts.length === 1)
      await world.warehouse(`update sync.alert_watch set watcher = 'another', watched_at = clock_timestamp()`);
    response.end();
  });
  onTestFinished(server.close);
  world.environment.ALERT_WEBHOOK_URL = server.url;
  const app = await world.openApp();
  const first = startAlertWatcher(app, 20);
  await until(async () => texts.length > 0);
  await first?.close();
  expect(texts).toHaveLength(1);
  await leaveWatch(app.warehouse.db, 'another');
  const second = startAlertWatcher(app, 20);
  await until(async () => texts.length > 1);
  await second?.close();
  expect(texts.map((text) => /last (\S+) failed/.exec(text)?.[1]).sort()).toEqual(['sync-orders', 'sync-reviews']);
});

test('a flow that never ran wakes nobody; a lag that is worth an alert is shown', async () => {
  const limits = { ALERT_LAG_MINUTES: '5', ALERT_DEAD_LETTERS: '3', ALERT_WAITING_DAYS: '2', ORDER_DELETES: 'send' };
  await using world = await openWorld({ environment: limits });
  const app = await world.openApp();
  const own = { alertLagMinutes: 5, alertDeadLetters: 3, alertWaitingDays: 2, orderDeletes: 'send' };
  expect(await statusReport(app)).toMatchObject(own);
  const issues = async () => issuesOf(await statusReport(app));
  expect((await issues()).map(({ key, isUrgent }) => [key, isUrgent])).toEqual([
    ['never orders', false],
    ['never reviews', false],
  ]);
  await world.warehouse(`update sync.settings
    set reviews_cursor = jsonb_build_object('at', now(), 'readTo', now() - interval '21 minutes')`);
  // The next was due at least six minutes ago: there is one every quarter of an hour.
  expect((await issues()).filter(({ isUrgent }) => isUrgent)).toMatchObject([{ key: 'lag reviews' }]);
});
