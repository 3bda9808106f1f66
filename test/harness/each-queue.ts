import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest';
import { openLog } from '../../src/base/log.ts';
import { openQueues, type QueueName, type Queues } from '../../src/queue/index.ts';
import type { AnyRunJob } from '../../src/queue/job.ts';
import { startWorker, type WorkerOptions } from '../../src/queue/worker.ts';
import { createDatabase } from './database.ts';
import { until } from './patience.ts';
import { emptyRedis, hasRedis, startRedis } from './redis.ts';

export type TestQueue = {
  /** The Redis of these tests; undefined on Postgres. */
  redisUrl(): string | undefined;
};

/** A test that is skipped where there is no redis-server. */
export const redisTest = test.skipIf(!hasRedis);

/** Declares the same tests on both queues, with one Redis for those on Redis, which are skipped where there is none. */
export function onEachQueue(declare: (queue: TestQueue) => void): void {
  for (const queue of ['postgres', 'redis']) {
    const isRedis = queue === 'redis';
    describe.skipIf(isRedis && !hasRedis)(`on the ${queue} queue`, () => {
      let redis: Awaited<ReturnType<typeof startRedis>> | undefined;
      beforeAll(async () => {
        if (isRedis) redis = await startRedis();
      });
      afterAll(() => redis?.close());
      declare({ redisUrl: () => redis?.url });
    });
  }
}

/** Empty queues, in Redis where its address is given. */
export async function openTestQueues(redisUrl?: string): Promise<Queues> {
  if (redisUrl !== undefined) await emptyRedis(redisUrl);
  const queues = await openQueues(redisUrl ?? (await createDatabase('migrated')), 'test');
  onTestFinished(() => queues.close());
  return queues;
}

/** Starts a worker on queues of a test, which is ended with the test. `abort` stops its jobs. */
export async function startTestWorker<Context>(
  queues: Queues,
  given: { jobs: readonly AnyRunJob<Context>[]; context: Context; take: readonly QueueName[] } & Partial<
    Pick<WorkerOptions<Context>, 'concurrency' | 'endOf' | 'log' | 'onRetry' | 'onStep'>
  >,
) {
  const abort = new AbortController();
  const usual = {
    ...{ concurrency: 4, takeOverSeconds: 25, log: openLog('silent'), now: () => new Date() },
    endOf: async () => undefined,
  };
  const worker = await startWorker({ ...usual, ...given, queues, abort });
  onTestFinished(() => worker.close(0));
  return { ...worker, abort };
}

/** The progress of a run once it has ended. */
export const runEnded = (queues: Queues, id: string) =>
  until(async () => {
    const progress = await queues.progress(id);
    return ['ended', 'failed', 'lost'].includes(progress.state) && progress;
  });
