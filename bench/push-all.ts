/** Pushes every order of a shop as `sync orders` does, queue and all; prints seconds and peak memory as JSON. */
import { syncOrders } from '../jobs/sync-orders.ts';
import { openApp } from '../src/app/app.ts';
import { readConfig } from '../src/app/config.ts';
import { openLog } from '../src/base/log.ts';
import { workerOf } from '../src/cli/ui/run-to-end.ts';

const app = await openApp(readConfig(process.env), { log: openLog('error') });
const startedMs = performance.now();
const { id } = await app.queues.enqueue(syncOrders, {});
const { queues } = app;
const worker = await workerOf(app, ['runs', 'steps']);
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
