import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { checkSchedules } from '../../src/app/doctor/check-queue.ts';
import { openLog } from '../../src/base/log.ts';
import { applySchedules, plannedRuns, type Schedule, watchSchedules } from '../../src/queue/schedules.ts';
import { runCli } from '../harness/cli.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { openWorld, until } from '../harness/world.ts';

test('the schedules that are being restored when the worker stops are set before its queue is closed', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { queues } = await world.openApp();
  const { scheduled } = queues.bull;
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
  const worker = await runCli(['worker'], world.environment);
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
  expect(await queues.bull.scheduled.getDelayed()).toMatchObject([{ name: 'sync-orders', opts: { attempts: 5 } }]);
});

test('doctor calls a run overdue once it is a minute late, and names schedules that the queue has otherwise', async () => {
  const now = new Date('2026-03-01T12:00:00Z');
  const schedule = { job: 'sync-orders', pattern: '*/5 * * * *', timeZone: 'Asia/Seoul' };
  const look = (next: number | undefined, tz = schedule.timeZone, wanted: readonly Schedule[] = [schedule]) => {
    const one = { key: schedule.job, name: schedule.job, pattern: schedule.pattern, tz, next };
    const queues = { bull: { scheduled: { getJobSchedulers: async () => (tz === '' ? [] : [one]) } } };
    return checkSchedules(queues as never, wanted, now);
  };
  const found = async (lateMs: number, tz?: string) =>
    (await look(now.getTime() - lateMs, tz)).map(({ level }) => level);
  expect(await found(60_000)).toEqual(['ok']);
  expect(await found(60_001)).toEqual(['fault']);
  expect(await found(0, 'UTC')).toEqual(['warning', 'warning', 'ok']);
  expect((await look(now.getTime()))[0]?.what).toBe('sync-orders runs next at 2026-03-01T12:00:00.000Z');
  expect((await look(0))[0]?.what).toBe('sync-orders was due at 1970-01-01T00:00:00.000Z, and no worker took it');
  expect((await look(undefined))[0]).toMatchObject({ level: 'fault', what: 'sync-orders has no next run' });
  expect(await look(0, '', [])).toMatchObject([{ level: 'warning', what: 'no schedule is configured' }]);
});

test.skipIf(!hasRedis)('schedules that a Redis lost are set again', async () => {
  const redis = await startRedis();
  onTestFinished(redis.close);
  await using world = await openWorld({ shop: 'empty', environment: { QUEUE_URL: redis.url } });
  const { queues } = await world.openApp();
  const schedule = (job: string): Schedule => ({ job, pattern: '*/5 * * * *', timeZone: 'Asia/Seoul' });
  await applySchedules(queues, [schedule('sync-orders')]);
  await queues.bull.scheduled.removeJobScheduler('sync-orders');
  const { scheduled } = queues.bull;
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
  const { scheduled } = (await world.openApp()).queues.bull;
  await scheduled.add('sync-orders', { payload: {} });
  expect(await runCli(['sync', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  expect(await scheduled.getJobCounts('waiting')).toEqual({ waiting: 1 });
});

test('a run of the schedule does not start beside the one before it, unless that began under a clock that was ahead; a command does', async () => {
  const world = await openWorld({ shop: 'empty' });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const app = await world.openApp();
  // The queue still has its job: it is due by the clock that was ahead.
  const isAlive = async () => true;
  const run = { key: undefined, startedAt: new Date() };
  for (const [begun, trigger, isStarted] of [
    [`now() - interval '1 minute'`, 'schedule', false],
    [`now() - interval '1 minute'`, 'command', true],
    [`now() + interval '50 minutes'`, 'schedule', false],
    [`now() + interval '61 minutes'`, 'schedule', true],
  ] as const) {
    await world.warehouse('delete from sync.runs');
    await world.warehouse(
      `insert into sync.runs (id, job, trigger, started_at) values ('before', 'sync-orders', 'schedule', ${begun})`,
    );
    expect(await syncOrders.begin(app, { ...run, trigger, id: `after ${begun}` }, isAlive)).toBe(isStarted);
  }
  expect(await world.warehouse(`select outcome from sync.runs where id = 'before'`)).toEqual([
    { outcome: 'abandoned' },
  ]);
});

/** Locks the table of the schedules. @returns ends that. */
async function holdQueue(url: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin; lock table bullmq.scheduler in access exclusive mode');
  return () => client.end();
}
