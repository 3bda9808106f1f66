import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import type { Send } from './call.ts';
import type { ReviewApiOptions, ReviewApiStats } from './options.ts';
import { tokenPath } from './outcome.ts';
import { type Client, reportWait, requireToken, sendCall } from './request.ts';
import { defaultRetryLimits } from './retry-policy.ts';
import { openSend, type Timeouts } from './send.ts';
import { openSession } from './session.ts';

const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 };

/** The largest body that is read, in bytes. A page of 100 reviews has about 140 kB. */
const defaultMaxBodyBytes = 8 * 1024 * 1024;

/** Opens what sends calls to the review service. The life of a call is in request.ts. */
export function openHttpClient({
  concurrency = 8,
  signal: aborted = new AbortController().signal,
  now = Date.now,
  maxBodyBytes = defaultMaxBodyBytes,
  ...options
}: ReviewApiOptions) {
  const { clientId, clientSecret } = options;
  requireGiven(clientId, 'clientId');
  requireGiven(clientSecret, 'clientSecret');
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new TypeError(`expected concurrency to be a positive integer, got ${concurrency}`);
  }
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const closing = new AbortController();
  /** Ends waits; requests in flight run on until `aborted`. */
  const stopped = AbortSignal.any([aborted, closing.signal]);
  setMaxListeners(0, aborted, stopped);
  const http = openSend({ ...options, connections: concurrency, timeouts, maxBodyBytes, aborted, now });
  const onWait = (forMs: number, reason: string) => reportWait({ options, now }, 'warn', forMs, reason);
  // Repeatable: a second token does no harm (docs/interface.md, "Authentication", 1).
  const params = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const client: Client = {
    options,
    http,
    session: openSession(options.session, { stopped, now, onWait }),
    slots: pLimit(concurrency),
    limits: { ...defaultRetryLimits, ...options.retry },
    maxBodyBytes,
    stopped,
    now,
    tokenCall: { method: 'POST', path: tokenPath, params },
    stats: { requests: 0, retries: 0, oldestMs: 0 },
    renewal: undefined,
    refusal: undefined,
    uselessTokens: 0,
    isCacheObedient: true,
    hasWarned: false,
    warnedMs: Number.NEGATIVE_INFINITY,
    lastTurn: Promise.resolve(),
  };
  const send: Send = (call, read) => sendCall(client, call, read);
  return {
    send,
    authenticate: () => requireToken(client),
    stats: (): ReviewApiStats => ({ ...client.stats }),
    close(): Promise<void> {
      closing.abort(new Error('the client of the review service was closed'));
      return http.close();
    },
  };
}

/** The message does not quote the value: it may be a secret. */
function requireGiven(value: string, name: string): void {
  if (typeof value !== 'string' || value === '') throw new TypeError(`expected a ${name} that is not empty`);
}
