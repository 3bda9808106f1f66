import { type App, openApp } from '../app.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import { type Metrics, openMetrics } from '../metrics.ts';
import { statusReport } from '../status-report.ts';

/** An App whose requests are counted; `opened` closes it. */
export async function openMeasuredApp(
  config: Config,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<{ app: App; metrics: Metrics }> {
  const metrics = openMetrics(() => statusReport(app));
  const app: App = await openApp(config, { log, onExchange: metrics.onExchange });
  opened.defer(() => app.close());
  return { app, metrics };
}
