import { type App, openApp } from '../app/app.ts';
import type { Config } from '../app/config.ts';
import { type Metrics, openMetrics } from '../app/metrics.ts';
import { type StatusReport, statusReport } from '../app/status-report.ts';
import type { Logger } from '../base/log.ts';
import { throttled } from '../base/timeout.ts';
import { openWarehouse, type Warehouse } from '../warehouse/index.ts';
import { watchLockWaits } from '../warehouse/lock-waits.ts';
import { cached } from './cached.ts';

/** An App with metrics of its requests, and the cached status report, which is read on connections of its own. */
export type MeasuredApp = {
  app: App;
  metrics: Metrics;
  reports: { warehouse: Warehouse; get(): Promise<StatusReport> };
};

/** How long a report is cached, in milliseconds. Prometheus scrapes every 15 s or more. */
const reportMs = 5000;

/** Opens an App with metrics. `opened` closes it. */
export async function openMeasuredApp(config: Config, log: Logger, opened: AsyncDisposableStack): Promise<MeasuredApp> {
  // Reading the status must not take the connections that store webhooks.
  const warehouse = opened.use(
    await openWarehouse({ url: config.warehouseDatabaseUrl, brand: config.brand, connections: 2 }),
  );
  const reports = { warehouse, ...cached(() => statusReport({ ...app, warehouse }), reportMs) };
  const metrics = openMetrics(reports.get);
  const app: App = opened.use(await openApp(config, { log, onRequestEnd: metrics.onRequestEnd }));
  const sayLocks = throttled(60_000, (text) => log.warn(text));
  const watching = watchLockWaits(config.warehouseDatabaseUrl, sayLocks);
  opened.defer(() => watching.close());
  return { app, metrics, reports };
}
