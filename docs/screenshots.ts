/**
 * Takes the pictures of docs/operating.md: `npm run docs:screenshots` writes docs/status-desktop.png and docs/status-phone.png.
 *
 * 1. Start what the demo starts: an embedded Postgres, the sample shop, the review service.
 * 2. Read and push everything once.
 * 3. Make up two weeks of earlier runs and some dead letters: a minute of the demo has no history.
 * 4. Begin a backfill under a ceiling of requests, and take the pictures while it is in progress.
 *
 * It needs Chromium on the path.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { backfillReviews } from '../jobs/backfill-reviews.ts';
import { syncCatalog } from '../jobs/sync-catalog.ts';
import { syncOrders } from '../jobs/sync-orders.ts';
import { syncReviews } from '../jobs/sync-reviews.ts';
import { openApp } from '../src/app/app.ts';
import { openLog } from '../src/base/log.ts';
import { servedAlone } from '../src/cli/serve-brands.ts';
import { runToEnd } from '../src/runs/run-to-end.ts';
import { startRun } from '../src/runs/start-run.ts';
import { startWorker } from '../src/runs/start-worker.ts';
import { sampleShop } from '../src/sandbox/demo/sources.ts';
import { setStage } from '../src/sandbox/demo/stage.ts';
import { startServer } from '../src/server/index.ts';
import { openMeasuredApp } from '../src/server/measured-app.ts';
import { startBrowser } from '../test/harness/servers.ts';

const history = `
  insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, counts)
  select job || '-' || n, job, 'schedule', at, at + took * (1 + (n * 7919 % 13) / 6.0), 'done', counts
  from (
    select n, job, took, now() - n * interval '30 minutes' - interval '5 minutes' as at,
      jsonb_build_object('orders_pushed', 20 + n * 31 % 90) as counts
    from (values ('sync-orders', interval '8 seconds'), ('sync-reviews', interval '20 seconds')) as flow (job, took)
    cross join generate_series(1, 740) as n
  ) as made
  -- The worker was off for a day.
  where at not between now() - interval '145 hours' and now() - interval '120 hours';
  insert into sync.dead_letters (kind, key, reason, payload, first_failed_at, last_failed_at)
  select case when n % 3 = 0 then 'review' when n % 7 = 0 then 'webhook' else 'order' end, 'made-up-' || n,
    case when n % 3 = 0 then 'score: expected 1 to 5 or nothing, found 9' else 'refused by the service (422): total price is missing' end,
    '{}', at, at
  from (select n, now() - interval '1 day' * n as at from generate_series(1, 9) as n) as made`;

await using opened = new AsyncDisposableStack();
const stage = await setStage(opened, sampleShop(new Date(), 3000));
const log = openLog('error');
const { app, metrics, reports } = await openMeasuredApp(stage.config, log, opened);
const following = { onProgress() {}, onRetry() {}, signal: app.abort.signal };
for (const job of [syncReviews, syncCatalog, syncOrders]) await runToEnd(app, { job }, following);
const client = new pg.Client({ connectionString: stage.urls.warehouse });
await client.connect();
await client.query(history);
await client.end();

const { config } = stage;
const slow = opened.use(await openApp({ ...config, api: { ...config.api, requestsPerSecond: 8 } }, { log }));
const slowWorker = await startWorker(slow, [backfillReviews], []);
opened.defer(() => {
  slow.abort.abort();
  return slowWorker.close();
});
const { id } = await startRun(slow, { job: backfillReviews });
for (;;) {
  const { planned = Number.POSITIVE_INFINITY, ended } = await slow.queues.progress(id);
  if (ended * 3 >= planned) break;
  await delay(200);
}
const server = await startServer(servedAlone({ app, metrics, reports }), config.port, { isPublic: true });
opened.defer(() => server.close());
const { url } = server;
const browser = await startBrowser();
opened.defer(() => browser.close());
for (const [name, width, height, colorScheme] of [
  ['desktop', 1200, 1670, 'light'],
  ['phone', 390, 1800, 'dark'],
] as const) {
  const page = await browser.newPage({
    viewport: { width, height },
    colorScheme,
    httpCredentials: { username: 'anybody', password: config.statusToken ?? '' },
  });
  await page.goto(url);
  await page.screenshot({ path: join(import.meta.dirname, `status-${name}.png`) });
}
