import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest';
import type { App } from '../../src/app/app.ts';
import { ownRights } from '../../src/app/run-rights.ts';
import { openLog } from '../../src/base/log.ts';
import { openOutage } from '../../src/base/outage.ts';
import { withRedis } from '../../src/queue/connection.ts';
import { openQueues, type Queues } from '../../src/queue/index.ts';
import type { AnyRunJob, RunReport } from '../../src/runs/job.ts';
import { type RunState, type RunWorkerOptions, startRunWorker } from '../../src/runs/run-worker.ts';
import { until } from './cli.ts';
import { createDatabase } from './database.ts';
import { hasRedis, startRedis } from './servers.ts';

/** A test that is skipped where there is no redis-server. */
export const redisTest = test.skipIf(!hasRedis);

/**
 * Declares the same tests on both queues, with one Redis for those on Redis, which are skipped where there is none.
 * `redisUrl`: the Redis of these tests; undefined on Postgres.
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

/** Empty queues, in Redis where its address is given, and the runs of a test in them. `url`: where the queues are. */
export async function openTestQueues(redisUrl?: string) {
  // Several tests share a Redis.
  if (redisUrl !== undefined) await withRedis(redisUrl, (client) => client.flushall());
  const url = redisUrl ?? (await createDatabase('migrated'));
  const queues = await openQueues(url, { installation: 'test' });
  onTestFinished(() => queues.close());
  return { url, queues, runs: testRuns(queues) };
}

const settings = { orderContactMaxAgeDays: 30, orderDeletes: 'off' } as App['config'];

/** Runs of a test: their rows in memory, their jobs in the queues. */
export function testRuns(queues: Queues) {
  const rows = new Map<string, RunState>();
  /** Writes the row of a run whose id is given. */
  const row = (id: string, job: string) =>
    rows.set(id, {
      job,
      run: { id, key: null, startedBy: 'command', startedAt: new Date(), rights: ownRights(settings, 'sync') },
      end: undefined,
    });
  return {
    row,
    /** Starts a run. @returns its id. */
    async start(job: Pick<AnyRunJob<never>, 'name'>): Promise<string> {
      const id = `${job.name}-${randomBytes(6).toString('hex')}`;
      await queues.add(job.name, id);
      row(id, job.name);
      return id;
    },
    /** Ends a run, as a person does who stops it. */
    end(id: string, report: RunReport): void {
      const state = rows.get(id);
      if (state) rows.set(id, { ...state, end: report });
    },
    /** Starts a worker of these runs, which is ended with the test. `abort` stops its jobs. */
    async worker<Context>(job: AnyRunJob<Context>, context: Context, more: Partial<RunWorkerOptions<Context>> = {}) {
      const abort = new AbortController();
      const worker = await startRunWorker<Context>({
        ...{ queues, jobs: [job], context, abort, concurrency: 4, takeOverSeconds: 25, log: openLog('silent') },
        warehouseOutage: openOutage(openLog('silent'), 'warehouse'),
        findRun: async (id) => rows.get(id),
        runsToCarryOut: async () => [...rows].flatMap(([id, { end }]) => (end ? [] : [id])),
        ...more,
      });
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
