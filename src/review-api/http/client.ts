import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { sleep, withTimeout } from '../../base/timeout.ts';
import { AuthenticationError, type ReviewApiError } from '../review-api-errors.ts';
import { type Call, type HttpResponse, type Send, tokenPath } from './call.ts';
import { readToken } from './decode.ts';
import { type ReviewApiOptions, type ReviewApiStats, settingsOf } from './options.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import * as policy from './retry-policy.ts';
import { openSend } from './send.ts';
import { hold, isHeld, look, openSession, renewToken, type Token, untilFree, validToken } from './session.ts';

/**
 * Opens the sender of calls to the review service. The life of a call:
 *
 * 1. `inSlot`: the call waits for a slot, again before each attempt.
 * 2. `authorized`: the call gets a token. It keeps its slot while a token is obtained, also after a 401.
 * 3. `inTurn`: the call waits for the end of a hold, and for the ceiling of requests per second.
 * 4. `attempt`: the call is sent once (send.ts), and its response is read (outcome.ts).
 * 5. `waitAfter`: after a failure the call ends, or waits, alone (retry-policy.ts) or with all, and goes on with 1.
 */
export function openHttpClient(options: ReviewApiOptions) {
  const client = newClient(options);
  const send: Send = (call, read) =>
    untilEnd(client, call, () => inSlot(client, (free) => authorized(client, call, read, free)));
  return {
    send,
    authenticate: () => requireToken(client),
    stats: (): ReviewApiStats => ({ ...client.stats }),
    close(): Promise<void> {
      client.closing.abort(new Error('the client of the review service was closed'));
      return client.http.close();
    },
  };
}

type Client = ReturnType<typeof newClient>;

/** The shared state of a client's requests. */
function newClient(options: ReviewApiOptions) {
  const settings = settingsOf(options);
  const { clientId, clientSecret, concurrency, signal, log, now } = settings;
  // The message does not quote the value: it may be a secret.
  for (const name of ['clientId', 'clientSecret'] as const)
    if (typeof settings[name] !== 'string' || !settings[name])
      throw new TypeError(`expected a ${name} that is not empty`);
  if (!Number.isSafeInteger(concurrency) || concurrency < 1)
    throw new TypeError(`expected concurrency to be a positive integer, got ${concurrency}`);
  const closing = new AbortController();
  /** Ends waits. Requests in flight go on until `signal` aborts. */
  const stopped = AbortSignal.any([signal, closing.signal]);
  setMaxListeners(0, signal, stopped);
  const onWait = (forMs: number, reason: string, level: 'debug' | 'info' | 'warn' = 'warn') => {
    const untilMs = now() + forMs;
    log?.[level]({ until: new Date(untilMs) }, reason);
    settings.onWait?.({ untilMs, reason });
  };
  // The call is repeatable: a second token does no harm (docs/interface.md, "Authentication", 1).
  const params = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const tokenCall: Call = { method: 'POST', path: tokenPath, params };
  return {
    ...settings,
    closing,
    stopped,
    onWait,
    tokenCall,
    stats: { requests: 0, retries: 0, oldestMs: 0 },
    http: openSend(settings),
    session: openSession(settings.session, { stopped, now, onWait }),
    /** `waiting`: the starts of calls that wait for a slot, the first first. */
    slots: { free: concurrency, waiting: [] as (() => void)[] },
    limits: policy.limitsOf(settings.retry),
    /** A request for the overview that shows whether all requests must wait. Only one is sent at a time. */
    question: undefined as Promise<boolean> | undefined,
    /** A token is being obtained. */
    renewal: undefined as Promise<unknown> | undefined,
    /** The service refuses credentials and token for all requests. `untilMs`: when a request may try again. */
    refusal: undefined as { error: AuthenticationError; untilMs: number; token: Token | undefined } | undefined,
    /** How many fresh tokens in a row the service refused at first use. */
    uselessTokens: 0,
    /** Whether caches obey `cache-control: no-cache`: false if one served the last GET. */
    isCacheObedient: true,
    /** Whether the log has warned that the service writes text around its JSON. */
    hasWarned: false,
    /** When the log last had a line about a retry, by level. */
    saidMs: { info: Number.NEGATIVE_INFINITY, warn: Number.NEGATIVE_INFINITY },
    /** Resolves when the next response may be parsed. */
    lastTurn: Promise.resolve(),
  };
}

/**
 * One attempt. `isStored`: a cache served a GET. `durationMs` excludes waits. `isFirstUse`: this process obtained the
 * token, and had not used it before.
 */
type Attempt<T> = {
  outcome: Outcome<T>;
  isStored: boolean;
  durationMs: number;
  token?: Token | undefined;
  isFirstUse?: boolean | undefined;
};

/** The cost of a call so far. `spentMs`: failed attempts other than a 429, and the waits of this request alone. */
type Spent = { attempts: number; spentMs: number; hasHeld: boolean };

/** If the service refuses the credentials for all requests, no token is requested for this many milliseconds. */
const refusalMs = 10_000;

/** If this many fresh tokens in a row are refused at first use, the service refuses the credentials. */
const freshTokens = 3;

/** A request without a response for this many milliseconds is reported, as a wait until its time limit of a minute. */
const silentMs = 15_000;

/** Shows whether the service refuses a token, or asks to wait, for one request or for all. */
const proofCall: Call = { method: 'GET', path: '/v1/reviews/overview' };

/** How long all requests wait for `proofCall`, in milliseconds: if only the overview hangs, others must go on. */
const proofMs = 3000;

/** Obtains a token, unless there is one. @throws AuthenticationError if the service refuses the credentials. */
async function requireToken(client: Client): Promise<void> {
  const { session, tokenCall } = client;
  const refusal = client.refusal && client.refusal.untilMs > performance.now() ? client.refusal : undefined;
  const isThere = () => validToken(session) !== undefined && session.token !== refusal?.token;
  if (isThere()) return;
  // If another process has obtained a token, no request is needed, and nothing waits for the end of a hold.
  await look(session);
  if (isThere()) return;
  if (refusal) throw refusal.error;
  // Takes no slot: the caller holds one and would wait for itself.
  const renewed = () => inTurn(client, tokenCall, () => renew(client));
  client.renewal ??= untilEnd(client, tokenCall, renewed).finally(() => {
    client.renewal = undefined;
  });
  await client.renewal;
}

async function renew(client: Client): Promise<Attempt<unknown>> {
  // If no request is sent, another process has obtained a token.
  let sent: Attempt<unknown> = { outcome: { kind: 'success', status: 200, value: 0 }, isStored: false, durationMs: 0 };
  await renewToken(client.session, async () => {
    const { outcome, ...at } = await attempt(client, client.tokenCall, readToken);
    sent = { outcome, ...at };
    return outcome.kind === 'success' ? outcome.value : undefined;
  });
  return sent;
}

/** If the service refuses the credentials for all, requests fail unsent for a while, unless there is a new token. */
function noted(client: Client, error: ReviewApiError): ReviewApiError {
  if (error instanceof AuthenticationError && error.isForAll)
    client.refusal = { error, untilMs: performance.now() + refusalMs, token: client.session.token };
  return error;
}

/** Sends attempts until the call ends. */
async function untilEnd<T>(client: Client, call: Call, send: () => Promise<Attempt<T>>): Promise<T> {
  for (const spent: Spent = { attempts: 1, spentMs: 0, hasHeld: false }; ; spent.attempts += 1) {
    const { outcome, durationMs } = await send();
    if (outcome.kind === 'success') return outcome.value;
    if (outcome.kind !== 'limited') spent.spentMs += durationMs;
    await waitAfter(client, call, outcome, spent);
  }
}

/** Works in a slot, as soon as one is free. @param work may call `free` to give its slot away before it ends. */
async function inSlot<T>({ slots }: Client, work: (free: () => void) => Promise<T>): Promise<T> {
  if (slots.free > 0) slots.free -= 1;
  else await new Promise<void>((start) => void slots.waiting.push(start));
  let hasSlot = true;
  const free = () => {
    if (!hasSlot) return;
    hasSlot = false;
    const next = slots.waiting.shift();
    if (next) next();
    else slots.free += 1;
  };
  try {
    return await work(free);
  } finally {
    free();
  }
}

/** Sends the call with a token; after a 401 again with another token, and after a stored response once more. */
async function authorized<T>(
  client: Client,
  call: Call,
  read: (response: HttpResponse) => T,
  free: () => void,
): Promise<Attempt<T>> {
  for (let isAgain = false; ; ) {
    await requireToken(client);
    const sent = await inTurn(client, call, () => {
      const token = validToken(client.session);
      return token && attempt(client, call, read, token, free);
    });
    if (!sent) continue;
    if (sent.outcome.kind === 'token-refused' && sent.token) {
      const end = sent.isFirstUse ? await prove(client, call, sent, sent.outcome) : undefined;
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
 * @returns `sent` if the service refuses this call alone. A failure if the overview fails: the call waits as after its
 *   own failure. Undefined if the service refuses the token for the overview, too.
 * @throws AuthenticationError if the service refuses the credentials for all requests.
 */
async function prove<T>(
  client: Client,
  call: Call,
  sent: Attempt<T>,
  refused: policy.Failure,
): Promise<Attempt<T> | undefined> {
  const { outcome, ...at } = await inTurn(client, proofCall, () => attempt(client, proofCall, () => {}, sent.token));
  if (outcome.kind === 'success' || outcome.kind === 'refused') return sent;
  // The refused call has changed nothing. A failure of the overview must not make the outcome of the call unknown.
  if (outcome.kind !== 'token-refused') return policy.isUnknown(outcome, call) ? sent : { outcome, ...at };
  client.uselessTokens += 1;
  if (client.uselessTokens < freshTokens) return undefined;
  const { method, path } = call;
  throw noted(client, new AuthenticationError({ method, path, ...refused }, true));
}

/** Sends an attempt as soon as it may be sent. */
async function inTurn<Sent>(client: Client, call: Call, send: () => Sent | Promise<Sent>): Promise<Sent> {
  const { session, stopped, limits } = client;
  // In a process that starts, this takes a second. A hold that begins meanwhile holds its first requests, too.
  await client.http.open();
  do {
    if (client.question) await client.question.catch(() => {});
    await untilFree(session, call, limits.maxRetryAfterMs);
    if (client.acquire) await client.acquire(stopped);
  } while (client.question || isHeld(session));
  stopped.throwIfAborted();
  return send();
}

/**
 * Sends the call once, classifies the response, and reports the request.
 *
 * @param free gives the slot to the next call. After a success, it is called before the response is parsed.
 */
async function attempt<T>(
  client: Client,
  call: Call,
  read: (response: HttpResponse) => T,
  token?: Token,
  free?: () => void,
): Promise<Attempt<T>> {
  const { session, stats, log, now } = client;
  const isFirstUse = token?.isOurs && token.uses === 0;
  if (token) token.uses += 1;
  const { method, path } = call;
  const silence = setTimeout(() => {
    const reason = `${method} ${path} has no response after ${silentMs / 1000} s`;
    client.onWait(client.timeoutMs - silentMs, reason, onceAMinute(client, 'info'));
  }, silentMs);
  const { reply, durationMs } = await client.http.send(call, token?.value).finally(() => clearTimeout(silence));
  stats.requests += 1;
  const response = reply.kind === 'response' ? reply : undefined;
  if (free && response && response.status < 300 && !response.isStored) {
    free();
    // A turn of the event loop parses one page, so requests go out between pages: 800 pages in 6.6 s, not 7.8 s.
    if (response.bytes.length > 10_000) client.lastTurn = client.lastTurn.then(() => setImmediate());
    await client.lastTurn;
  }
  const secrets = [token?.value, session.token?.value, client.clientSecret];
  const outcome = outcomeOf(reply, call, read, secrets, now);
  if (token && outcome.kind === 'token-refused') token.uses -= 1;
  else if (token && response) client.uselessTokens = 0;
  stats.oldestMs = Math.max(stats.oldestMs, response?.ageMs ?? 0);
  if (outcome.kind === 'success' && outcome.warning !== undefined && !client.hasWarned) {
    client.hasWarned = true;
    log?.warn({ method, path, text: outcome.warning }, 'the review service writes text beside its JSON');
  }
  const facts = { method, path, status: response?.status, durationMs };
  log?.debug(facts, 'request to the review service');
  client.onRequestEnd?.(facts);
  const isStored = call.method === 'GET' && response?.isStored === true;
  return { outcome, isStored, durationMs, token, isFirstUse };
}

/** Waits before the next attempt of the call, without a slot. @throws the error of the call if no attempt follows. */
async function waitAfter(client: Client, call: Call, failure: policy.Failure, spent: Spent): Promise<void> {
  const { session, stopped, limits, stats } = client;
  if (!policy.isFinal(failure, call)) stopped.throwIfAborted();
  const backoffMs = policy.backoffOf(spent.attempts, Math.random(), limits);
  const aloneMs = policy.ownWait(failure, backoffMs, call, spent.spentMs, limits);
  const isLast = policy.isFinal(failure, call) || spent.attempts >= policy.mostAttempts(failure, limits);
  const isForAll =
    !isLast && policy.asksToWait(failure) && (await isAskedOfAll(client, call, failure, spent, backoffMs, aloneMs));
  const delayMs = isForAll ? 0 : aloneMs;
  if (isLast || delayMs === undefined) throw noted(client, policy.errorOf(call, failure, spent.attempts));
  const why = [failure.status, failure.detail ?? failure.kind].filter((one) => one !== undefined).join(' ');
  const level = onceAMinute(client, spent.attempts > 2 ? 'warn' : 'info');
  const untilMs = Math.max(delayMs, session.heldUntilMs - performance.now());
  client.onWait(untilMs, `${call.method} ${call.path} is sent again: ${why}`, level);
  stats.retries += 1;
  spent.spentMs += delayMs;
  await sleep(delayMs, stopped);
}

/**
 * Whether all requests wait, and not only this one. The first 429 of a call concerns all: the service may count some
 * kinds of requests apart. A further 429 of the same call, or a failure that asks to wait, may be about one record: all
 * wait only if the overview gets the same. A request for a token is about no record.
 */
async function isAskedOfAll(
  client: Client,
  call: Call,
  { kind, retryAfterMs }: policy.Failure,
  spent: Spent,
  backoffMs: number,
  aloneMs: number | undefined,
): Promise<boolean> {
  const { session } = client;
  if (isHeld(session)) return true;
  const isFirst = kind === 'limited' && !spent.hasHeld && !(call.countsHolds && aloneMs === undefined);
  if (isFirst || call.path === tokenPath) {
    spent.hasHeld = true;
    await hold(session, retryAfterMs || backoffMs, kind);
    return true;
  }
  const ask = async () => {
    await client.acquire?.(client.stopped);
    const sent = attempt(client, proofCall, () => {}, session.token);
    const shown = await withTimeout(sent, proofMs, () => new Error('late')).catch(() => undefined);
    if (!shown || shown.outcome.kind === 'success' || !policy.asksToWait(shown.outcome)) return false;
    await hold(session, shown.outcome.retryAfterMs || retryAfterMs || backoffMs, shown.outcome.kind);
    return true;
  };
  client.question ??= ask().finally(() => {
    client.question = undefined;
  });
  return client.question;
}

/** During an outage, hundreds of requests are repeated. The log has one line a minute for each level. */
function onceAMinute({ saidMs }: Client, level: 'info' | 'warn'): 'debug' | 'info' | 'warn' {
  if (performance.now() - saidMs[level] < 60_000) return 'debug';
  saidMs[level] = performance.now();
  return level;
}
