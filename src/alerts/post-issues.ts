import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { durationText } from '../base/time/duration.ts';
import { type Alert, enterAlerts, forgetAlert, markPosted } from '../warehouse/alerts.ts';
import { type Db, isLockedOut } from '../warehouse/index.ts';

/** Keys of issues that are posted once, and whose end is not. */
export const driftKey = 'drift ';

export type AlertDeps = {
  db: Db;
  log: Logger;
  now: () => Date;
  /** Rejects if the message was not accepted: then it is sent again at the next check. */
  post(text: string): Promise<void>;
};

/**
 * Something that needs a person's attention, and the next step. `key` identifies the issue: it stays the same while `what`
 * changes. `isUrgent`: the issue is posted to ALERT_WEBHOOK_URL.
 */
export type Issue = { key: string; what: string; hint: string; isUrgent: boolean };

/**
 * Posts each new urgent issue once, and its recovery once, across all processes. A process that dies between a message
 * and its record may post that message again.
 *
 * @returns false if a message was not accepted.
 */
export async function postIssues(deps: AlertDeps, issues: readonly Issue[]): Promise<boolean> {
  const { db, now } = deps;
  const urgent = issues.flatMap(({ key, isUrgent, what, hint }) =>
    isUrgent ? [{ key, message: `${what}\n→ ${hint}` }] : [],
  );
  let areSent = true;
  const posting = db.transaction().execute(async (trx) => {
    const due = await enterAlerts(trx, urgent, now());
    for (const alert of due.raised) {
      if (await sent(deps, alert.message, alert)) await markPosted(trx, alert.key, now());
      else areSent = false;
    }
    for (const alert of due.recovered) {
      // A change of the service is news, and does not recover.
      if (alert.key.startsWith(driftKey)) {
        await forgetAlert(trx, alert.key);
        continue;
      }
      const seconds = (now().getTime() - alert.raisedAt.getTime()) / 1000;
      const [first = ''] = alert.message.split('\n');
      const text = `recovered after ${durationText(seconds)}: ${first}`;
      if (await sent(deps, text, alert)) await forgetAlert(trx, alert.key);
      else areSent = false;
    }
  });
  await posting.catch((error: unknown) => {
    // Another process is at it.
    if (!isLockedOut(error)) throw error;
  });
  return areSent;
}

async function sent({ post, log }: AlertDeps, text: string, { key }: Alert): Promise<boolean> {
  try {
    await post(text);
    log.info({ alert: key }, 'alert sent');
    return true;
  } catch (error) {
    log.warn({ alert: key, error: describeError(error) }, 'an alert could not be sent; trying again');
    return false;
  }
}
