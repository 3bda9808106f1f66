import { type App, openApp, type SharedConnections } from '../app/app.ts';
import { type Config, type Deployment, shortLockSeconds } from '../app/config.ts';
import { openMetrics } from '../app/metrics.ts';
import { statusReport } from '../app/status-report.ts';
import type { Logger } from '../base/log.ts';
import { openWarehouse } from '../warehouse/index.ts';
import { watchLockWaits } from '../warehouse/lock-waits.ts';

/**
 * An App with metrics of its requests, and the cached status report. The report has its own connections: it must not
 * take the connections that store webhooks, and if another session has locked a table, it fails instead of waiting.
 */
export type MeasuredApp = Awaited<ReturnType<typeof openMeasuredApp>>;

/** How long a report is cached, in milliseconds. Prometheus scrapes every 15 s or more. */
const reportMs = 5000;

/** Opens an App with metrics. `opened` closes it. @param shared connections of all brands of the process. */
export async function openMeasuredApp(
  config: Config,
  log: Logger,
  opened: AsyncDisposableStack,
  shared?: SharedConnections,
) {
  const { warehouseDatabaseUrl: url, brand } = config;
  const looks = { url, brand, connections: 2, lockSeconds: shortLockSeconds, shared: shared?.looks };
  const warehouse = opened.use(await openWarehouse(looks));
  const reports = { warehouse, get: cached(() => statusReport({ ...app, warehouse }), reportMs) };
  const metrics = openMetrics(reports.get, brand);
  const app: App = opened.use(await openApp(config, { log, onRequestEnd: metrics.onRequestEnd, shared }));
  if (!shared) sayLockWaits(url, log, opened);
  return { app, metrics, reports };
}

/** Logs statements of this process that wait for locks, for all brands. */
export function sayLockWaits(warehouseUrl: string, log: Logger, opened: AsyncDisposableStack): void {
  const watching = watchLockWaits(warehouseUrl, (text) => log.warn(text));
  opened.defer(() => watching.close());
}

export type Served = {
  deployment: Deployment;
  log: Logger;
  /** The Apps of the open brands; without brands, one App. */
  all(): readonly MeasuredApp[];
  /** Why each of the other brands is not served. */
  notServed(): readonly { brand: string; error: string }[];
  /** WEBHOOK_BRAND_IDS of brands that cannot be served now. Undefined: unknown, as a brand's file cannot be read. */
  idsOfOthers(): readonly number[] | undefined;
};

/** Keeps a value, but no failure, for `ttlMs`. If `make` runs longer than `ttlMs`, a later call starts another. */
export function cached<T>(make: () => Promise<T>, ttlMs: number, now = () => performance.now()): () => Promise<T> {
  let entry: { at: number; value: Promise<T> } | undefined;
  return () => {
    if (entry === undefined || now() - entry.at >= ttlMs) {
      const fresh = { at: now(), value: make() };
      entry = fresh;
      // Count from the end: if a value takes long to make, there must be a pause before the next one.
      fresh.value.then(
        () => {
          fresh.at = now();
        },
        () => {
          if (entry === fresh) entry = undefined;
        },
      );
    }
    return entry.value;
  };
}
