import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { jobs } from '../../jobs/index.ts';
import { syncCatalog } from '../../jobs/sync-catalog.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { checkSchedules } from '../../src/app/doctor/check-queue.ts';
import { ownRights, systemsOf } from '../../src/app/run-rights.ts';
import { openLog } from '../../src/base/log.ts';
import { applySchedules, plannedRuns, type Schedule, schedulesOf, watchSchedules } from '../../src/queue/schedules.ts';
import { startDueRun, startRun } from '../../src/runs/start-run.ts';
import { beginRun, findRun } from '../../src/warehouse/runs/runs.ts';
import { redisTest } from '../harness/each-queue.ts';
import { startRedis } from '../harness/redis.ts';
import { openWorld, until } from '../harness/world.ts';

test('the schedules that are being restored when the worker stops are set before its queue is closed', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { queues } = await world.openApp();
  const { scheduled } = queues;
  const [isReading, mayRead] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const read = scheduled.getJobSchedulers.bind(scheduled);
  scheduled.getJobSchedulers = async () => {
    isReading.resolve();
    await mayRead.promise;
    return read();
  };
  const schedules = [{ job: 'sync-orders', pattern: '*/5 * * * *', timeZone: 'Asia/Seoul' }];
  const kept = watchSchedules({ queues, log: openLog('silent') }, schedules, 1);
  await isReading.promise;
  let isClosed = false;
  const closed = kept.close().then(() => {
    isClosed = true;
  });
  await nextTurn();
  expect(isClosed).toBe(false);
  mayRead.resolve();
  await closed;
  expect((await read()).map(({ key }) => key)).toEqual(['sync-orders']);
});

test('a worker whose queue hangs when it sets the schedules says so and ends', async () => {
  await using world = await openWorld({ shop: 'empty' });
  await world.openApp();
  const letGo = await holdQueue(world.warehouseUrl);
  onTestFinished(letGo);
  const worker = await world.cli('worker');
  expect(worker).toMatchObject({ status: 1, stderr: expect.stringContaining('did not respond within 5 seconds') });
});

test('a worker sets its own schedules and removes all others: a schedule that was turned off runs no more', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { queues } = await world.openApp();
  const at = (job: string, pattern: string) => ({ job, pattern, timeZone: 'Asia/Seoul' });
  await applySchedules(queues, [at('sync-orders', '*/5 * * * *'), at('sync-reviews', '0 * * * *')]);
  await applySchedules(queues, [at('sync-orders', '*/7 * * * *')]);
  expect(await plannedRuns(queues)).toMatchObject([at('sync-orders', '*/7 * * * *')]);
  // Each of their runs is tried again where a connection breaks.
  expect(await queues.scheduled.getDelayed()).toMatchObject([{ name: 'sync-orders', opts: { attempts: 5 } }]);
});

test('a run that fell due while no worker was there is not put off by the next worker', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { queues } = await world.openApp();
  const everySecond = [{ job: 'reconcile-reviews', pattern: '* * * * * *', timeZone: 'Asia/Seoul' }];
  await applySchedules(queues, everySecond);
  const isDue = async () => (await plannedRuns(queues))[0]?.next ?? new Date(Date.now() + 1);
  await until(async () => (await isDue()).getTime() <= Date.now());
  const due = await isDue();
  await applySchedules(queues, everySecond);
  expect(await isDue()).toEqual(due);
  expect(await queues.scheduled.getDelayed()).toHaveLength(1);
});

test('a run that was planned under a clock that was a day ahead is planned again by a running worker', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { queues } = await world.openApp();
  const schedules = [{ job: 'sync-orders', pattern: '*/5 * * * *', timeZone: 'Asia/Seoul' }];
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());
  await applySchedules(queues, schedules);
  vi.useRealTimers();
  const watching = watchSchedules({ queues, log: openLog('silent') }, schedules, 1);
  onTestFinished(() => watching.close());
  const next = async () => (await plannedRuns(queues))[0]?.next?.getTime() ?? 0;
  await until(async () => (await next()) <= Date.now() + 300_000);
  expect(await queues.scheduled.getDelayed()).toHaveLength(1);
});

test('doctor calls a run overdue once it is a minute late, and names schedules that the queue has otherwise', async () => {
  const now = new Date('2026-03-01T12:00:00Z');
  const schedule = { job: 'sync-orders', pattern: '*/5 * * * *', timeZone: 'Asia/Seoul' };
  const look = (next: number | undefined, tz = schedule.timeZone, wanted: readonly Schedule[] = [schedule]) => {
    const one = { key: schedule.job, name: schedule.job, pattern: schedule.pattern, tz, next };
    const queues = { prefix: '', scheduled: { getJobSchedulers: async () => (tz === '' ? [] : [one]) } };
    return checkSchedules(queues as never, wanted, now);
  };
  const found = async (lateMs: number, tz?: string) =>
    (await look(now.getTime() - lateMs, tz)).map(({ level }) => level);
  expect(await found(60_000)).toEqual(['ok']);
  expect(await found(60_001)).toEqual(['fault']);
  expect(await found(0, 'UTC')).toEqual(['warning', 'warning', 'ok']);
  expect((await look(now.getTime()))[0]?.what).toBe('sync-orders runs next at 2026-03-01T12:00:00.000Z');
  expect((await look(0))[0]?.what).toBe('sync-orders was due at 1970-01-01T00:00:00.000Z, and no worker took it');
  const inHours = async (hours: number) => (await look(now.getTime() + hours * 3_600_000))[0];
  expect(await inHours(1)).toMatchObject({ level: 'ok' });
  expect(await inHours(2)).toMatchObject({ level: 'fault', what: expect.stringContaining('a clock was ahead') });
  expect((await look(undefined))[0]).toMatchObject({ level: 'fault', what: 'sync-orders has no next run' });
  expect(await look(0, '', [])).toMatchObject([{ level: 'warning', what: 'no schedule is configured' }]);
});

redisTest('schedules that a Redis lost are set again', async () => {
  const redis = await startRedis();
  onTestFinished(redis.close);
  await using world = await openWorld({ shop: 'empty', environment: { QUEUE_URL: redis.url } });
  const { queues } = await world.openApp();
  const schedule = (job: string): Schedule => ({ job, pattern: '*/5 * * * *', timeZone: 'Asia/Seoul' });
  await applySchedules(queues, [schedule('sync-orders')]);
  await queues.scheduled.removeJobScheduler('sync-orders');
  const { scheduled } = queues;
  const read = scheduled.getJobSchedulers.bind(scheduled);
  let looks = 0;
  scheduled.getJobSchedulers = () => {
    looks += 1;
    return read();
  };
  // Of a worker with another configuration nothing is undone.
  for (const jobs of [['sync-orders'], ['sync-reviews'], ['sync-orders', 'sync-reviews']]) {
    looks = 0;
    const watching = watchSchedules({ queues, log: openLog('silent') }, jobs.map(schedule), 1);
    await until(async () => looks > 2);
    await watching.close();
    expect((await read()).map(({ key }) => key)).toEqual(['sync-orders']);
  }
});

test('a command leaves the runs of the schedule to workers', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { scheduled } = (await world.openApp()).queues;
  await scheduled.add('sync-orders', {});
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 0 });
  expect(await scheduled.getJobCounts('waiting')).toEqual({ waiting: 1 });
});

const minute = `now() - interval '1 minute'`;

test('a due run starts beside an open one only where that one is another job or lost', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const app = await world.openApp();
  const elsewhere = `time_zone = 'UTC', attended_at = now() - interval '2 minutes'`;
  for (const [begunBy, openJob, begunAt, change, hasJob, isStarted] of [
    ['schedule', 'sync-orders', minute, '', true, false],
    ['command', 'sync-orders', minute, '', true, false],
    ['command', 'backfill-orders', minute, '', true, true],
    ['schedule', 'sync-reviews', minute, '', true, true],
    // Its job is due by the clock that was ahead.
    ['schedule', 'sync-orders', `now() + interval '50 minutes'`, '', true, false],
    ['schedule', 'sync-orders', `now() + interval '61 minutes'`, '', true, true],
    // The machine that carries it out has such a clock.
    ['schedule', 'sync-orders', `now() + interval '61 minutes'`, 'attended_at = now()', true, false],
    // The queue has lost its job.
    ['schedule', 'sync-orders', minute, '', false, true],
    // Nobody may continue it, or somebody else does.
    ['schedule', 'sync-orders', minute, elsewhere, true, true],
    ['command', 'sync-orders', minute, elsewhere, true, true],
    ['schedule', 'sync-orders', minute, `time_zone = 'UTC', attended_at = now()`, true, false],
    ['schedule', 'sync-orders', minute, `attended_at = now() - interval '2 minutes'`, true, false],
  ] as const) {
    await world.warehouse('delete from sync.runs');
    const open = { id: 'open', job: openJob, startedBy: begunBy, startedAt: new Date() } as const;
    const rights = ownRights(app.config, 'sync');
    await beginRun(app.warehouse.db, { ...open, rights, systems: systemsOf(app.config) });
    await world.warehouse(`update sync.runs set started_at = ${begunAt} ${change && `, ${change}`}`);
    if (hasJob) await app.queues.add(openJob, 'open');
    else await app.queues.drop('open');
    await startDueRun(app, syncOrders, 'due');
    const started = await world.warehouse(`select id from sync.runs where id = 'due'`);
    expect([begunBy, openJob, begunAt, change, hasJob, started.length > 0]).toEqual([
      begunBy,
      openJob,
      begunAt,
      change,
      hasJob,
      isStarted,
    ]);
    await app.queues.drop('due');
  }
});

test('a command starts beside the open run of the schedule, and ends only what is lost', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const app = await world.openApp();
  await startDueRun(app, syncOrders, 'due');
  await world.warehouse(`update sync.runs set time_zone = 'UTC', attended_at = now() - interval '2 minutes'`);
  const { id } = await startRun(app, { job: syncOrders });
  // The same moment once more, taken over after a crash: the run stays as it is.
  await world.warehouse(`update sync.runs set time_zone = 'Asia/Seoul'`);
  await startDueRun(app, syncOrders, 'due');
  expect(await world.warehouse('select id, outcome from sync.runs order by started_at')).toEqual([
    { id: 'due', outcome: null },
    { id, outcome: null },
  ]);
});

test('a machine whose clock is hours behind stops no run of another one', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const app = await world.openApp();
  const live = await startRun(app, { job: syncOrders });
  const behind = await startRun({ ...app, now: () => new Date(Date.now() - 2 * 3_600_000) }, { job: syncOrders });
  expect(await world.warehouse('select id, outcome from sync.runs order by started_at')).toEqual([
    { id: behind.id, outcome: null },
    { id: live.id, outcome: null },
  ]);
});

test('each schedule starts its jobs, and steps of a backfill wait for those of regular runs, of a reconcile for both', () => {
  const patterns = { catalog: 'C', orders: 'O', reviews: '', reconcile: 'R' };
  const scheduled = schedulesOf(jobs, patterns, 'Asia/Seoul');
  expect(scheduled.map(({ job, pattern, timeZone }) => `${job} ${pattern} ${timeZone}`)).toEqual(
    ['sync-catalog C', 'sync-orders O', 'reconcile-reviews R', 'rescan-orders R'].map((one) => `${one} Asia/Seoul`),
  );
  const withPriority = (wanted: number) => jobs.filter(({ priority }) => priority === wanted).map(({ name }) => name);
  expect(withPriority(1)).toEqual(['sync-catalog', 'sync-orders', 'sync-reviews']);
  expect(withPriority(10)).toEqual(['backfill-orders', 'backfill-reviews']);
  expect(withPriority(20)).toEqual(['reconcile-reviews', 'rescan-orders']);
});

test('a run of which steps failed says how many of them and three of the reasons, and keeps its end', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const app = await world.openApp();
  const { id } = await startRun(app, { job: syncCatalog });
  const run = await findRun(app.warehouse.db, id);
  if (!run) throw new Error('the run has no row');
  const end = { state: {}, results: [{ categories: 2 }, { categories: 3 }], failures: ['a', 'a', 'b', 'c', 'd'] };
  const error = '5 of 7 steps failed; the next run repeats them: a; b; c';
  const report = { outcome: 'incomplete', reason: 'steps-failed', counts: { categories: 5 }, error };
  expect(await syncCatalog.conclude(app, run, end, app.abort.signal)).toEqual(report);
  await syncCatalog.fail(app, run, 'the queue was lost after that');
  expect(await world.warehouse('select outcome, reason, counts, error from sync.runs')).toEqual([report]);
});

/** Locks the table of the schedules. @returns ends that. */
async function holdQueue(url: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin; lock table bullmq.scheduler in access exclusive mode');
  return () => client.end();
}
