import { expect } from 'vitest';
import { rescanOrders } from '../../jobs/rescan-orders.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { openQueues } from '../../src/queue/index.ts';
import { type RunRequest, startDueRun, startRun } from '../../src/runs/start-run.ts';
import { installationOf } from '../../src/warehouse/connected-service.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { findRun } from '../../src/warehouse/runs/runs.ts';
import { runCli, startCli, startHere, until } from '../harness/cli.ts';
import { createDatabase } from '../harness/database.ts';
import { createOrderShop, type OrderWorld, openOrderWorld, order, orderTest as test } from '../harness/order-world.ts';
import type { Fate } from '../harness/proxy.ts';
import { redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';
import { noSchedules } from '../harness/world.ts';

/** A schedule that is on and not due while a test runs. */
const yearly = { ...noSchedules, SCHEDULE_ORDERS: '0 0 1 1 *', LOG_LEVEL: 'info' };
/** What a killed process had in hand is taken over at once. */
const quick = { TAKE_OVER_SECONDS: '2', ORDER_LEASE_SECONDS: '4' };

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

test('a command carries out its own run only, and names the run that waits', async ({ openWorld }) => {
  const world = await openWorld({ environment: quick });
  await place(world, 60);
  // A worker begins a scheduled run and is killed in the midst of it.
  await startDueRun(await world.openApp(), syncOrders, 'due');
  const worker = startCli(['worker'], { ...world.environment, ...yearly });
  const creations = () => world.requests().filter(({ method, path }) => method === 'POST' && path === '/v1/orders');
  world.serviceRule((): Fate => {
    if (creations().length <= 20) return 'pass';
    worker.kill('SIGKILL');
    return 'lose';
  });
  expect((await worker.ended).signal).toBe('SIGKILL');
  // The service goes on with the requests that the killed process has sent.
  await until(async () => {
    const [carriedOut] = await world.atService<{ n: number }>(
      'select count(*)::integer as n from reference_service.orders',
    );
    return carriedOut?.n === creations().length;
  });
  world.serviceRule(() => 'pass');
  await world.warehouse(`update sync.runs set attended_at = now() - interval '1 minute'`);
  const before = await addresses(world);
  expect(before.length).toBeGreaterThan(0);
  for (const command of ['sync reviews', 'backfill orders --to 2001-01-01']) {
    const end = await world.cli(...command.split(' '));
    expect(end.status, end.stderr).toBe(0);
    expect(end.stderr).toMatch(/Another run waits, and this command leaves it alone: due\. It may send contact/);
  }
  // All of it, without contact: the orders of the other run among them.
  expect(await world.cli('backfill', 'orders')).toMatchObject({ status: 0 });
  expect(await addresses(world)).toEqual(before);
  expect(await openRuns(world)).toEqual([{ id: 'due' }]);
});

test('status names what a stopped worker left and what it may do; a person ends it', async ({ openWorld }) => {
  const world = await openWorld();
  await place(world, 600);
  const [isPosted, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  world.serviceRule(async ({ path }): Promise<Fate> => {
    if (path !== '/v1/orders') return 'pass';
    isPosted.resolve();
    await end.promise;
    return { status: 503 };
  });
  await startDueRun(await world.openApp(), syncOrders, 'due');
  const worker = startHere(['worker'], { ...world.environment, ...yearly });
  await isPosted.promise;
  worker.kill('SIGTERM');
  end.resolve();
  await worker.ended;
  const { stdout } = await world.cli('status');
  expect(stdout).toMatch(/sync-orders \(begun .*\) has not ended and no process carries it out, 2 steps wait\./);
  expect(stdout).toContain('It may send contact of orders younger than 30 days and deletes no order');
  expect(stdout).toContain('review-sync runs end due ends it');
  expect((await world.cli('runs')).stdout).toMatch(/due .* nobody/);
  // A process may go on asking an empty queue for the steps of a run whose job is lost, also one that it had in hand.
  await (await (await world.openApp()).queues.ofRun('due')).obliterate({ force: true });
  await world.warehouse(`update sync.runs set attended_at = now() + interval '1 minute'`);
  expect((await world.cli('status')).stdout).toMatch(
    /sync-orders \(begun .*\) has not ended and no process carries it out/,
  );
  expect(await world.cli('runs', 'end', 'due')).toMatchObject({ status: 0 });
  expect(await world.cli('runs', 'end', 'due')).toMatchObject({ status: 2 });
  expect(await world.warehouse('select outcome, error from sync.runs')).toEqual([
    { outcome: 'abandoned', error: 'a person ended it: runs end' },
  ]);
  expect((await world.cli('runs')).stdout).toContain('Every run has ended.');
});

test('a worker whose schedule is off ends the open run of that schedule', async ({ openWorld }) => {
  const world = await openWorld();
  await place(world, 3);
  await startDueRun(await world.openApp(), syncOrders, 'due');
  const worker = startHere(['worker'], { ...world.environment, ...noSchedules, LOG_LEVEL: 'info' });
  await worker.says('worker ready');
  expect(await world.warehouse('select outcome, error from sync.runs')).toEqual([
    { outcome: 'abandoned', error: 'its schedule is off' },
  ]);
  // The queue may have a run that fell due before, or one of a worker whose schedule is on.
  await (await world.openApp()).queues.scheduled.add('sync-orders', {}, { jobId: 'late' });
  await until(async () => (await (await world.openApp()).queues.scheduled.getJobCounts('completed')).completed === 1);
  await worker.says('due, and not started: its schedule is off in this process');
  expect(await world.atService('select from reference_service.orders')).toEqual([]);
});

test('a worker of another zone or shop leaves a run alone and says so', async ({ openWorld }) => {
  const world = await openWorld();
  await place(world, 3);
  await startDueRun(await world.openApp(), syncOrders, 'due');
  const emptyShop = await createDatabase('empty');
  await createOrderShop(emptyShop);
  const others = [
    [{ REVIEW_API_TIME_ZONE: 'UTC' }, 'REVIEW_API_TIME_ZONE is UTC here, and Asia/Seoul in its plan'],
    [{ SHOP_DATABASE_URL: emptyShop }, 'SHOP_DATABASE_URL is '],
  ] as const;
  const workers = others.map(([other]) => startHere(['worker'], { ...world.environment, ...yearly, ...other }));
  for (const [at, worker] of workers.entries()) {
    await worker.says('a run is left to other processes');
    expect(worker.saidSoFar()).toContain(others[at]?.[1]);
  }
  await world.warehouse(`update sync.runs set started_at = now() - interval '1 minute'`);
  const { stdout } = await runCli(['status'], { ...world.environment, ...others[0][0] });
  expect(stdout).toMatch(/no process carries it out.*REVIEW_API_TIME_ZONE is UTC here, and Asia\/Seoul in its plan/);
  const doctor = await runCli(['doctor'], { ...world.environment, ...others[0][0] });
  expect(doctor.stdout).toMatch(/REVIEW_API_TIME_ZONE is UTC here, and Asia\/Seoul in its plan/);
  expect(await world.atService('select from reference_service.orders')).toEqual([]);
  const right = startHere(['worker'], { ...world.environment, ...yearly });
  await until(async () => (await openRuns(world)).length === 0);
  expect(await world.warehouse('select outcome, counts ->> $1 as orders from sync.runs', ['orders'])).toEqual([
    { outcome: 'done', orders: '3' },
  ]);
  for (const worker of [right, ...workers]) worker.kill('SIGTERM');
});

redisTest('who may write to the queue can start and lose runs, and decides nothing else', async () => {
  const redis = await startRedis();
  const brake = { ORDER_CONTACT_MAX_AGE_DAYS: '0', ORDER_DELETES: 'off', QUEUE_URL: redis.url };
  await using world = await openOrderWorld({ environment: brake });
  await place(world, 30);
  expect(await world.cli('backfill', 'orders')).toMatchObject({ status: 0 });
  const warehouse = await openWarehouse({ url: world.warehouseUrl, connections: 1 });
  const name = await installationOf(warehouse.db, { clientId: world.environment.REVIEW_API_CLIENT_ID ?? '' });
  await using queues = await openQueues(redis.url, { installation: name });
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
  expect(await world.warehouse(`select trigger, allow_removals from sync.runs where id = 'forged-due'`)).toEqual([
    { trigger: 'sync', allow_removals: false },
  ]);
  worker.kill('SIGTERM');
  await worker.ended;
  await warehouse.close();
  await redis.close();
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
  const enqueued = JSON.parse((await world.cli(...days, '--detach', '--json')).stdout) as { run: string };
  // No process is there that could.
  expect((await world.cli('runs')).stdout).toMatch(/\d +nobody /);
  await (await queues.ofRun(enqueued.run)).add('push-orders', { payload: { codes: ['out'] } });
  const worker = startHere(['worker'], { ...world.environment, ...noSchedules });
  await until(async () => (await openRuns(world)).length === 0);
  worker.kill('SIGTERM');
  await worker.ended;
  expect(await addresses(world)).toEqual([{ code: 'in' }]);
});

const may = { ORDER_CONTACT_MAX_AGE_DAYS: '30', ORDER_DELETES: 'send' };
const mayNot = { ORDER_CONTACT_MAX_AGE_DAYS: '0', ORDER_DELETES: 'off' };

test.for<[who: string, how: string, ofCommand: typeof may, ofWorker: typeof may]>([
  ['command and worker', 'does both', may, may],
  ['only its command', 'does neither', may, mayNot],
  ['only its worker', 'does neither', mayNot, may],
])('if the settings of %s allow mails and deletions, a run %s', async ([, how, ofCommand, ofWorker], { openWorld }) => {
  const does = how === 'does both';
  const world = await openWorld();
  const worker = startHere(['worker'], { ...world.environment, ...noSchedules, ...ofWorker, LOG_LEVEL: 'info' });
  await worker.says('worker ready');
  Object.assign(world.environment, ofCommand);
  const app = await world.openApp();
  const run = async (job: RunRequest['job']) => {
    const { id } = await startRun(app, { job });
    expect(await until(async () => (await findRun(app.warehouse.db, id))?.outcome ?? false)).toBe('done');
    return world.atService<{ code: string; user_email: string | null }>(
      'select code, user_email from reference_service.orders order by 1',
    );
  };
  const codes = async (job: RunRequest['job']) => (await run(job)).map(({ code }) => code);
  await world.place(...['A', 'B', 'C'].map((code) => order(code, { user_email: `${code}@example.com` })));
  expect(await run(syncOrders)).toEqual(
    ['A', 'B', 'C'].map((code) => ({ code, user_email: does ? `${code}@example.com` : null })),
  );
  await world.shop(`update o set deleted_at = now(), updated_at = now() where code = 'A'`);
  expect(await codes(syncOrders)).toEqual(does ? ['B', 'C'] : ['A', 'B', 'C']);
  // Gone from the shop for longer than a day.
  await world.shop(`delete from o where code = 'B'`);
  await world.warehouse(`update sync.order_links set absent_since = now() - interval '2 days' where order_code = 'B'`);
  expect(await codes(rescanOrders)).toEqual(does ? ['C'] : ['A', 'B', 'C']);
});
