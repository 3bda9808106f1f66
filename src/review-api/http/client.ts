import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { openAttempts } from './attempt.ts';
import { openAuthorization } from './authorization.ts';
import type { Send } from './call.ts';
import type { ReviewApiOptions, ReviewApiStats } from './options.ts';
import { openRetries } from './retry.ts';
import { defaultRetryLimits } from './retry-policy.ts';
import { openSend, type Timeouts } from './send.ts';
import { openSession } from './session.ts';

const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 };

/** The largest body that is read, in bytes. A page of 100 reviews has about 140 kB. */
const defaultMaxBodyBytes = 8 * 1024 * 1024;

/**
 * Sends calls to the review service. A call goes through these files:
 *
 * 1. Here: wait for one of the slots (`concurrency`), and again after each wait of its own.
 * 2. retry.ts: send attempts until the call ends or must wait by itself. A wait for which the service asked holds all
 *    requests of all processes (holds.ts); after a 429 this one keeps its slot.
 * 3. authorization.ts: send with the token of the session (tokens.ts); after a 401 again with another one, after a response
 *    that a cache had stored once more.
 * 4. attempt.ts: send once (send.ts); see what the response means (outcome.ts).
 */
export function openHttpClient({
  concurrency = 8,
  acquire,
  log,
  signal: aborted = new AbortController().signal,
  now = Date.now,
  maxBodyBytes = defaultMaxBodyBytes,
  ...options
}: ReviewApiOptions) {
  const { clientId, clientSecret, onRequestEnd } = options;
  requireGiven(clientId, 'clientId');
  requireGiven(clientSecret, 'clientSecret');
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new TypeError(`expected concurrency to be a positive integer, got ${concurrency}`);
  }
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const limits = { ...defaultRetryLimits, ...options.retry };
  const closing = new AbortController();
  /** Ends waits; requests in flight run on until `aborted`. */
  const stopped = AbortSignal.any([aborted, closing.signal]);
  setMaxListeners(0, aborted, stopped);
  const http = openSend({ ...options, connections: concurrency, timeouts, maxBodyBytes, aborted, now });
  const onWait = (forMs: number, reason: string) => reportWait('warn', forMs, reason);
  const session = openSession({ store: options.session, stopped, now, onWait });
  const slots = pLimit(concurrency);
  const stats: ReviewApiStats = { requests: 0, retries: 0, oldestMs: 0 };
  const retries = openRetries({ session, limits, stopped, acquire, stats, reportWait });
  const attempt = openAttempts({ http, session, clientSecret, now, maxBodyBytes, log, onRequestEnd, stats });
  const fitSlots = (uses: number) => {
    const fitting = Math.min(concurrency, uses);
    if (fitting !== slots.concurrency) slots.concurrency = fitting;
  };
  const { requireToken, openCall } = openAuthorization({ clientId, clientSecret, session, retries, attempt, fitSlots });

  const send: Send = (call, read) => {
    const sendOnce = openCall(call, read);
    return retries.repeat((spent) => inSlot((free) => retries.untilWait(call, () => sendOnce(free), spent)));
  };

  return {
    send,
    authenticate: requireToken,
    stats: (): ReviewApiStats => ({ ...stats }),
    close(): Promise<void> {
      closing.abort(new Error('the client of the review service was closed'));
      return http.close();
    },
  };

  /** Works in a slot, as soon as one is free. @param work calls `free` to give its slot to the next call before it ends. */
  function inSlot<T>(work: (free: () => void) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      void slots(() => new Promise<void>((free) => work(free).then(resolve, reject).finally(free)));
    });
  }

  function reportWait(level: 'info' | 'warn', forMs: number, reason: string): void {
    const untilMs = now() + forMs;
    log?.[level]({ until: new Date(untilMs) }, reason);
    options.onWait?.({ untilMs, reason });
  }
}

/** The message does not quote the value: it may be a secret. */
function requireGiven(value: string, name: string): void {
  if (typeof value !== 'string' || value === '') throw new TypeError(`expected a ${name} that is not empty`);
}
