import { checkAlerts } from '../alerts/check-alerts.ts';
import { postAlert } from '../alerts/post-alert.ts';
import type { App } from '../app/app.ts';
import { issuesOf } from '../app/issues.ts';
import { statusReport } from '../app/status-report.ts';
import { describeError } from '../base/errors.ts';
import { repeat } from '../base/timeout.ts';

/** Failed checks in a row before alerting that warehouse or queue cannot be read. A single failure may be a restart. */
const failuresBeforeAlert = 2;

/**
 * Posts new and recovered issues to ALERT_WEBHOOK_URL as long as the process lives; undefined where that is not set. It
 * uses no queue, because a queue that is down is one of the alerts.
 *
 * Checks at once, then every `everyMs` milliseconds. Where the warehouse cannot be read, it posts that too: once per
 * process, because the warehouse cannot record that it was posted.
 */
export function startAlertWatcher(app: App, everyMs = 30_000): { close(): Promise<void> } | undefined {
  const { url } = app.config.alerts;
  if (url === undefined) return undefined;
  const { log, now } = app;
  const post = (text: string) => postAlert(url, text);
  let failures = 0;
  let queueFailures = 0;
  let isPosted = false;

  async function check(): Promise<void> {
    const report = await statusReport(app);
    queueFailures = report.queue.error === undefined ? 0 : queueFailures + 1;
    if (queueFailures > 0 && queueFailures < failuresBeforeAlert) return;
    await checkAlerts({ db: app.warehouse.db, log, now, post }, issuesOf(report));
  }

  async function attempt(): Promise<void> {
    try {
      await check();
      failures = 0;
      if (isPosted) await post('review-sync: recovered: the status can be read again');
      isPosted = false;
    } catch (error) {
      failures += 1;
      const reason = describeError(error);
      log.warn({ error: reason }, 'the status cannot be read');
      if (failures < failuresBeforeAlert || isPosted) return;
      await post(`review-sync: the status cannot be read: ${reason}\n→ review-sync doctor says what is broken`);
      isPosted = true;
    }
  }

  return repeat(everyMs, () =>
    attempt().catch((error) => log.warn({ error: describeError(error) }, 'an alert could not be sent')),
  );
}
