/** Pushes every order of a shop as `sync orders` does, queue and all; prints seconds and peak memory as JSON. */
import { jobs } from '../jobs/index.ts';
import { syncOrders } from '../jobs/sync-orders.ts';
import { openApp, stepsAtATime } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { openLog } from '../src/log.ts';
import { startWorker } from '../src/queue/worker.ts';

const app = await openApp(readConfig(process.env), { log: openLog('error') });
const startedMs = performance.now();
const { id } = await app.queues.enqueue(syncOrders, {});
const { queues, log, now, abort } = app;
const worker = startWorker({
  ...{ queues, jobs, context: app, log, now, abort },
  take: ['runs', 'steps'],
  concurrency: stepsAtATime,
});
let at = await queues.progress(id);
while (at.state === 'waiting' || at.state === 'running') {
  await new Promise((resolve) => setTimeout(resolve, 20));
  at = await queues.progress(id);
}
const seconds = (performance.now() - startedMs) / 1000;
if (at.report?.outcome !== 'done') throw new Error(`the run ended ${JSON.stringify(at)}`);
await worker.close();
await app.close();
process.stdout.write(JSON.stringify({ seconds, maxRssMb: process.resourceUsage().maxRSS / 1024 }));
