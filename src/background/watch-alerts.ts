import { randomUUID } from 'node:crypto';
import { postAlert, postIssues } from '../alerts/post-issues.ts';
import { issuesOf } from '../app/alert-rules.ts';
import type { App } from '../app/app.ts';
import { statusReport } from '../app/status-report.ts';
import { describeError } from '../base/errors.ts';
import { durationText } from '../base/time/duration.ts';
import { repeat } from '../base/timeout.ts';
import { leaveWatch, takeWatch } from '../warehouse/alerts.ts';
import { isLockedOut } from '../warehouse/index.ts';

/** Every process posts an outage of this many milliseconds, and its end: the usual poster may be down, too. */
const unheardMs = 600_000;

type WarehouseOutage = { sinceMs: number; isPosted: boolean };
const lasted = ({ sinceMs }: WarehouseOutage) => durationText((performance.now() - sinceMs) / 1000);

/**
 * Posts new and recovered issues to ALERT_WEBHOOK_URL as long as the process lives; undefined if that is not set.
 *
 * If warehouse or queue cannot be read once, that may be a restart, and is not posted. One process at a time decides: a
 * second process with other settings, another clock or an unreachable queue would post each time that the issue is
 * over, or has begun. If the warehouse cannot be used, the same process posts that.
 */
export function startAlertWatcher(app: App, everyMs = 30_000): { close(): Promise<void> } | undefined {
  const { url } = app.config.alerts;
  if (url === undefined) return undefined;
  const { log, now } = app;
  const name = app.config.brand === undefined ? 'review-sync' : `review-sync, brand ${app.config.brand}`;
  const post = (text: string) => postAlert(url, `${name}: ${text}`);
  const watcher = randomUUID();
  let isWatcher = true;
  let isQueueDown = false;
  /** Set if the warehouse could not be used at the last check. */
  let outage: WarehouseOutage | undefined;

  async function check(): Promise<void> {
    const { db } = app.warehouse;
    isWatcher = await takeWatch(db, watcher);
    if (!isWatcher) return;
    const report = await statusReport(app);
    const wasQueueDown = isQueueDown;
    isQueueDown = report.queue.error !== undefined;
    if (isQueueDown && !wasQueueDown) return;
    // The turn of this process may end in the middle of the messages.
    const postInPlace = async (text: string) => {
      if (!(await takeWatch(db, watcher))) throw new Error('another process posts alerts now');
      await post(text);
    };
    // Another process may reach ALERT_WEBHOOK_URL.
    if (!(await postIssues({ db, log, now, post: postInPlace }, issuesOf(report)))) await leaveWatch(db, watcher);
  }

  async function attempt(): Promise<void> {
    try {
      await check();
      app.warehouseOutage.worked();
    } catch (error) {
      // A lock is logged with the session that holds it, and other statements of this process go on.
      if (!isLockedOut(error)) app.warehouseOutage.failed(error);
      const isNew = outage === undefined;
      outage ??= { sinceMs: performance.now(), isPosted: false };
      const isOurs = isWatcher || performance.now() - outage.sinceMs >= unheardMs;
      if (isNew || outage.isPosted || !isOurs) return;
      const hint = 'review-sync doctor says what is broken';
      await post(`the warehouse cannot be used, for ${lasted(outage)} now: ${describeError(error)}\n→ ${hint}`);
      outage.isPosted = true;
      return;
    }
    if (outage?.isPosted) await post(`recovered after ${lasted(outage)}: the warehouse can be used again`);
    outage = undefined;
  }

  const watching = repeat(everyMs, () =>
    attempt().catch((error) => log.warn({ error: describeError(error) }, 'an alert could not be sent')),
  );
  return {
    async close() {
      await watching.close();
      await leaveWatch(app.warehouse.db, watcher).catch(() => {});
    },
  };
}
