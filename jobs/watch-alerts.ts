import { checkAlerts } from '../src/alerts/check-alerts.ts';
import { postAlert } from '../src/alerts/post-alert.ts';
import { type Watching, watchAlerts } from '../src/alerts/watch-alerts.ts';
import type { App } from '../src/app.ts';
import { attentionOf } from '../src/attention.ts';
import { statusReport } from '../src/status-report.ts';

/**
 * As long as the process lives: tells ALERT_WEBHOOK_URL what is wrong. It goes through no queue, as a queue that is down is
 * among what it must tell of.
 */
export function alertsOf(app: App, everyMs = 30_000): Watching | undefined {
  const { url, ...limits } = app.config.alerts;
  if (url === undefined) return undefined;
  const { log, now } = app;
  const post = (text: string) => postAlert(url, text);
  const deps = { db: app.warehouse.db, log, now, post };
  const look = async () => checkAlerts(deps, attentionOf(await statusReport(app), limits));
  return watchAlerts(look, { everyMs, log, post });
}
