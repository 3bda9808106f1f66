/** Exports every review as `backfill reviews` does, queue and all; prints seconds and peak memory as JSON. */
import nodeModule from 'node:module';
import { limitHeap } from '../src/cli/limit-heap.ts';

nodeModule.enableCompileCache();
// As src/cli/main.ts does.
limitHeap(['backfill', 'reviews']);
const { backfillReviews } = await import('../jobs/backfill-reviews.ts');
const { openApp } = await import('../src/app/app.ts');
const { workerOf } = await import('../src/cli/ui/run-to-end.ts');
const { readConfig } = await import('../src/app/config.ts');
const { openLog } = await import('../src/base/log.ts');
const app = await openApp(readConfig(process.env), { log: openLog('error') });
const startedMs = performance.now();
const { id } = await app.queues.enqueue(backfillReviews, { gaps: false });
const { queues } = app;
const worker = await workerOf(app, ['runs', 'steps']);
let at = await queues.progress(id);
while (at.state === 'running') {
  await new Promise((resolve) => setTimeout(resolve, 20));
  at = await queues.progress(id);
}
const seconds = (performance.now() - startedMs) / 1000;
if (at.report?.outcome !== 'done') throw new Error(`the run ended ${JSON.stringify(at)}`);
await worker.close();
await app.close();
process.stdout.write(JSON.stringify({ seconds, maxRssMb: process.resourceUsage().maxRSS / 1024 }));
