import type pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { patchWorker } from '../../src/queue/bullmq-patch.ts';
import { withRedis } from '../../src/queue/connection.ts';
import { openQueues } from '../../src/queue/index.ts';
import { applySchedules } from '../../src/queue/schedules.ts';
import type { AnyRunJob, RunJob } from '../../src/runs/job.ts';
import { until } from '../harness/cli.ts';
import { createDatabase, query } from '../harness/database.ts';
import { startTcpProxy } from '../harness/proxy.ts';
import { onEachQueue, openTestQueues, redisTest, testRuns } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';

test('a BullMQ without what is replaced is refused by name, not left unpatched', () => {
  const taken: string[] = [];
  const worker = { moveToActive: async () => 'job', maximumBlockTimeout: 10 };
  for (const changed of [
    { moveToActive: worker.moveToActive },
    { maximumBlockTimeout: 10 },
    { ...worker, moveToActive: 'gone' },
  ])
    expect(() => patchWorker(changed, () => {})).toThrow(/This version of BullMQ is not the one/);
  patchWorker(worker, () => void taken.push('asked'));
  expect(worker.maximumBlockTimeout).toBe(5);
  return expect(worker.moveToActive().then((job) => [job, taken])).resolves.toEqual(['job', ['asked']]);
});

test('a worker whose connections broke as it waited and looked takes a due job soon', async () => {
  const { url, queues, runs } = await openTestQueues();
  const started: string[] = [];
  await runs.worker(syncOrders as AnyRunJob<unknown>, undefined, {
    startDue: async (_job, dueId) => void started.push(dueId),
  });
  await queues.scheduled.add('test-run', {}, { jobId: 'due', delay: 4000 });

  // The connection on which the worker waits is cut, a first attempt to open another one fails, and so does the
  // question when the next job is due, which BullMQ asks once it waits again.
  const pool = queues.classes.connection as pg.Pool;
  const [ask, connect] = [pool.query.bind(pool), pool.connect.bind(pool)] as unknown as ((
    ..._: unknown[]
  ) => unknown)[];
  const failures: string[] = [];
  const failOnce = (what: string) => {
    if (failures.includes(what)) return;
    failures.push(what);
    throw new Error('Connection terminated unexpectedly');
  };
  const waits = `
    select pid from pg_stat_activity
    where datname = current_database() and application_name = 'review-sync-scheduled-test'
    and query ~ 'LISTEN bullmq'`;
  await until(async () => (await query(url, waits)).length > 0);
  Object.assign(pool, {
    async query(...given: unknown[]) {
      if (failures.includes('connect') && String(given[0]).includes('next_delay(')) failOnce('next_delay');
      return ask?.(...given);
    },
    // A statement on the pool passes a callback.
    connect(...given: unknown[]) {
      if (given.length > 0) return connect?.(...given);
      return (async () => {
        failOnce('connect');
        return connect?.();
      })();
    },
  });
  await query(url, `select pg_terminate_backend(pid) from (${waits}) as w`);
  await until(async () => started.length > 0);
  expect(failures).toEqual(['connect', 'next_delay']);
  expect(started).toEqual(['due']);
});

test('a queue that was first asked for while its server was down opens once it is up', async () => {
  const [{ url, queues, runs }, other] = await Promise.all([openTestQueues(), createDatabase()]);
  const database = new URL(url).pathname.slice(1);
  await query(other, `alter database "${database}" allow_connections false`);
  await query(other, `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [database]);
  await expect(queues.add('test-run', 'run')).rejects.toThrow();
  // A worker that cannot take the jobs of a run says so of the queue, not of the warehouse, which it has just read.
  const said: string[] = [];
  const ofWarehouse: unknown[] = [];
  const warehouseOutage = { failed: (error: unknown) => void ofWarehouse.push(error), worked: () => {} };
  const onRetry = (what: string) => void said.push(what);
  const context = { runs: 0 };
  runs.row('run', counting.name);
  await runs.worker(counting, context, { everyMs: 10, warehouseOutage, onRetry });
  // As many failures as a worker carries out runs.
  await until(async () => said.length > 8);
  expect([said[0], ofWarehouse]).toEqual([expect.stringMatching(/^the queue cannot be used/), []]);
  await query(other, `alter database "${database}" allow_connections true`);
  await queues.add(counting.name, 'run');
  await until(async () => context.runs === 1);
});

redisTest('a Redis that is gone is an error of each call, not a wait without an end', async () => {
  const redis = await startRedis();
  const { queues } = await openTestQueues(redis.url);
  await redis.close();
  const ends = await Promise.allSettled([queues.progress('some run'), queues.add('test', 'some run')]);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

/** A run without steps that counts how often it was planned. */
const counting: RunJob<{ runs: number }, number, string> = {
  name: 'sync-orders',
  trigger: 'sync',
  readsShop: false,
  priority: 1,
  step: { name: 'step', parse: String, run: async () => ({}) },
  async plan(context) {
    context.runs += 1;
    return { state: 0, steps: [] };
  },
  conclude: async () => ({ outcome: 'done', counts: {} }),
  fail: async () => {},
};

onEachQueue(({ redisUrl }) => {
  test('a schedule goes on after a clock is set back, through moments it has run at', async () => {
    const { queues, runs } = await openTestQueues(redisUrl());
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 2000);
    onTestFinished(() => clock.mockRestore());
    const everySecond = [{ job: 'sync-orders', pattern: '* * * * * *', timeZone: 'Asia/Seoul' }];
    const context = { runs: 0 };
    const startDue = async () => {
      context.runs += 1;
    };
    const start = () => runs.worker(counting, context, { startDue });
    await applySchedules(queues, everySecond);
    const ahead = await start();
    await until(async () => context.runs >= 2);
    await ahead.close(0);
    clock.mockRestore();
    await applySchedules(queues, everySecond);
    context.runs = 0;
    await start();
    await until(async () => context.runs >= 5);
  });
});

redisTest('a Redis that refuses writes, as a full one does, is asked once a second', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const { runs } = await openTestQueues(redis.url);
  let failures = 0;
  const onRetry = () => {
    failures += 1;
  };
  await runs.start(counting);
  await withRedis(redis.url, (client) => client.config('SET', 'maxmemory', '1'));
  await runs.worker(counting, { runs: 0 }, { onRetry });
  const seconds = async () => Number((await withRedis(redis.url, (client) => client.time()))[0]);
  await until(async () => failures > 0);
  const began = await seconds();
  await until(async () => (await seconds()) >= began + 3);
  expect(failures).toBeLessThan(50);
});

redisTest('a worker follows its Redis through a failover that leaves its connections open', async () => {
  const [old, promoted] = [await startRedis(), await startRedis()];
  const proxy = await startTcpProxy(Number(new URL(old.url).port));
  onTestFinished(async () => {
    await proxy.close();
    await Promise.all([old.close(), promoted.close()]);
  });
  const context = { runs: 0 };
  const { runs } = await openTestQueues(`redis://127.0.0.1:${proxy.port}`);
  await runs.worker(counting, context);
  const add = async (url: string) => {
    const there = await openQueues(url, { installation: 'test' });
    const id = await testRuns(there).start(counting);
    await there.close();
    runs.row(id, counting.name);
  };
  await add(old.url);
  await until(async () => context.runs === 1);
  proxy.passTo(Number(new URL(promoted.url).port));
  await withRedis(old.url, (redis) => redis.replicaof('127.0.0.1', 1));
  await add(promoted.url);
  await until(async () => context.runs === 2);
});
