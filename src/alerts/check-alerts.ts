import type { Attention } from '../attention.ts';
import { durationText } from '../duration.ts';
import { describeError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { type Alert, enterAlerts, forgetAlert, markTold } from '../warehouse/alerts.ts';
import type { Db } from '../warehouse/index.ts';

export type AlertDeps = {
  db: Db;
  log: Logger;
  now: () => Date;
  /** Rejects where the message was not accepted: then it is sent again at the next check. */
  post(text: string): Promise<void>;
};

/**
 * Tells what went wrong since it was last looked, once, and what recovered, once; whichever process looks. A process that
 * dies between a message and its record may send that one again.
 */
export async function checkAlerts(deps: AlertDeps, attention: readonly Attention[]): Promise<void> {
  const { db, now } = deps;
  const wrong = attention.flatMap(({ key, isUrgent, what, mend }) =>
    isUrgent ? [{ key, message: `${what}\n→ ${mend}` }] : [],
  );
  await db.transaction().execute(async (trx) => {
    const untold = await enterAlerts(trx, wrong, now());
    for (const alert of untold?.raised ?? []) {
      if (await sent(deps, `review-sync: ${alert.message}`, alert)) await markTold(trx, alert.key, now());
    }
    for (const alert of untold?.recovered ?? []) {
      const seconds = (now().getTime() - alert.raisedAt.getTime()) / 1000;
      const [first = ''] = alert.message.split('\n');
      const text = `review-sync: recovered after ${durationText(seconds)}: ${first}`;
      if (await sent(deps, text, alert)) await forgetAlert(trx, alert.key);
    }
  });
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
