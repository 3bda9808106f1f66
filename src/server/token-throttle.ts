import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../base/log.ts';

export type TokenThrottle = {
  /** A request had a wrong token for `what`. Resolves when the response may be sent; false: too many wait already. */
  wrongToken(what: string): Promise<boolean>;
};

/** Each response to a wrong token waits this long, one after the other over all connections: at most four a second. */
const delayMs = 250;
/** Responses that may wait at the same time. Further ones are sent at once, with 429. */
const mostWaiting = 50;
/** At most one log line in this time, with the number of wrong tokens since the last. */
const logEveryMs = 60_000;

/** Slows down and logs requests with a wrong token. Requests with the right token never wait. */
export function openTokenThrottle(log: Logger, now: () => number = Date.now): TokenThrottle {
  let turn: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let wrongTokens = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return {
    async wrongToken(what) {
      wrongTokens += 1;
      if (now() - loggedAt >= logEveryMs) {
        log.warn({ what, wrongTokens }, 'a request had a wrong token');
        [wrongTokens, loggedAt] = [0, now()];
      }
      if (waiting >= mostWaiting) return false;
      waiting += 1;
      turn = turn.then(() => delay(delayMs));
      await turn;
      waiting -= 1;
      return true;
    },
  };
}
