import { jobs } from '../../../jobs/index.ts';
import { syncCatalog } from '../../../jobs/sync-catalog.ts';
import { syncOrders } from '../../../jobs/sync-orders.ts';
import { type App, openApp } from '../../app/app.ts';
import { type Config, isLoopback } from '../../app/config.ts';
import { type Metrics, openMetrics } from '../../app/metrics.ts';
import { type StatusReport, statusReport } from '../../app/status-report.ts';
import { startWebhookApplier, type WebhookApplier } from '../../background/apply-webhooks.ts';
import { retryDeadLetters } from '../../background/retry-dead-letters.ts';
import { startAlertWatcher } from '../../background/watch-alerts.ts';
import type { Logger } from '../../base/log.ts';
import type { AnyRunJob } from '../../queue/job.ts';
import { cached } from '../../server/cached.ts';
import { startServer } from '../../server/index.ts';
import type { MetricsOptions } from '../../server/metrics-route.ts';
import type { StatusOptions } from '../../server/status-routes.ts';
import { alike, discardDeadLetters, openDeadLetters } from '../../warehouse/dead-letters.ts';
import { openWarehouse, type Warehouse } from '../../warehouse/index.ts';
import type { DeadLetterKind } from '../../warehouse/schema.ts';
import { acceptWebhook } from '../../webhooks/accept-webhook.ts';

/** The cached status report, read on connections of its own. */
type Reports = { warehouse: Warehouse; get(): Promise<StatusReport>; forget(): void };

export type MeasuredApp = { app: App; metrics: Metrics; reports: Reports };

/** How long a report is cached, in milliseconds. Prometheus scrapes every 15 s or more. */
const reportMs = 5000;

/** Opens an App with metrics of its requests. `opened` closes it. */
export async function openMeasuredApp(config: Config, log: Logger, opened: AsyncDisposableStack): Promise<MeasuredApp> {
  // Reading the status must not take the connections that store webhooks.
  const warehouse = await openWarehouse({ url: config.warehouseDatabaseUrl, connections: 2 });
  opened.defer(() => warehouse.close());
  const reports: Reports = { warehouse, ...cached(() => statusReport({ ...app, warehouse }), reportMs) };
  const metrics = openMetrics(reports.get);
  const app: App = await openApp(config, { log, onRequestEnd: metrics.onRequestEnd });
  opened.defer(() => app.close());
  return { app, metrics, reports };
}

/** Serves webhooks, status page and metrics until `opened` closes. @returns the address. */
export async function startServing(
  { app, metrics, reports }: MeasuredApp,
  opened: AsyncDisposableStack,
): Promise<string> {
  const { config, log, warehouse } = app;
  const alerts = startAlertWatcher(app);
  opened.defer(() => alerts?.close());
  const applier = startWebhookApplier(app);
  opened.defer(() => closeWithin(applier, app.abort));
  const { secret } = config.webhooks;
  const { statusToken: token } = config;
  const accepting = {
    accept: (body: string) =>
      acceptWebhook(warehouse.db, { brandIds: config.webhooks.brandIds, receivedAt: app.now() }, body),
    onAccepted: applier.wake,
    onRefused: (status: number) => log.warn({ status }, 'a webhook was refused'),
  };
  const server = await startServer({
    host: config.host,
    port: config.port,
    warehouse,
    log,
    webhooks: secret === undefined ? undefined : { secret, ...accepting },
    metrics: metricsOf(app, metrics),
    status: token === undefined ? undefined : statusOf(app, token, reports),
  });
  opened.defer(() => server.close());
  return server.url;
}

/** Metrics need STATUS_TOKEN, except on a loopback address. */
export function metricsOf({ config, log }: App, metrics: Metrics): MetricsOptions | undefined {
  const { host, statusToken: token } = config;
  if (token !== undefined || isLoopback(host)) return { token, ...metrics };
  log.warn('STATUS_TOKEN is not set: /metrics is only served on a loopback address');
  return undefined;
}

function statusOf(app: App, token: string, reports: Reports): StatusOptions {
  const { warehouse, queues } = app;
  return {
    token,
    queues,
    warehouse: reports.warehouse,
    timeZone: app.config.api.timeZone,
    report: reports.get,
    batchedJobs: jobs.filter(({ next }) => next !== undefined).map(({ name }) => name),
    explain: { ...app, contactMaxAgeDays: app.config.orderContactMaxAgeDays, deletes: app.config.orderDeletes },
    async act(what, kind, reason) {
      try {
        const ofKind = await openDeadLetters(warehouse.db, kind as DeadLetterKind);
        const deadLetters = alike(ofKind, reason);
        if (what === 'discard') {
          const ids = deadLetters.map((deadLetter) => deadLetter.id);
          return { done: 'discarded', count: await discardDeadLetters(warehouse.db, ids) };
        }
        let isQueued = false;
        const enqueue = async (job: AnyRunJob<App>) => {
          isQueued = true;
          await queues.enqueue(job, {});
        };
        await retryDeadLetters(app, deadLetters, {
          syncCatalog: () => enqueue(syncCatalog),
          syncOrders: () => enqueue(syncOrders),
        });
        return { done: isQueued ? 'queued' : 'retried', count: deadLetters.length };
      } finally {
        reports.forget();
      }
    },
  };
}

const graceMs = 10_000;

/** Reviews that were not read stay in sync.changed_reviews. */
async function closeWithin(applier: WebhookApplier, abort: AbortController): Promise<void> {
  const timer = setTimeout(() => abort.abort(), graceMs);
  await applier.close();
  clearTimeout(timer);
}
