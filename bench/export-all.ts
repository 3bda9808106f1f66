/** Exports every review as `backfill reviews` does, queue and all; prints seconds and peak memory as JSON. */
import nodeModule from 'node:module';
import { limitHeap } from '../src/cli/limit-heap.ts';

nodeModule.enableCompileCache();
// As src/cli/main.ts does.
limitHeap(['backfill', 'reviews']);
const { backfillReviews } = await import('../jobs/backfill-reviews.ts');
const { openApp } = await import('../src/app/app.ts');
const { readConfig } = await import('../src/app/config.ts');
const { openLog } = await import('../src/base/log.ts');
const { startWorker } = await import('../src/runs/follow-run.ts');
const { startRun } = await import('../src/runs/start-run.ts');
const { findRun } = await import('../src/warehouse/runs/runs.ts');
const app = await openApp(readConfig(process.env), { log: openLog('error') });
// For `bench:drift`.
if (process.env.BENCH_WITHOUT_DRIFT) app.fieldShapes.begin = () => {};
const startedMs = performance.now();
const { id } = await startRun(app, { job: backfillReviews });
const { queues } = app;
const worker = await startWorker(app, [backfillReviews], []);
let at = await queues.progress(id);
while (at.state === 'running') {
  await new Promise((resolve) => setTimeout(resolve, 20));
  at = await queues.progress(id);
}
const seconds = (performance.now() - startedMs) / 1000;
const run = await findRun(app.warehouse.db, id);
if (run?.outcome !== 'done') throw new Error(`the run ended ${JSON.stringify({ at, run })}`);
await worker.close();
await app.close();
const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
process.stdout.write(
  JSON.stringify({ seconds, maxRssMb: maxRSS / 1024, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 }),
);
