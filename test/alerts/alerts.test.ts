import { expect, onTestFinished, test } from 'vitest';
import type { Issue } from '../../src/alerts/post-issues.ts';
import { postIssues } from '../../src/alerts/post-issues.ts';
import { issuesOf } from '../../src/app/alert-rules.ts';
import { statusReport } from '../../src/app/status-report.ts';
import { startAlertWatcher } from '../../src/background/watch-alerts.ts';
import { openLog } from '../../src/base/log.ts';
import { leaveWatch, takeWatch } from '../../src/warehouse/alerts.ts';
import { runCli, startHere, until } from '../harness/cli.ts';
import { redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';
import { noSchedules, openServe, openWorld, type World } from '../harness/world.ts';
import { startReceiver } from '../sandbox/reference-service/webhook-receiver.ts';

const start = Date.UTC(2026, 0, 1);
const trouble = (key: string, isUrgent = true): Issue => {
  return { key, what: `${key} is wrong`, hint: 'correct it', isUrgent };
};

/** Checks as any process would; `texts` is what arrived. */
async function openAlerts(world: World) {
  const app = await world.openApp();
  const texts: string[] = [];
  const faults = { isDeaf: false };
  let now = start;
  const deps = {
    db: app.warehouse.db,
    log: openLog('silent'),
    now: () => new Date(now),
    async post(text: string) {
      if (faults.isDeaf) throw new Error('nobody listens');
      texts.push(text);
    },
  };
  const check = (issues: Issue[], minutesLater = 1) => {
    now += minutesLater * 60_000;
    return postIssues(deps, issues);
  };
  return { app, texts, faults, check };
}

test('what is wrong is reported once, until somebody heard it, and so is its recovery', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { texts, faults, check } = await openAlerts(world);
  const [reviews, orders] = [trouble('reviews'), trouble('orders')];
  await Promise.all([check([reviews]), check([reviews]), check([reviews])]);
  await check([reviews]);
  await check([reviews, orders, trouble('a hole', false)]);
  expect(texts.splice(0)).toEqual(['reviews', 'orders'].map((one) => `${one} is wrong\n→ correct it`));
  await check([orders], 60);
  await check([orders]);
  expect(texts.splice(0)).toEqual([expect.stringMatching(/^recovered after 1 h.*: reviews is wrong$/)]);
  await check([]);
  await check([reviews]);
  expect(texts.splice(0)).toEqual([expect.stringContaining('recovered'), expect.stringMatching(/reviews is wrong/)]);
  await check([]);
  texts.splice(0);

  // What was over before anybody heard needs no message.
  faults.isDeaf = true;
  await check([orders, reviews]);
  await check([orders]);
  faults.isDeaf = false;
  await check([orders]);
  faults.isDeaf = true;
  await check([]);
  faults.isDeaf = false;
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
  await using world = await openWorld({ shop: 'empty', environment: { ALERT_WEBHOOK_URL: receiver.url } });
  const app = await world.openApp();
  const database = new URL(world.warehouseUrl).pathname.slice(1);
  await world.atService(`alter database ${database} with allow_connections false`);
  await world.atService('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database]);
  const texts = () => receiver.received.map(({ body }) => (body as { text: string }).text);
  // A single failure, which may be a restart: this watcher ends after its first look.
  await startAlertWatcher(app, 20)?.close();
  expect(texts()).toEqual([]);
  let checks = 0;
  const failed = (error: unknown) => {
    checks += 1;
    app.warehouseOutage.failed(error);
  };
  const alerts = startAlertWatcher({ ...app, warehouseOutage: { ...app.warehouseOutage, failed } }, 20);
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
  await until(async () => texts().length > refused + 3);
  await alerts?.close();
  expect(checks).toBe(failures);
  expect([...new Set(texts().slice(refused))]).toEqual([
    expect.stringMatching(/^review-sync: the warehouse cannot be used: .+\n→ review-sync doctor/),
    'review-sync: recovered: the warehouse can be used again',
  ]);
  // One of several processes posts, and another one once it is gone.
  const isTaken = (watcher: string) => takeWatch(app.warehouse.db, watcher);
  await world.warehouse(`update sync.alert_watch set watched_at = now() - interval '91 seconds'`);
  expect([await isTaken('a'), await isTaken('b'), await isTaken('a')]).toEqual([true, false, true]);
  await world.warehouse(`update sync.alert_watch set watched_at = now() - interval '91 seconds'`);
  expect([await isTaken('b'), await isTaken('a')]).toEqual([true, false]);
  await leaveWatch(app.warehouse.db, 'a');
  expect(await isTaken('a')).toBe(false);
  await leaveWatch(app.warehouse.db, 'b');
  expect(await isTaken('a')).toBe(true);
});

test('a check that fails alone is not reported; alerts that cannot be recorded are', async () => {
  const receiver = await startReceiver();
  await using world = await openWorld({ shop: 'empty', environment: { ALERT_WEBHOOK_URL: receiver.url } });
  const app = await world.openApp();
  // Each check reads the clock less than ten times.
  let readings = 0;
  const now = () => {
    readings += 1;
    if (readings % 10 === 0) throw new Error('terminating connection');
    return new Date();
  };
  const failing = startAlertWatcher({ ...app, now }, 1);
  onTestFinished(() => failing?.close());
  await until(async () => readings > 50);
  await failing?.close();
  expect(receiver.received).toEqual([]);

  await world.warehouse('alter table sync.alerts rename to alerts_elsewhere');
  const posts: number[] = [];
  const warehouseOutage = { worked() {}, failed: () => void posts.push(receiver.received.length) };
  const alerts = startAlertWatcher({ ...app, warehouseOutage }, 1);
  onTestFinished(() => alerts?.close());
  await until(async () => posts.length >= 3);
  // The second failure in a row is posted.
  expect(posts.slice(0, 3)).toEqual([0, 0, 1]);
  const [posted] = receiver.received;
  expect(JSON.stringify(posted?.body)).toMatch(/the warehouse cannot be used: .*sync\.alerts.* does not exist/);
});

redisTest('alert, page and status report a Redis that is down, and show everything else', async () => {
  const [receiver, redis] = [await startReceiver(), await startRedis()];
  const token = 'the-token-of-the-page';
  const environment = { QUEUE_URL: redis.url, STATUS_TOKEN: token, ALERT_WEBHOOK_URL: receiver.url };
  // The watcher below is to judge.
  await using serving = await openServe({ ...environment, ALERT_WEBHOOK_URL: '' }, { environment });
  const app = await serving.world.openApp();
  const worker = startHere(['worker'], serving.environment);
  await worker.says('worker ready');
  await redis.close();
  worker.kill('SIGTERM');
  const alerts = startAlertWatcher(app, 20);
  onTestFinished(() => alerts?.close());
  const [page, status] = await Promise.all([
    fetch(serving.url, { headers: { authorization: `Bearer ${token}` } }),
    runCli(['status'], serving.environment),
  ]);
  expect([page.status, await page.text()]).toEqual([
    200,
    expect.stringContaining('The queue (QUEUE_URL) did not respond'),
  ]);
  expect([status.status, status.stdout]).toEqual([
    1,
    expect.stringMatching(/the queue cannot be read: The queue \(QUEUE_URL\) cannot be reached.*Newest change read/s),
  ]);
  const [posted] = await until(async () => receiver.received.length > 0 && receiver.received);
  expect(JSON.stringify(posted?.body)).toContain('The queue (QUEUE_URL) did not respond');
  expect((await worker.ended).status).toBe(0);
});

test('while the queue is down, that and all other alerts are posted, and their ends', async () => {
  const receiver = await startReceiver();
  await using world = await openWorld({ shop: 'empty', environment: { ALERT_WEBHOOK_URL: receiver.url } });
  const app = await world.openApp();
  await world.warehouse(`insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, error) values
    ('r1', 'sync-reviews', 'schedule', now(), now(), 'failed', 'the service is down'),
    ('old', 'backfill-orders', 'command', now() - interval '8 days', now() - interval '8 days', 'failed', 'old')`);
  const texts = () => receiver.received.map(({ body }) => (body as { text: string }).text);
  const watch = async (queues: unknown, length: number) => {
    const alerts = startAlertWatcher({ ...app, queues: queues as typeof app.queues }, 20);
    onTestFinished(() => alerts?.close());
    await until(async () => texts().length >= length);
    await alerts?.close();
  };
  await startAlertWatcher({ ...app, queues: new Error('down') as never }, 20)?.close();
  expect(texts()).toEqual([]);
  await watch(new Error('down'), 2);
  await world.warehouse(`insert into sync.runs (id, job, started_by, started_at, finished_at, outcome)
    values ('r2', 'sync-reviews', 'schedule', now() + interval '1 second', now(), 'done')`);
  await watch(app.queues, 4);
  expect(texts().toSorted()).toEqual([
    expect.stringMatching(/^review-sync: recovered after .*: the last sync-reviews failed/),
    expect.stringMatching(/^review-sync: recovered after .*: the queue cannot be read: down$/),
    expect.stringMatching(/^review-sync: the last sync-reviews failed: the service is down\n/),
    expect.stringMatching(/^review-sync: the queue cannot be read: down\n→ start its server/),
  ]);
});

test('of processes that see different things, one says what is wrong, until it ends or is not heard', async () => {
  const receiver = await startReceiver();
  await using world = await openWorld({ shop: 'empty', environment: { ALERT_WEBHOOK_URL: receiver.url } });
  const app = await world.openApp();
  const texts = () => receiver.received.map(({ body }) => (body as { text: string }).text);
  let looks = 0;
  const now = () => {
    looks += 1;
    return new Date();
  };
  const first = startAlertWatcher({ ...app, now, queues: new Error('down') as never }, 20);
  await until(async () => texts().length > 0);
  const before = looks;
  const second = startAlertWatcher(app, 20);
  onTestFinished(() => second?.close());
  await until(async () => looks > before + 40);
  expect(texts()).toHaveLength(1);
  // Another one may be heard.
  receiver.answer = 503;
  await world.warehouse(`insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, error)
    values ('r1', 'sync-reviews', 'schedule', now(), now(), 'failed', 'the service is down')`);
  await until(async () => texts().some((text) => text.includes('recovered')));
  await first?.close();
  receiver.answer = 200;
  const refused = texts().length;
  await until(async () => texts().length >= refused + 2);
  expect(texts().slice(refused).toSorted()).toEqual([
    expect.stringMatching(/recovered after .*: the queue cannot be read: down$/),
    expect.stringMatching(/the last sync-reviews failed: the service is down/),
  ]);
});

test('a worker alerts', async () => {
  const receiver = await startReceiver();
  await using world = await openWorld({ shop: 'empty' });
  await world.warehouse(`insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, error)
    values ('r1', 'sync-reviews', 'schedule', now(), now(), 'failed', 'the service is down')`);
  const worker = startHere(['worker'], { ...world.environment, ...noSchedules, ALERT_WEBHOOK_URL: receiver.url });
  await until(async () => receiver.received.length > 0);
  expect(worker.saidSoFar()).not.toContain(receiver.url);
});

test('a flow that never ran wakes nobody; a lag that is worth an alert is shown', async () => {
  const others = { ALERT_DEAD_LETTERS: '3', ALERT_WAITING_DAYS: '2', ORDER_DELETES: 'send' };
  await using world = await openWorld({ shop: 'empty', environment: { ALERT_LAG_MINUTES: '5', ...others } });
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
