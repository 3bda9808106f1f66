/**
 * Exports every review as `backfill reviews` does, with the queue. Prints as JSON the peak memory, and the seconds from
 * the start of the run to its end by sync.runs: the command looks only five times a second whether the run has ended.
 */
import nodeModule from 'node:module';
import { limitHeap } from '../src/cli/limit-heap.ts';

nodeModule.enableCompileCache();
// As src/cli/main.ts does.
limitHeap(['backfill', 'reviews']);
const { backfillReviews } = await import('../jobs/backfill-reviews.ts');
const { openApp } = await import('../src/app/app.ts');
const { readConfig } = await import('../src/app/config.ts');
const { openLog } = await import('../src/base/log.ts');
const { followRun } = await import('../src/runs/run-to-end.ts');
const { startWorker } = await import('../src/runs/start-worker.ts');
const { startRun } = await import('../src/runs/start-run.ts');
const { findRun } = await import('../src/warehouse/runs/runs.ts');
const app = await openApp(readConfig(process.env), { log: openLog('error') });
// For `bench:drift`.
if (process.env.BENCH_WITHOUT_DRIFT) app.fieldShapes.begin = () => {};
const { id } = await startRun(app, { job: backfillReviews });
const worker = await startWorker(app, [backfillReviews], []);
const nothing = () => {};
await followRun(app, id, { onProgress: nothing, onRetry: nothing, signal: new AbortController().signal });
const run = await findRun(app.warehouse.db, id);
if (run?.outcome !== 'done' || !run.finishedAt) throw new Error(`the run ended ${JSON.stringify(run)}`);
const seconds = (run.finishedAt.getTime() - run.startedAt.getTime()) / 1000;
await worker.close();
await app[Symbol.asyncDispose]();
const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
process.stdout.write(
  JSON.stringify({ seconds, maxRssMb: maxRSS / 1024, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 }),
);
