import type pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { openQueues } from '../../src/queue/index.ts';
import type { AnyRunJob } from '../../src/runs/job.ts';
import { createDatabase, query } from '../harness/database.ts';
import { redisTest, testRuns } from '../harness/each-queue.ts';
import { startRedis } from '../harness/redis.ts';
import { until } from '../harness/world.ts';

test('a worker whose connections broke while it waited, and again when it looked, takes a job soon after it is due', async () => {
  const url = await createDatabase('migrated');
  const queues = await openQueues(url, 'test');
  onTestFinished(() => queues.close());
  const started: string[] = [];
  await testRuns(queues).worker(syncOrders as AnyRunJob<unknown>, undefined, {
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

test('the queue of a run that was first asked for while its server was down opens once it is up', async () => {
  const [url, other] = await Promise.all([createDatabase('migrated'), createDatabase()]);
  const queues = await openQueues(url, 'test');
  onTestFinished(() => queues.close());
  const database = new URL(url).pathname.slice(1);
  await query(other, `alter database "${database}" allow_connections false`);
  await query(other, `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [database]);
  await expect(queues.add('test-run', 'run')).rejects.toThrow();
  await query(other, `alter database "${database}" allow_connections true`);
  await queues.add('test-run', 'run');
  expect(await queues.isAlive('run')).toBe(true);
});

redisTest('a Redis that is gone is an error of each call, not a wait without an end', async () => {
  const redis = await startRedis();
  const queues = await openQueues(redis.url, 'test');
  onTestFinished(() => queues.close());
  await redis.close();
  const ends = await Promise.allSettled([queues.progress('some run'), queues.add('test', 'some run')]);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
