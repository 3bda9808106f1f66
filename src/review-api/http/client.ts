import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { sleep } from '../../base/timeout.ts';
import { AuthenticationError } from '../review-api-errors.ts';
import type { Call, HttpResponse, Send } from './call.ts';
import { readToken } from './decode.ts';
import type { ReviewApiOptions, ReviewApiStats } from './options.ts';
import { errorOf, type Outcome, outcomeOf, tokenPath } from './outcome.ts';
import { defaultRetryLimits, type Failure, isUnknown, nextWait, type Spent } from './retry-policy.ts';
import { openSend, type Timeouts } from './send.ts';
import {
  hold,
  isHeld,
  look,
  type OpenSession,
  openSession,
  probed,
  renewToken,
  succeeded,
  type Token,
  untilFree,
  validToken,
} from './session.ts';

const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 };

/** The largest body that is read, in bytes. A page of 100 reviews has about 140 kB. */
const defaultMaxBodyBytes = 8 * 1024 * 1024;

/**
 * Opens what sends calls to the review service. The life of a call:
 *
 * 1. `sendCall`: it waits for a slot, again before each attempt.
 * 2. `authorized`: it needs a token, and keeps its slot while one is obtained, also after a 401.
 * 3. `inTurn`: it waits for the end of a hold, and for the ceiling of requests per second.
 * 4. `attempt`: it is sent once (send.ts), and its response is read (outcome.ts).
 * 5. `waitAfter`: after a failure it ends, or waits (retry-policy.ts), alone or with all other requests, and goes on with 1.
 */
export function openHttpClient(options: ReviewApiOptions) {
  const { concurrency = 8, signal: aborted = new AbortController().signal } = options;
  requireGiven(options.clientId, 'clientId');
  requireGiven(options.clientSecret, 'clientSecret');
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new TypeError(`expected concurrency to be a positive integer, got ${concurrency}`);
  }
  const closing = new AbortController();
  const client = newClient(options, concurrency, aborted, closing.signal);
  const send: Send = (call, read) => sendCall(client, call, read);
  return {
    send,
    authenticate: () => requireToken(client),
    stats: (): ReviewApiStats => ({ ...client.stats }),
    close(): Promise<void> {
      closing.abort(new Error('the client of the review service was closed'));
      return client.http.close();
    },
  };
}

/** The message does not quote the value: it may be a secret. */
function requireGiven(value: string, name: string): void {
  if (typeof value !== 'string' || value === '') throw new TypeError(`expected a ${name} that is not empty`);
}

type Client = ReturnType<typeof newClient>;

/** What the requests of one client share. */
function newClient(options: ReviewApiOptions, slots: number, aborted: AbortSignal, closing: AbortSignal) {
  const { clientId, clientSecret, now = Date.now, maxBodyBytes = defaultMaxBodyBytes } = options;
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  /** Ends waits; requests in flight run on until `aborted`. */
  const stopped = AbortSignal.any([aborted, closing]);
  setMaxListeners(0, aborted, stopped);
  const onWait = (forMs: number, reason: string) => reportWait({ options, now }, 'warn', forMs, reason);
  // Repeatable: a second token does no harm (docs/interface.md, "Authentication", 1).
  const params = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const tokenCall: Call = { method: 'POST', path: tokenPath, params };
  const stats: ReviewApiStats = { requests: 0, retries: 0, oldestMs: 0 };
  return {
    options,
    now,
    stopped,
    tokenCall,
    stats,
    http: openSend({ baseUrl: options.baseUrl, slots, timeouts, maxBodyBytes, aborted, now }),
    session: openSession(options.session, { stopped, now, onWait }),
    slots: pLimit(slots),
    /** Calls that have begun and not ended, without those for a token. */
    calls: 0,
    limits: { ...defaultRetryLimits, ...options.retry },
    /** A token is being obtained. */
    renewal: undefined as Promise<unknown> | undefined,
    /** The service refuses the credentials for all requests. `untilMs`: when another request finds out again. */
    refusal: undefined as { error: AuthenticationError; untilMs: number } | undefined,
    /** How many fresh tokens in a row the service refused at first use. */
    uselessTokens: 0,
    /** Whether a cache asks the service when we say that we want no stored response. */
    isCacheObedient: true,
    /** Whether the log has said that the service writes text beside its JSON. */
    hasWarned: false,
    /** When the log last had a line of this level about a retry. */
    saidMs: { info: Number.NEGATIVE_INFINITY, warn: Number.NEGATIVE_INFINITY },
    /** The turn of the response that is parsed next. */
    lastTurn: Promise.resolve(),
  };
}

/**
 * One attempt. `isStored`: a cache answered a GET. `sentMs`: when it was sent, on the monotonic clock; `durationMs` has no
 * waits in it.
 */
type Attempt<T> = { outcome: Outcome<T>; isStored: boolean; sentMs: number; durationMs: number };

/**
 * What a call has been through. `askedAtMs`: when the service last asked it to wait. `hasFailed`: it did so beside a
 * failure, so that another call must show whether the service is up.
 */
type Life = Spent & { askedAtMs: number | undefined; hasFailed: boolean };

const newLife = (): Life => ({ number: 1, waitedMs: 0, spentMs: 0, askedAtMs: undefined, hasFailed: false });

/** How long no request is sent with credentials that the service has refused for all, in milliseconds. */
const refusalMs = 10_000;

/** If so many fresh tokens in a row are refused at first use, the service refuses the credentials. */
const freshTokens = 3;

/** A request that is sent again more often than this is worth a warning. */
const retriesOfNote = 2;

/** Shows whether the service accepts a token, or any request. */
const proofCall: Call = { method: 'GET', path: '/v1/reviews/overview' };

/** Sends a call, with retries. */
async function sendCall<T>(client: Client, call: Call, read: (response: HttpResponse) => T): Promise<T> {
  const life = newLife();
  client.calls += 1;
  try {
    return await untilEnd(client, call, life, () =>
      inSlot(client, (free) => authorized(client, call, read, { life, free })),
    );
  } finally {
    client.calls -= 1;
  }
}

/** Obtains a token, unless there is one. @throws AuthenticationError if the service refuses the credentials. */
async function requireToken(client: Client): Promise<void> {
  const { session, tokenCall, refusal } = client;
  if (validToken(session)) return;
  // A token that another process has obtained needs no request, and so does not wait for the end of a hold.
  await look(session);
  if (validToken(session)) return;
  if (refusal && refusal.untilMs > performance.now()) throw refusal.error;
  const life = newLife();
  // Takes no slot: the caller holds one and would wait for itself.
  client.renewal ??= untilEnd(client, tokenCall, life, () => inTurn(client, tokenCall, life, () => renew(client)))
    .catch((error: unknown) => {
      throw error instanceof AuthenticationError ? refuseAll(client, error) : error;
    })
    .finally(() => {
      client.renewal = undefined;
    });
  await client.renewal;
}

async function renew(client: Client): Promise<Attempt<unknown>> {
  let sent: Attempt<ReturnType<typeof readToken>> | undefined;
  await renewToken(client.session, async () => {
    sent = await attempt(client, client.tokenCall, readToken);
    return sent.outcome.kind === 'success' ? sent.outcome.value : undefined;
  });
  // Another process has obtained one.
  return sent ?? { outcome: { kind: 'success', value: undefined }, isStored: false, sentMs: 0, durationMs: 0 };
}

/** For a while no other request has to find out that the service refuses the credentials. */
function refuseAll(client: Client, error: AuthenticationError): AuthenticationError {
  client.refusal = { error, untilMs: performance.now() + refusalMs };
  return error;
}

/** Sends attempts until the call ends. */
async function untilEnd<T>(client: Client, call: Call, life: Life, send: () => Promise<Attempt<T>>): Promise<T> {
  for (;;) {
    const { outcome, ...at } = await send();
    if (outcome.kind === 'success') return outcome.value;
    if (outcome.kind === 'refused' || outcome.kind === 'token-refused') throw errorOf(call, outcome, life.number);
    await waitAfter(client, call, life, { outcome, ...at });
  }
}

/** Works in a slot, as soon as one is free. @param work calls `free` to give its slot to the next call before it ends. */
function inSlot<T>({ slots }: Client, work: (free: () => void) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    void slots(() => new Promise<void>((free) => work(free).then(resolve, reject).finally(free)));
  });
}

/** Sends the call with a token; after a 401 again with another one, after a response that a cache had stored once more. */
async function authorized<T>(
  client: Client,
  call: Call,
  read: (response: HttpResponse) => T,
  { life, free }: { life: Life; free: () => void },
): Promise<Attempt<T>> {
  for (let isAgain = false; ; ) {
    await requireToken(client);
    const sent = await inTurn(client, call, life, async () => {
      const token = validToken(client.session);
      if (!token) return undefined;
      const isFirst = token.isOurs && token.uses === 0;
      return { token, isFirst, ...(await attempt(client, call, read, { token, free })) };
    });
    if (!sent) continue;
    if (sent.outcome.kind === 'token-refused') {
      const end = sent.isFirst ? await prove(client, call, sent, { life, token: sent.token }) : undefined;
      if (end) return end;
      sent.token.isRefused = true;
    } else if (sent.isStored && !isAgain && client.isCacheObedient) isAgain = true;
    else {
      if (call.method === 'GET') client.isCacheObedient = !sent.isStored;
      return sent;
    }
  }
}

/**
 * Requests the overview with a fresh token that the service has refused for a call.
 *
 * @returns `sent` if the service refuses this call alone. A failure if it shows nothing: the call waits as after one of its
 *   own. Undefined if the service refuses the token there, too.
 * @throws AuthenticationError if the service refuses the credentials for all requests.
 */
async function prove<T>(
  client: Client,
  call: Call,
  sent: Attempt<T>,
  { life, token }: { life: Life; token: Token },
): Promise<Attempt<T> | undefined> {
  const send = () => attempt(client, proofCall, () => undefined, { token });
  const { outcome, ...at } = await inTurn(client, proofCall, life, send);
  if (outcome.kind === 'success' || outcome.kind === 'refused') return sent;
  // A call that was refused has changed nothing: the failure of another request must not make its outcome unknown.
  if (outcome.kind !== 'token-refused') return isUnknown(outcome, call) ? sent : { outcome, ...at };
  client.uselessTokens += 1;
  if (client.uselessTokens < freshTokens) return undefined;
  const { method, path } = call;
  const { status, detail } = sent.outcome;
  throw refuseAll(client, new AuthenticationError({ method, path, status, detail }, true));
}

/** Sends an attempt as soon as it may be sent. */
async function inTurn<Sent extends Attempt<unknown> | undefined>(
  client: Client,
  call: Call,
  { hasFailed }: Life,
  send: () => Promise<Sent>,
): Promise<Sent> {
  const { session, stopped, limits, options } = client;
  let isProbe = false;
  let sent: Sent | undefined;
  try {
    do {
      isProbe = await untilFree(session, call, limits.maxRetryAfterMs, !hasFailed);
      await options.acquire?.(stopped);
      if (isProbe && call.repeatable === false) {
        isProbe = false;
        await probeInstead(client);
      }
    } while (!isProbe && isHeld(session));
    stopped.throwIfAborted();
    sent = await send();
    return sent;
  } finally {
    if (isProbe) probed(session, showsService(call, sent?.outcome));
  }
}

/**
 * Requests the overview as the probe of a hold, in place of a call that must not be sent while nobody knows whether the
 * service is up. Such calls may have all slots.
 */
async function probeInstead(client: Client): Promise<void> {
  const token = validToken(client.session);
  if (token) await attempt(client, proofCall, () => undefined, { token });
  probed(client.session, true);
}

/** Whether the outcome of a request shows how the service is. A token does not. */
const showsService = ({ path }: Call, outcome: Outcome<unknown> | undefined): boolean =>
  outcome !== undefined && path !== tokenPath && !['token-refused', 'lost', 'unsent'].includes(outcome.kind);

/**
 * Sends the call once, sees what the response means, and reports the request.
 *
 * @param free gives the slot to the next call: a success does so before it is parsed.
 */
async function attempt<T>(
  client: Client,
  call: Call,
  read: (response: HttpResponse) => T,
  { token, free }: { token?: Token; free?: () => void } = {},
): Promise<Attempt<T>> {
  const { session, stats, options } = client;
  if (token) token.uses += 1;
  const { reply, sentMs, durationMs } = await client.http.send(call, token?.value);
  stats.requests += 1;
  const response = reply.kind === 'response' ? reply : undefined;
  if (free && response && response.status < 300 && !response.isStored) {
    free();
    await ownTurn(client);
  }
  const secrets = [token?.value, session.token?.value, options.clientSecret];
  const outcome = outcomeOf(reply, call, read, { secrets, now: client.now });
  if (token && outcome.kind === 'token-refused') token.uses -= 1;
  else if (token && response) client.uselessTokens = 0;
  // Not for the token: it says nothing about records, and is obtained within a change, for which `succeeded` would wait.
  const isCarriedOut = outcome.kind === 'success' || outcome.kind === 'refused';
  if (isCarriedOut && call.path !== tokenPath) await succeeded(session, sentMs);
  stats.oldestMs = Math.max(stats.oldestMs, response?.ageMs ?? 0);
  report(client, call, outcome, durationMs);
  return { outcome, isStored: call.method === 'GET' && response?.isStored === true, sentMs, durationMs };
}

/**
 * One response at a time is parsed in a turn of the event loop. A page of reviews takes some milliseconds, and between
 * two of them responses come in and the next requests go out: 800 pages in 6.4 to 6.7 s instead of 7.6 to 8.1 s.
 */
function ownTurn(client: Client): Promise<void> {
  client.lastTurn = client.lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
  return client.lastTurn;
}

function report(client: Client, { method, path }: Call, outcome: Outcome<unknown>, durationMs: number): void {
  const { log, onRequestEnd } = client.options;
  if (outcome.kind === 'success' && outcome.detail !== undefined && !client.hasWarned) {
    client.hasWarned = true;
    log?.warn({ method, path, text: outcome.detail }, 'the review service writes text beside its JSON');
  }
  const facts = { method, path, status: outcome.status, durationMs };
  log?.debug(facts, 'request to the review service');
  onRequestEnd?.(facts);
}

/** Waits before the next attempt of the call, without a slot. @throws the error of the call if there is none. */
async function waitAfter(
  client: Client,
  call: Call,
  life: Life,
  { outcome, sentMs, durationMs }: Omit<Attempt<never>, 'outcome'> & { outcome: Outcome<never> & Failure },
): Promise<void> {
  const { session, stopped, limits, stats } = client;
  const isLimited = outcome.kind === 'limited';
  if (!isLimited) life.spentMs += durationMs;
  const asksToWait = isLimited || (outcome.kind === 'failed' && outcome.retryAfterMs !== undefined);
  if (asksToWait && isUnclear(client, call, isLimited ? life.askedAtMs : sentMs))
    await inSlot(client, (free) => authorized(client, proofCall, () => undefined, { life: newLife(), free }));
  const state = { ...call, ...life, random: Math.random(), isAlone: isAlone(session, life, isLimited, sentMs) };
  const wait = nextWait(outcome, state, limits);
  if (!isUnknown(outcome, call)) stopped.throwIfAborted();
  if (!wait) throw errorOf(call, outcome, life.number);
  const { pauseMs, delayMs } = wait;
  if (pauseMs > 0) await hold(session, pauseMs, isLimited ? 'limited' : 'failed', sentMs);
  const why = [outcome.status, outcome.detail ?? outcome.kind].filter((one) => one !== undefined).join(' ');
  const level = onceAMinute(client, life.number > retriesOfNote ? 'warn' : 'info');
  reportWait(client, level, pauseMs + delayMs, `waiting to retry ${call.method} ${call.path}: ${why}`);
  stats.retries += 1;
  life.number += 1;
  life.waitedMs += delayMs + (isLimited ? 0 : pauseMs);
  if (pauseMs === 0 || call.countsHolds) life.spentMs += pauseMs + delayMs;
  if (pauseMs > 0) {
    life.askedAtMs = performance.now();
    life.hasFailed ||= !isLimited;
    await untilFree(session, call, limits.maxRetryAfterMs, false);
  }
  await sleep(delayMs, stopped);
}

/**
 * Whether only this request is refused. After a 429: another one, sent after this call was first asked to wait, was carried
 * out. After another failure: this call was asked to wait before, or a later request was carried out.
 */
function isAlone({ succeededMs }: OpenSession, { askedAtMs }: Life, isLimited: boolean, sentMs: number): boolean {
  if (isLimited) return askedAtMs !== undefined && succeededMs > askedAtMs;
  return askedAtMs !== undefined || succeededMs > sentMs;
}

/**
 * Whether no other call shows that the service is full, or refuses this call alone: after a second 429, or another failure
 * that names a wait.
 *
 * @param sinceMs when this call was asked to wait, or sent.
 */
const isUnclear = ({ calls, session }: Client, { giveUpAfterMs, countsHolds }: Call, sinceMs: number | undefined) =>
  calls === 1 && giveUpAfterMs !== undefined && !countsHolds && sinceMs !== undefined && session.succeededMs <= sinceMs;

/** During an outage hundreds of requests are sent again and again: of each level the log has one line a minute. */
function onceAMinute({ saidMs }: Client, level: 'info' | 'warn'): 'debug' | 'info' | 'warn' {
  if (performance.now() - saidMs[level] < 60_000) return 'debug';
  saidMs[level] = performance.now();
  return level;
}

function reportWait(
  { options, now }: Pick<Client, 'options' | 'now'>,
  level: 'debug' | 'info' | 'warn',
  forMs: number,
  reason: string,
): void {
  const untilMs = now() + forMs;
  options.log?.[level]({ until: new Date(untilMs) }, reason);
  options.onWait?.({ untilMs, reason });
}
