import { expect } from 'vitest';
import { backfillReviews } from '../../jobs/backfill-reviews.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import type { Config } from '../../src/app/config.ts';
import { ownRights, pushRights } from '../../src/app/run-rights.ts';
import { applySchedules, plannedRuns } from '../../src/queue/schedules.ts';
import { startDueRun, startRun } from '../../src/runs/start-run.ts';
import { triggers } from '../../src/warehouse/runs/runs.ts';
import { runCli, startHere, until } from '../harness/cli.ts';
import { createDatabase } from '../harness/database.ts';
import { createOrderShop, type OrderWorld, openOrderWorld, orderTest as test } from '../harness/order-world.ts';
import { redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';
import { noSchedules } from '../harness/world.ts';

/** A schedule that is on and not due while a test runs. */
const yearly = { ...noSchedules, SCHEDULE_ORDERS: '0 0 1 1 *', LOG_LEVEL: 'info' };

const addresses = (world: OrderWorld) =>
  world.atService('select code from reference_service.orders where user_email is not null order by code');
const openRuns = (world: OrderWorld) =>
  world.warehouse<{ id: string }>('select id from sync.runs where finished_at is null');

/** Orders of an hour ago with an address each; every tenth is deleted in the shop. */
const place = (world: OrderWorld, orders: number) =>
  world.shop(
    `insert into o (code, user_email, deleted_at)
    select 'O' || n, 'c' || n || '@example.com', case when n % 10 = 0 then now() end from generate_series(1, $1) n`,
    [orders],
  );

test('what a stopped worker left is named, and left alone until a person ends it', async ({ world }) => {
  await place(world, 30);
  const isPosted = Promise.withResolvers<void>();
  world.serviceRule(({ path }) => {
    if (path === '/v1/orders') isPosted.resolve();
    return path === '/v1/orders' ? { status: 503 } : 'pass';
  });
  await startDueRun(await world.openApp(), syncOrders, 'due');
  const worker = startHere(['worker'], { ...world.environment, ...yearly });
  await isPosted.promise;
  worker.kill('SIGTERM');
  await worker.ended;
  world.serviceRule(() => 'pass');
  await world.says(
    'status',
    /sync-orders \(begun .*\) has not ended and no process carries it out, 1 step waits\./,
    'It may send contact of orders younger than 30 days and deletes no order',
    'if a worker runs, its log and review-sync doctor say why it does not; review-sync runs end due ends it',
  );
  await world.says('runs', /due .* nobody/);
  await world.warehouse(`update sync.runs set attended_at = now() - interval '1 minute', allow_removals = true`);
  await world.says('runs', 'may remove lines and orders beyond the allowance of a day and deletes no order');
  // The backfill pushes all of it, without contact.
  for (const command of ['sync reviews', 'backfill orders'])
    await world.ends(0, command, 'Another run waits, and this command leaves it alone: due. It may send contact');
  expect([await world.codesAtService(), await addresses(world)]).toMatchObject([{ length: 27 }, []]);
  expect(await openRuns(world)).toEqual([{ id: 'due' }]);
  for (const status of [0, 2]) await world.ends(status, 'runs end due');
  const ended = { outcome: 'abandoned', error: 'a person ended it: runs end' };
  expect(await world.warehouse(`select outcome, error from sync.runs where id = 'due'`)).toEqual([ended]);
  await world.says('runs', 'Every run has ended.');
});

test('a worker whose schedule is off ends the open run of that schedule', async ({ openWorld }) => {
  const world = await openWorld();
  await place(world, 3);
  const app = await world.openApp();
  await startDueRun(app, syncOrders, 'due');
  // A backfill has no schedule: it is a person's.
  await startRun(app, { job: backfillReviews, key: 'of a person' });
  // As a worker with other settings has left it.
  await applySchedules(app.queues, [{ job: 'sync-orders', pattern: '0 0 1 1 *', timeZone: 'UTC' }]);
  const worker = startHere(['worker'], { ...world.environment, ...noSchedules, LOG_LEVEL: 'info' });
  await worker.says('worker ready');
  const ended = { job: 'sync-orders', error: 'its schedule is off' };
  expect(await world.warehouse(`select job, error from sync.runs where outcome = 'abandoned'`)).toEqual([ended]);
  expect(await plannedRuns(app.queues)).toEqual([]);
  // The queue may have a run that fell due before, or one of a worker whose schedule is on.
  await app.queues.scheduled.add('sync-orders', {}, { jobId: 'late' });
  await until(async () => (await app.queues.scheduled.getJobCounts('completed')).completed === 1);
  await worker.says('due, and not started: its schedule is off in this process');
  expect(await world.codesAtService()).toEqual([]);
});

test('a worker of another zone or shop leaves a run alone and says so', async ({ openWorld }) => {
  const world = await openWorld();
  await place(world, 3);
  await startDueRun(await world.openApp(), syncOrders, 'due');
  const emptyShop = await createDatabase('empty');
  await createOrderShop(emptyShop);
  const zone = { REVIEW_API_TIME_ZONE: 'UTC' };
  const work = (other = {}) => startHere(['worker'], { ...world.environment, ...yearly, ...other });
  for (const worker of [work(zone), work({ SHOP_DATABASE_URL: emptyShop })]) {
    await worker.says('a run is left to other processes');
    expect(worker.saidSoFar()).toMatch(/REVIEW_API_TIME_ZONE is UTC here, and Asia\/Seoul|SHOP_DATABASE_URL is /);
  }
  await world.warehouse(`update sync.runs set started_at = now() - interval '1 minute'`);
  for (const command of ['status', 'doctor']) {
    const { stdout } = await runCli([command], { ...world.environment, ...zone });
    expect(stdout).toMatch(/carrie[sd] .*REVIEW_API_TIME_ZONE is UTC here, and Asia\/Seoul in its plan/);
  }
  expect(await world.codesAtService()).toEqual([]);
  work();
  await until(async () => (await openRuns(world)).length === 0);
  const ended = `select outcome, counts ->> 'orders' as orders from sync.runs`;
  expect(await world.warehouse(ended)).toEqual([{ outcome: 'done', orders: '3' }]);
});

redisTest('who may write to the queue can start and lose runs, and decides nothing else', async () => {
  const redis = await startRedis();
  const brake = { ORDER_CONTACT_MAX_AGE_DAYS: '0', ORDER_DELETES: 'off', QUEUE_URL: redis.url };
  await using world = await openOrderWorld({ environment: brake });
  await place(world, 30);
  await world.done('backfill-orders');
  const { queues } = await world.openApp();
  const worker = startHere(['worker'], { ...world.environment, ...yearly });
  await worker.says('worker ready');
  const codes = ['O1', 'O10', 'O11'];
  const claims = { withEmail: true, contact: 'always', settings: { contactMaxAgeDays: 9999, deletes: 'send' } };
  const rights = { trigger: 'backfill with e-mail', deletes: 'send', contactMaxAgeDays: 9999, allowRemovals: true };
  // A run of its own, a step for it, a run that is due, and a step of a real run.
  await queues.add('backfill-orders', 'forged');
  const step = { payload: { codes, ...claims }, rights, ...claims };
  await (await queues.ofRun('forged')).add('push-orders', step);
  await queues.scheduled.add('sync-orders', { payload: claims, rights }, { jobId: 'forged-due' });
  await until(async () => (await world.warehouse(`select from sync.runs where id = 'forged-due'`)).length === 1);
  await (await queues.ofRun('forged-due')).add('push-orders', step);
  await until(async () => (await openRuns(world)).length === 0);
  expect(await addresses(world)).toEqual([]);
  expect(world.requests().filter(({ method }) => method === 'DELETE')).toEqual([]);
  const row = `select trigger, allow_removals from sync.runs where id = 'forged-due'`;
  expect(await world.warehouse(row)).toEqual([{ trigger: 'sync', allow_removals: false }]);
  worker.kill('SIGTERM');
  await worker.ended;
});

test('a backfill with e-mail carries contact of its own days only, and none with 0', async ({ openWorld }) => {
  const world = await openWorld({ environment: { LOG_LEVEL: 'info' } });
  await world.shop(`
    insert into o (code, user_email, created_at) values ('in', 'a@example.com', '2024-05-02T12:00Z'),
      ('out', 'b@example.com', '2024-06-02T12:00Z')`);
  const days = ['backfill', 'orders', '--from', '2024-05-01', '--to', '2024-05-31', '--with-email'];
  const none = { ...world.environment, ORDER_CONTACT_MAX_AGE_DAYS: '0' };
  expect(await runCli(days, none)).toMatchObject({ status: 2, stderr: expect.stringContaining('is 0') });
  const { queues } = await world.openApp();
  const { run } = await world.json(...days, '--detach');
  await (await queues.ofRun(run)).add('push-orders', { payload: { codes: ['out'] } });
  startHere(['worker'], { ...world.environment, ...noSchedules });
  await until(async () => (await openRuns(world)).length === 0);
  expect(await addresses(world)).toEqual([{ code: 'in' }]);
});

test('a backfill with e-mail is not done if a worker with 0 has carried it out', async ({ world }) => {
  await place(world, 3);
  await world.ends(0, 'backfill orders --with-email --detach');
  startHere(['worker'], { ...world.environment, ...noSchedules, ORDER_CONTACT_MAX_AGE_DAYS: '0' });
  await until(async () => (await openRuns(world)).length === 0);
  expect(await addresses(world)).toEqual([]);
  const error = expect.stringContaining('3 orders went without contact, because ORDER_CONTACT_MAX_AGE_DAYS is 0');
  expect(await world.warehouse('select outcome, error from sync.runs')).toEqual([{ outcome: 'incomplete', error }]);
});

test('a process does for a run only what the run and its own settings both allow', () => {
  const settings = [0, 7, 30].flatMap((days) => (['off', 'send'] as const).map((deletes) => ({ days, deletes })));
  const configOf = ({ days, deletes }: (typeof settings)[number]) =>
    ({ orderContactMaxAgeDays: days, orderDeletes: deletes, api: { timeZone: 'UTC' } }) as Config;
  for (const trigger of triggers)
    for (const starter of settings)
      for (const own of settings)
        expect(pushRights(configOf(own), ownRights(configOf(starter), trigger))).toMatchObject({
          trigger,
          contactMaxAgeDays: Math.min(own.days, starter.days),
          deletes: own.deletes === 'send' ? starter.deletes : 'off',
        });
});
