import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { durationText } from '../base/time/duration.ts';
import { forgetAlert, noteAlert, openAlerts } from '../warehouse/alerts.ts';
import type { Db } from '../warehouse/index.ts';

/** The key prefix of issues without a posted end: a change of the service is news, and does not recover. */
export const driftKey = 'drift ';

export type AlertDeps = {
  db: Db;
  log: Logger;
  now: () => Date;
  /** Rejects if the message was not accepted. It is sent again at the next check. */
  post(text: string): Promise<void>;
};

/** Something that needs a person's attention, and the next step. `key` stays the same while `what` changes. */
export type Issue = { key: string; what: string; hint: string; isUrgent: boolean };

/**
 * Posts each new urgent issue once, and its recovery once. One process at a time calls this (`takeWatch`). If it dies
 * between a message and its record, the next one posts that message again.
 *
 * @returns false if a message was not accepted.
 */
export async function postIssues(deps: AlertDeps, issues: readonly Issue[]): Promise<boolean> {
  const { db, now } = deps;
  const urgent = issues.filter(({ isUrgent }) => isUrgent);
  const open = await openAlerts(db);
  let areSent = true;
  for (const { key, what, hint } of urgent) {
    if (open.some((alert) => alert.key === key)) continue;
    const message = `${what}\n→ ${hint}`;
    if (await isSent(deps, key, message)) await noteAlert(db, { key, message, postedAt: now() });
    else areSent = false;
  }
  for (const { key, message, postedAt } of open) {
    if (urgent.some((issue) => issue.key === key)) continue;
    const [first] = message.split('\n');
    const text = `recovered after ${durationText((now().getTime() - postedAt.getTime()) / 1000)}: ${first}`;
    if (key.startsWith(driftKey) || (await isSent(deps, key, text))) await forgetAlert(db, key);
    else areSent = false;
  }
  return areSent;
}

async function isSent({ post, log }: AlertDeps, alert: string, text: string): Promise<boolean> {
  try {
    await post(text);
    log.info({ alert }, 'alert sent');
    return true;
  } catch (error) {
    log.warn({ alert, error: describeError(error) }, 'an alert could not be sent; trying again');
    return false;
  }
}

const postTimeoutMs = 10_000;

/** Slack reads <…> as a link and <!channel> as a mention of everybody; only these three characters are special. */
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * Posts a message in Slack's format, `{ "text": … }`.
 *
 * @throws Error if the receiver does not respond with 2xx. It does not name the address, which is a secret.
 */
export async function postAlert(url: string, text: string): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: escaped(text) }),
    // A redirect could send the message anywhere.
    redirect: 'error',
    signal: AbortSignal.timeout(postTimeoutMs),
  }).catch((cause: unknown) => {
    throw new Error('ALERT_WEBHOOK_URL did not take the message', { cause });
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`ALERT_WEBHOOK_URL responded with ${response.status}, expected 2xx`);
}
