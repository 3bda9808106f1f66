import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { sleep } from '../../base/timeout.ts';
import { AuthenticationError, LimitedError } from '../review-api-errors.ts';
import type { Call, HttpResponse, Send } from './call.ts';
import { errorOf, type Outcome, outcomeOf, tokenPath } from './outcome.ts';
import { readToken } from './response-body.ts';
import { defaultRetryLimits, nextStep, type RetryLimits } from './retry-policy.ts';
import { openSend, type Timeouts } from './send.ts';
import { openSession, type SessionStore } from './session.ts';
import type { Token } from './tokens.ts';

type LogFunction = (fields: object, message: string) => void;

/**
 * The client logs requests (`debug`), retries (`info`) and holds (`warn`), without customers' data. A pino logger fits.
 */
export type ClientLog = { debug: LogFunction; info: LogFunction; warn: LogFunction };

/** A wait that stops requests. `untilMs` is milliseconds since 1970. */
export type Wait = { untilMs: number; reason: string };

/** One request that ended. `status` is undefined if there was no response; `durationMs` has no waits in it. */
export type RequestFacts = { method: string; path: string; status: number | undefined; durationMs: number };

/** Counts since the client was opened. `oldestMs`: how long a cache had kept the oldest response. */
export type ReviewApiStats = { requests: number; retries: number; oldestMs: number };

export type ReviewApiOptions = {
  /** `http(s)://host[:port][/prefix]`, with or without a trailing slash. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Requests in flight; default 8. */
  concurrency?: number | undefined;
  /**
   * Called before each request; resolves when the request may be sent. `openRateLimit` makes one. Default: no ceiling.
   */
  acquire?: ((signal?: AbortSignal) => Promise<void>) | undefined;
  /** Where token and holds are kept. Default: in memory, for this client alone. */
  session?: SessionStore | undefined;
  /** Default: silent. */
  log?: ClientLog | undefined;
  /** Milliseconds; default 10 s to connect, 60 s for the head of a response, 60 s for its body. */
  timeouts?: Partial<Timeouts> | undefined;
  /** The largest body of a response, decoded, in bytes; default 8 MiB. A larger one is a `MalformedResponseError`. */
  maxBodyBytes?: number | undefined;
  /** Default: 14 attempts and about two minutes of waiting for one request, then an error. */
  retry?: Partial<RetryLimits> | undefined;
  /** Called for each wait, with its reason and its end in milliseconds since 1970. */
  onWait?: ((wait: Wait) => void) | undefined;
  /** Called with the records of lists of reviews, and of details of reviews and orders, as they came. */
  onRecords?:
    | ((kind: 'review' | 'review_detail' | 'order' | 'sub_order', records: readonly unknown[]) => void)
    | undefined;
  /** Called after each request, retries included: for metrics. */
  onRequestEnd?: ((request: RequestFacts) => void) | undefined;
  /** Ends all calls, requests in flight included. */
  signal?: AbortSignal | undefined;
  /** The wall clock, in milliseconds since 1970. */
  now?: (() => number) | undefined;
};

const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 };

/** The largest body that is read, in bytes. A page of 100 reviews has about 140 kB. */
const defaultMaxBodyBytes = 8 * 1024 * 1024;

/** How long no request is sent with credentials that the service has refused for all, in milliseconds. */
const refusalMs = 10_000;

/** A request that was the first with so many fresh tokens, and was refused each time, ends. */
const freshTokens = 3;

/** A request that is sent again more often than this is worth a warning. */
const retriesOfNote = 2;

/**
 * One attempt. `isStored`: a cache answered a GET. `sentMs`: when it was sent, on the monotonic clock; `durationMs` has no
 * waits in it.
 */
type Attempt<T> = { outcome: Outcome<T>; isStored: boolean; sentMs: number; durationMs: number };

/** What a call has cost so far, see `AttemptState`. `askedAtMs`: when the service last asked it to wait. */
type Spent = { number: number; waitedMs: number; spentMs: number; askedAtMs: number | undefined };

/** A call ended, or waits by itself, without its slot. */
type Ended<T> = { value: T } | { delayMs: number };

/**
 * Sends calls to the review service. A call goes through this file from top to bottom:
 *
 * 1. `send`: wait for one of the slots (`concurrency`), and again after each wait of its own. A response that is a
 *    success gives the slot away before it is parsed, and is parsed in its own turn of the event loop.
 * 2. `untilWait`: send attempts until the call ends or must wait by itself, as `nextStep` in retry-policy.ts decides. A
 *    wait for which the service asked holds all requests of all processes (session.ts), and this one keeps its slot.
 * 3. `withToken`: send with the token of the session; after a 401 again with another one, after a response that a cache
 *    had stored once more.
 * 4. `attempt`: wait while requests are held, and for the request ceiling; send once (send.ts); see what the response
 *    means (outcome.ts).
 */
export function openHttpClient({
  clientId,
  clientSecret,
  concurrency = 8,
  acquire,
  log,
  onWait,
  onRequestEnd,
  signal: aborted = new AbortController().signal,
  now = Date.now,
  maxBodyBytes = defaultMaxBodyBytes,
  ...options
}: ReviewApiOptions) {
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
  const session = openSession({
    store: options.session,
    stopped,
    now,
    onWait: (forMs, reason) => reportWait('warn', forMs, reason),
  });
  const slots = pLimit(concurrency);
  const stats: ReviewApiStats = { requests: 0, retries: 0, oldestMs: 0 };
  // Repeatable: a second token does no harm (docs/interface.md, "Authentication", 1).
  const params = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const tokenCall: Call = { method: 'POST', path: tokenPath, params };
  let renewal: Promise<void> | undefined;
  let lastTurn = Promise.resolve();
  let refusal: { error: AuthenticationError; untilMs: number } | undefined;
  /** Requests whose token was accepted, and how many these were when a request was last given up. */
  let [accepted, acceptedBefore] = [0, 0];
  let hasWarned = false;
  let warnedMs = Number.NEGATIVE_INFINITY;
  /** Whether a cache asks the service when we say that we want no stored response. */
  let isObeyed = true;

  const send: Send = (call, read) => {
    const refused: Token[] = [];
    return repeat((spent) => inSlot((free) => untilWait(call, () => withToken(call, read, refused, free), spent)));
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

  async function repeat<T>(work: (spent: Spent) => Promise<Ended<T>>): Promise<T> {
    const spent: Spent = { number: 1, waitedMs: 0, spentMs: 0, askedAtMs: undefined };
    for (;;) {
      const end = await work(spent);
      if ('value' in end) return end.value;
      await sleep(end.delayMs, stopped);
    }
  }

  async function untilWait<T>(call: Call, send: () => Promise<Attempt<T>>, spent: Spent): Promise<Ended<T>> {
    for (;;) {
      const { outcome, sentMs, durationMs } = await send();
      if (outcome.kind === 'success') return { value: outcome.value };
      if (outcome.kind !== 'failure') throw errorOf(call, outcome, spent.number);
      const { failure, detail } = outcome;
      const isLimited = failure.kind === 'limited';
      if (!isLimited) spent.spentMs += durationMs;
      const { giveUpAfterMs, countsHolds, repeatable = true } = call;
      // A quota refuses some of the requests in flight. Only a request that was sent later and succeeded shows that it is no
      // quota.
      const { askedAtMs } = spent;
      const isAlone = isLimited
        ? askedAtMs !== undefined && session.hasSucceededSince(askedAtMs)
        : askedAtMs !== undefined || session.hasSucceededSince(sentMs);
      const state = { ...spent, giveUpAfterMs, countsHolds, repeatable, random: Math.random(), isAlone };
      const step = nextStep(failure, state, limits);
      if (step.action !== 'unknown-outcome') stopped.throwIfAborted();
      if (step.action !== 'repeat') throw errorOf(call, outcome, spent.number, step.action === 'unknown-outcome');
      const { pauseMs, delayMs } = step;
      if (pauseMs > 0) await session.hold(pauseMs, isLimited ? 'limited' : 'failed', sentMs);
      const why = [outcome.status, detail ?? failure.kind].filter((one) => one !== undefined).join(' ');
      const level = spent.number > retriesOfNote ? levelOnceAMinute() : 'info';
      reportWait(level, pauseMs + delayMs, `waiting to retry ${call.method} ${call.path}: ${why}`);
      stats.retries += 1;
      spent.number += 1;
      spent.waitedMs += delayMs + (isLimited ? 0 : pauseMs);
      if (pauseMs === 0 || countsHolds) spent.spentMs += pauseMs + delayMs;
      if (pauseMs === 0) return { delayMs };
      spent.askedAtMs = performance.now();
      await untilFree(call, false);
      await sleep(delayMs, stopped);
    }
  }

  async function withToken<T>(
    call: Call,
    read: (response: HttpResponse) => T,
    refused: Token[],
    free: () => void,
  ): Promise<Attempt<T>> {
    for (let isAgain = false; ; ) {
      await requireToken();
      await turn(call);
      const token = session.token();
      if (!token) continue;
      const isFirst = token.served + token.pending === 0;
      token.pending += 1;
      const sent = await attempt(call, read, token, free).finally(() => {
        token.pending -= 1;
      });
      const { outcome } = sent;
      if (outcome.kind !== 'token-refused' && outcome.status !== undefined) {
        token.served += 1;
        accepted += 1;
      }
      fitSlots();
      if (outcome.kind !== 'token-refused') {
        if (!sent.isStored || isAgain || !isObeyed) {
          if (call.method === 'GET') isObeyed = !sent.isStored;
          return sent;
        }
        isAgain = true;
        continue;
      }
      session.refuse(token);
      if (token.isOurs && isFirst) refused.push(token);
      if (refused.length < freshTokens) continue;
      // One path may keep responding with 401 although the tokens work elsewhere.
      const isForAll = accepted === acceptedBefore;
      acceptedBefore = accepted;
      if (!isForAll) return sent;
      const { status, detail } = outcome;
      throw refuseAll(new AuthenticationError({ method: call.method, path: call.path, status, detail }, true));
    }
  }

  /** If a token serves fewer requests than are in flight, more of them would only be refused. */
  function fitSlots(): void {
    const fitting = Math.min(concurrency, session.lifeInUses());
    if (fitting !== slots.concurrency) slots.concurrency = fitting;
  }

  /** For a while no other request has to find out that the service refuses the credentials. */
  function refuseAll(error: AuthenticationError): AuthenticationError {
    refusal = { error, untilMs: performance.now() + refusalMs };
    return error;
  }

  async function requireToken(): Promise<void> {
    if (session.token()) return;
    // A token that another process has obtained needs no request, and so does not wait for the end of a hold.
    await session.look();
    if (session.token()) return;
    if (refusal && refusal.untilMs > performance.now()) throw refusal.error;
    // Takes no slot: the caller holds one and would wait for itself.
    renewal ??= repeat((spent) => untilWait(tokenCall, renew, spent))
      .catch((error: unknown) => {
        throw error instanceof AuthenticationError ? refuseAll(error) : error;
      })
      .finally(() => {
        renewal = undefined;
      });
    await renewal;
  }

  async function renew(): Promise<Attempt<undefined>> {
    await turn(tokenCall);
    let sent: Attempt<unknown> = {
      outcome: { kind: 'success', value: undefined },
      isStored: false,
      sentMs: 0,
      durationMs: 0,
    };
    await session.renew(async () => {
      const got = await attempt(tokenCall, readToken);
      sent = got;
      return got.outcome.kind === 'success' ? got.outcome.value : undefined;
    });
    return sent as Attempt<undefined>;
  }

  /** Waits until the request may be sent. */
  async function turn(call: Call): Promise<void> {
    let isProbe = false;
    do {
      isProbe = await untilFree(call, call.repeatable ?? true);
      await acquire?.(stopped);
    } while (!isProbe && session.isHeld());
    stopped.throwIfAborted();
  }

  async function untilFree({ method, path }: Call, canProbe: boolean): Promise<boolean> {
    const { isProbe = false, heldUntilMs: untilMs } = await session.untilFree(limits.maxRetryAfterMs, canProbe);
    if (untilMs === undefined) return isProbe;
    // Two clocks have been read: a millisecond more proves nothing.
    const until = new Date(Math.ceil((untilMs - 1) / 1000) * 1000);
    const detail = `no request may be sent before ${until.toISOString()}`;
    throw new LimitedError({ method, path, detail });
  }

  /**
   * One response at a time is parsed in a turn of the event loop. A page of reviews takes some milliseconds, and between
   * two of them responses come in and the next requests go out.
   */
  function ownTurn(): Promise<void> {
    lastTurn = lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
    return lastTurn;
  }

  async function attempt<T>(
    call: Call,
    read: (response: HttpResponse) => T,
    token?: Token,
    free?: () => void,
  ): Promise<Attempt<T>> {
    const { reply, sentMs, durationMs } = await http.send(call, token?.value);
    stats.requests += 1;
    if (free && reply.kind === 'response' && reply.status < 300 && !reply.isStored) {
      free();
      await ownTurn();
    }
    const tokens = [token?.value, session.token()?.value, clientSecret];
    const outcome = outcomeOf(reply, call, read, { tokens, now, maxBodyBytes });
    if (outcome.kind === 'success' || outcome.kind === 'refused') await session.succeeded(sentMs);
    const { method, path } = call;
    if (reply.kind === 'response') stats.oldestMs = Math.max(stats.oldestMs, reply.ageMs);
    if (outcome.kind === 'success' && outcome.detail !== undefined && !hasWarned) {
      hasWarned = true;
      log?.warn({ method, path, text: outcome.detail }, 'the review service writes text beside its JSON');
    }
    const facts = { method, path, status: reply.kind === 'response' ? reply.status : undefined, durationMs };
    log?.debug(facts, 'request to the review service');
    onRequestEnd?.(facts);
    const isStored = call.method === 'GET' && reply.kind === 'response' && reply.isStored;
    return { outcome, isStored, sentMs, durationMs };
  }

  /** During an outage many requests are sent again and again: one line a minute is a warning. */
  function levelOnceAMinute(): 'info' | 'warn' {
    if (performance.now() - warnedMs < 60_000) return 'info';
    warnedMs = performance.now();
    return 'warn';
  }

  function reportWait(level: 'info' | 'warn', forMs: number, reason: string): void {
    const untilMs = now() + forMs;
    log?.[level]({ until: new Date(untilMs) }, reason);
    onWait?.({ untilMs, reason });
  }
}

/** The message does not quote the value: it may be a secret. */
function requireGiven(value: string, name: string): void {
  if (typeof value !== 'string' || value === '') throw new TypeError(`expected a ${name} that is not empty`);
}
