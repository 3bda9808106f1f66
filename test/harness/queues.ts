import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest';
import type { App } from '../../src/app/app.ts';
import { openLog } from '../../src/base/log.ts';
import { openOutage } from '../../src/base/outage.ts';
import { withRedis } from '../../src/queue/connection.ts';
import { openQueues, type Queues } from '../../src/queue/index.ts';
import { openDueTaker } from '../../src/queue/worker.ts';
import type { AnyRunJob } from '../../src/runs/define-run.ts';
import { type RunWorkerOptions, startRunWorker } from '../../src/runs/run-worker.ts';
import { beginRun, findRun, finishRun, openRuns } from '../../src/warehouse/runs/runs.ts';
import { until } from './cli.ts';
import { createDatabase } from './database.ts';
import { hasRedis, startRedis } from './servers.ts';
import { openTestWarehouse } from './warehouse.ts';
import { runOf } from './world.ts';

/** A test that is skipped if there is no redis-server. */
export const redisTest = test.skipIf(!hasRedis);

/**
 * Declares the same tests on both queues. Those on Redis share one Redis, and are skipped without it. `redisUrl`:
 * the Redis of these tests; undefined on Postgres.
 */
export function onEachQueue(declare: (queue: { redisUrl(): string | undefined }) => void): void {
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

/** Empty queues, in Redis if its address is given, and the runs of a test in them. `url`: where the queues are. */
export async function openTestQueues(redisUrl?: string) {
  // Several tests share a Redis.
  if (redisUrl !== undefined) await withRedis(redisUrl, (client) => client.flushall());
  const url = redisUrl ?? (await createDatabase('migrated'));
  const queues = await openQueues(url, { installation: 'test' });
  onTestFinished(() => queues.close());
  return { url, queues, runs: await testRuns(queues) };
}

/** Takes due runs, and logs nothing. */
export function openTestDueTaker() {
  const log = openLog('silent');
  const { signal: abort } = new AbortController();
  return openDueTaker({ takeOverSeconds: 25, log, abort, queueOutage: openOutage(log, 'queue') });
}

type OfTheApp = Pick<App, 'log' | 'warehouseOutage'> & { takeOverSeconds: number };

/** Runs of a test: their rows in a warehouse of their own, their jobs in the queues. */
export async function testRuns(queues: Queues) {
  const { db } = await openTestWarehouse(4);
  const row = async (id: string, job: string) => void (await beginRun(db, { ...runOf(job), id }));
  return {
    /** Writes the row of a run whose id is given. */
    row,
    /** Starts a run. @returns its id. */
    async start(job: Pick<AnyRunJob, 'name'>): Promise<string> {
      const id = `${job.name}-${randomBytes(6).toString('hex')}`;
      await queues.add(job.name, id);
      await row(id, job.name);
      return id;
    },
    find: (id: string) => findRun(db, id),
    /** Ends a run, as a person does who stops it. */
    end: (id: string) => finishRun(db, id, { outcome: 'abandoned' }),
    /** Starts a worker of these runs, which is ended with the test. `abort` stops its jobs. */
    async worker(job: AnyRunJob, more: Partial<RunWorkerOptions & OfTheApp> = {}) {
      const abort = new AbortController();
      const { log = openLog('silent'), takeOverSeconds = 25, ...others } = more;
      const { warehouseOutage = openOutage(log, 'warehouse'), ...options } = others;
      const parts = { config: { takeOverSeconds }, warehouse: { db }, fieldShapes: { begin() {} } };
      const app = { queues, log, warehouseOutage, abort, ...parts } as unknown as App;
      const usual = { jobs: [job], runsToCarryOut: () => openRuns(db), concurrency: 4 };
      const worker = await startRunWorker(app, { ...usual, ...options });
      onTestFinished(() => worker.close(0));
      return { ...worker, abort };
    },
  };
}

/** The progress of a run once its job has ended. */
export const runEnded = (queues: Queues, id: string) =>
  until(async () => {
    const progress = await queues.progress(id);
    return ['ended', 'failed', 'lost'].includes(progress.state) && progress;
  });
