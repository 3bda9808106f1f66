import { expect, test } from 'vitest';
import { patchWorker } from '../../src/queue/bullmq-patch.ts';
import type { RunJob } from '../../src/runs/define-run.ts';
import { until } from '../harness/cli.ts';
import { createDatabase, query } from '../harness/database.ts';
import { openTestQueues, redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';

test('a worker that cannot ask for a job pauses; an unknown BullMQ is refused', async () => {
  const taken: string[] = [];
  const onTaken = () => void taken.push('asked');
  const worker = { moveToActive: async () => 'job', maximumBlockTimeout: 10 };
  for (const changed of [
    { moveToActive: worker.moveToActive },
    { maximumBlockTimeout: 10 },
    { ...worker, moveToActive: 'gone' },
  ])
    expect(() => patchWorker(changed, onTaken)).toThrow(/This version of BullMQ is not the one/);
  const full = { ...worker, moveToActive: () => Promise.reject(new Error('the server is full')) };
  patchWorker(full, onTaken);
  const failed = full.moveToActive().catch(() => 'failed');
  expect(await Promise.race([failed, new Promise((resolve) => setImmediate(resolve, 'pauses'))])).toBe('pauses');
  patchWorker(worker, onTaken);
  expect(worker.maximumBlockTimeout).toBe(5);
  expect([await worker.moveToActive(), taken]).toEqual(['job', ['asked']]);
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
  let planned = 0;
  const counting: RunJob<number, string> = {
    name: 'sync-orders',
    trigger: 'sync',
    readsShop: false,
    priority: 1,
    step: { name: 'step', parse: String, run: async () => ({}) },
    async plan() {
      planned += 1;
      return { state: 0, steps: [] };
    },
    conclude: async () => ({ outcome: 'done', counts: {} }),
  };
  await runs.row('run', counting.name);
  await runs.worker(counting, { everyMs: 10, warehouseOutage, onRetry });
  // As many failures as a worker carries out runs.
  await until(async () => said.length > 8);
  expect([said[0], ofWarehouse]).toEqual([expect.stringMatching(/^the queue cannot be used/), []]);
  await query(other, `alter database "${database}" allow_connections true`);
  await queues.add(counting.name, 'run');
  await until(async () => planned === 1);
});

redisTest('a Redis that is gone is an error of each call, not a wait without an end', async () => {
  const redis = await startRedis();
  const { queues } = await openTestQueues(redis.url);
  await redis.close();
  const ends = await Promise.allSettled([queues.progress('some run'), queues.add('test', 'some run')]);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
