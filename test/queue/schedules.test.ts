import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openLog } from '../../src/base/log.ts';
import { watchSchedules } from '../../src/queue/schedules.ts';
import { runCli } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

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

/** Locks the table of the schedules. @returns ends that. */
async function holdQueue(url: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin; lock table bullmq.scheduler in access exclusive mode');
  return () => client.end();
}
