import { expect, onTestFinished, test, vi } from 'vitest';
import { withRedis } from '../../src/queue/connection.ts';
import { openQueues } from '../../src/queue/index.ts';
import { applySchedules } from '../../src/queue/schedules.ts';
import type { RunJob } from '../../src/runs/job.ts';
import { onEachQueue, openTestQueues, redisTest, testRuns } from '../harness/each-queue.ts';
import { startRedis } from '../harness/redis.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { until } from '../harness/world.ts';

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
  test('a schedule goes on after a clock that was ahead is set back, through the moments at which it has run already', async () => {
    const queues = await openTestQueues(redisUrl());
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 4000);
    onTestFinished(() => clock.mockRestore());
    const everySecond = [{ job: 'sync-orders', pattern: '* * * * * *', timeZone: 'Asia/Seoul' }];
    const context = { runs: 0 };
    const startDue = async () => {
      context.runs += 1;
    };
    const start = () => testRuns(queues).worker(counting, context, { startDue });
    await applySchedules(queues, everySecond);
    const ahead = await start();
    await until(async () => context.runs >= 3);
    await ahead.close(0);
    clock.mockRestore();
    await applySchedules(queues, everySecond);
    context.runs = 0;
    await start();
    await until(async () => context.runs >= 8);
  });
});

redisTest(
  'a Redis that refuses writes, as a full one does, is asked again a second later, not thousands of times in it',
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const queues = await openQueues(redis.url, 'test');
    onTestFinished(() => queues.close());
    let failures = 0;
    const onRetry = () => {
      failures += 1;
    };
    const runs = testRuns(queues);
    await runs.start(counting);
    await withRedis(redis.url, (client) => client.config('SET', 'maxmemory', '1'));
    await runs.worker(counting, { runs: 0 }, { onRetry });
    const seconds = async () => Number((await withRedis(redis.url, (client) => client.time()))[0]);
    await until(async () => failures > 0);
    const began = await seconds();
    await until(async () => (await seconds()) >= began + 3);
    expect(failures).toBeLessThan(50);
  },
);

redisTest('a worker follows its Redis through a failover that leaves its connections open', async () => {
  const [old, promoted] = [await startRedis(), await startRedis()];
  const proxy = await startTcpProxy(Number(new URL(old.url).port));
  onTestFinished(async () => {
    await proxy.close();
    await Promise.all([old.close(), promoted.close()]);
  });
  const context = { runs: 0 };
  const queues = await openQueues(`redis://127.0.0.1:${proxy.port}`, 'test');
  onTestFinished(() => queues.close());
  const runs = testRuns(queues);
  await runs.worker(counting, context);
  const add = async (url: string) => {
    const there = await openQueues(url, 'test');
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
