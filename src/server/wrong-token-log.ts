import type { Logger } from '../base/log.ts';

/** Logs that a request had a wrong token for `what`. */
export type LogWrongToken = (what: string) => void;

/** At most one line in this time, with the number of wrong tokens since the last. */
const everyMs = 60_000;

export function openWrongTokenLog(log: Logger, now: () => number = Date.now): LogWrongToken {
  let wrongTokens = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (what) => {
    wrongTokens += 1;
    if (now() - loggedAt < everyMs) return;
    log.warn({ what, wrongTokens }, 'a request had a wrong token');
    [wrongTokens, loggedAt] = [0, now()];
  };
}
