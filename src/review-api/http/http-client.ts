import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import type { Pool } from 'undici';
import { explainError } from '../../base/hints.ts';
import { mask } from '../../base/mask.ts';
import { sleep } from '../../base/timeout.ts';
import { requireId } from '../resources/check.ts';
import {
  AuthenticationError,
  LimitedError,
  MalformedResponseError,
  NotFoundError,
  RefusedError,
  type ReviewApiError,
  UnavailableError,
  UnknownOutcomeError,
} from '../review-api-errors.ts';
import type { Call, HttpResponse, Send } from './call.ts';
import { encodeParams } from './encode.ts';
import { errorText } from './error-text.ts';
import { NotConfirmedError, readToken, type Token, textOf } from './response-body.ts';
import { defaultRetryLimits, type Failure, nextStep, type RetryLimits, retryAfterMs } from './retry-policy.ts';
import { ShapeError } from './shape.ts';

type LogFunction = (fields: object, message: string) => void;

/**
 * The client logs requests (`debug`), retries (`info`) and holds (`warn`), without customers' data. A pino logger fits.
 */
export type ClientLog = { debug: LogFunction; info: LogFunction; warn: LogFunction };

/** A wait that stops requests. `untilMs` is milliseconds since 1970. */
export type Wait = { untilMs: number; reason: string };

/** One request that ended. `status` is undefined where there was no response; `durationMs` has no waits in it. */
export type RequestFacts = { method: string; path: string; status: number | undefined; durationMs: number };

/** Counts since the client was opened. */
export type ReviewApiStats = { requests: number; retries: number };

export type Timeouts = {
  /** To open a connection, in milliseconds. */
  connectMs: number;
  /** From the request to the head of its response, in milliseconds. */
  headersMs: number;
  /** For the body after the head, in milliseconds. */
  bodyMs: number;
};

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
  /** Default: silent. */
  log?: ClientLog | undefined;
  /** Milliseconds; default 10 s to connect, 60 s for the head of a response, 60 s for its body. */
  timeouts?: Partial<Timeouts> | undefined;
  /** The largest body of a response, in bytes; default 8 MiB. A larger one is a `MalformedResponseError`. */
  maxBodyBytes?: number | undefined;
  /** Default: 14 attempts and about two minutes of waiting for one request, then an error. */
  retry?: Partial<RetryLimits> | undefined;
  /** Called for each wait, with its reason and its end in milliseconds since 1970. */
  onWait?: ((wait: Wait) => void) | undefined;
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

/** What one request led to. `incomplete`: why the body was not read whole. */
type RequestResult =
  | (HttpResponse & { kind: 'response'; incomplete: 'connection-lost' | 'too-large' | undefined })
  | { kind: 'no-response'; cause: unknown };

/** `durationMs`: from sending the request to the end of its response, without the waits before it. */
type Attempt<T> = { outcome: Outcome<T>; durationMs: number };

/** What the result of a request means. `detail` is masked; `status` is set where there was a response. */
type Outcome<T> = { status?: number; detail?: string | undefined; hint?: string | undefined } & (
  | { kind: 'success'; value: T }
  | { kind: 'token-refused' }
  | { kind: 'refused' }
  | { kind: 'failure'; failure: Failure }
);

/**
 * Sends calls to the review service. A call goes through this file from top to bottom:
 *
 * 1. `send`: wait for one of the slots (`concurrency`) and take the token. One request obtains it for all callers.
 * 2. `attempt`: wait while the service has asked for fewer requests, and for the request ceiling. Send the request.
 * 3. `readWhole`: read the response, within the limits of time and size.
 * 4. `outcomeOf`: what the result means, by status and shape.
 * 5. `sendWithRetries`: return the value; or renew a token that was refused and send again; or wait and send again, or
 *    throw, as `nextStep` in retry-policy.ts decides.
 */
export function openHttpClient({
  baseUrl,
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
  const base = baseOf(baseUrl);
  requireGiven(clientId, 'clientId');
  requireGiven(clientSecret, 'clientSecret');
  requireId(concurrency, 'concurrency');
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const limits = { ...defaultRetryLimits, ...options.retry };
  const closing = new AbortController();
  /** Ends waits; requests in flight run on until `aborted`. */
  const stopped = AbortSignal.any([aborted, closing.signal]);
  setMaxListeners(0, aborted, stopped);
  const slots = pLimit(concurrency);
  const stats: ReviewApiStats = { requests: 0, retries: 0 };
  let pool: Promise<Pool> | undefined;
  let closed: Promise<void> | undefined;
  let token: Token | undefined;
  let renewal: Promise<Token> | undefined;
  /** No request starts before. On the monotonic clock: a wall clock that is set back must not hold the requests. */
  let heldUntilMs = 0;

  const send: Send = (call, read) =>
    sendWithRetries(call, (refused) => slots(() => attemptWithToken(call, read, refused)));

  return {
    send,
    async authenticate(): Promise<void> {
      await takeToken();
    },
    stats: (): ReviewApiStats => ({ ...stats }),
    close(): Promise<void> {
      closing.abort(new Error('the client of the review service was closed'));
      closed ??= pool?.then((opened) => opened.close()) ?? Promise.resolve();
      return closed;
    },
  };

  /** @param refused the token that the service just refused: it is renewed, unless another caller already has. */
  async function takeToken(refused?: Token): Promise<Token> {
    if (token && token !== refused && now() < token.renewAtMs) return token;
    // Repeatable: a second token does no harm (docs/interface.md, "Authentication", 1).
    const params = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const call: Call = { method: 'POST', path: tokenPath, params };
    // Takes no slot: the caller holds one and would wait for itself.
    renewal ??= sendWithRetries(call, () => attempt(call, readToken, undefined)).finally(() => {
      renewal = undefined;
    });
    token = await renewal;
    return token;
  }

  /** A request whose token was refused keeps its slot: behind others it would meet the end of the next token too. */
  async function attemptWithToken<T>(
    call: Call,
    read: (response: HttpResponse) => T,
    refused: Token[],
  ): Promise<Attempt<T>> {
    for (;;) {
      stopped.throwIfAborted();
      const used = await takeToken(refused.at(-1));
      const sent = await attempt(call, read, used);
      if (sent.outcome.kind !== 'token-refused') {
        if (sent.outcome.status !== undefined) used.accepted = true;
        return sent;
      }
      refused.push(used);
      if (isEnough(refused)) return sent;
    }
  }

  async function attempt<T>(
    call: Call,
    read: (response: HttpResponse) => T,
    withToken: Token | undefined,
  ): Promise<Attempt<T>> {
    do {
      stopped.throwIfAborted();
      while (heldUntilMs > performance.now()) {
        await sleep(Math.ceil(heldUntilMs - performance.now()), stopped);
      }
      await acquire?.(stopped);
    } while (heldUntilMs > performance.now());
    stopped.throwIfAborted();
    pool ??= openPool();
    const connections = await pool;
    call.beforeSend?.();
    stats.requests += 1;
    const startedMs = performance.now();
    const request = requestOf(call, withToken, base.pathPrefix);
    const result = await readWhole(connections, request, { timeouts, aborted, requestedAt: new Date(now()) });
    const durationMs = Math.round(performance.now() - startedMs);
    const status = result.kind === 'response' ? result.status : undefined;
    const facts = { method: call.method, path: call.path, status, durationMs };
    log?.debug(facts, 'request to the review service');
    onRequestEnd?.(facts);
    const secrets = () => [withToken?.value, token?.value, clientSecret, ...privateParams(call)];
    return { outcome: outcomeOf(result, call, read, { secrets, now, maxBodyBytes }), durationMs };
  }

  async function sendWithRetries<T>(call: Call, sendOnce: (refused: Token[]) => Promise<Attempt<T>>): Promise<T> {
    const refused: Token[] = [];
    let [number, waitedMs, spentMs] = [1, 0, 0];
    for (;;) {
      const { outcome, durationMs } = await sendOnce(refused);
      if (outcome.kind === 'success') return outcome.value;
      if (outcome.kind !== 'failure') throw errorOf(call, outcome, number);

      const { failure } = outcome;
      const countsAsSpent = failure.kind !== 'limited';
      if (countsAsSpent) spentMs += durationMs;
      const { giveUpAfterMs, repeatable = true } = call;
      const state = { number, waitedMs, spentMs, giveUpAfterMs, repeatable, random: Math.random() };
      const step = nextStep(failure, state, limits);
      if (step.pauseMs > 0) hold(step.pauseMs);
      if (step.action !== 'unknown-outcome') stopped.throwIfAborted();
      if (step.action !== 'repeat') throw errorOf(call, outcome, number, step.action === 'unknown-outcome');

      const { delayMs } = step;
      stats.retries += 1;
      reportWait('info', delayMs, `waiting to retry ${call.method} ${call.path}: ${outcome.detail ?? failure.kind}`);
      await sleep(delayMs, stopped);
      waitedMs += delayMs;
      if (countsAsSpent) spentMs += delayMs;
      number += 1;
    }
  }

  /** Loads undici with the first request: commands that send none, such as `status`, start without its 109 modules. */
  async function openPool(): Promise<Pool> {
    const { Pool } = await import('undici');
    return new Pool(base.origin, {
      connections: concurrency,
      connect: { timeout: timeouts.connectMs },
      pipelining: 1,
      maxResponseSize: maxBodyBytes,
      allowH2: false,
    });
  }

  /** Lets no request of this client start for a while. Never shortens an earlier hold. */
  function hold(pauseMs: number): void {
    const untilMs = performance.now() + pauseMs;
    if (untilMs <= heldUntilMs) return;
    heldUntilMs = untilMs;
    reportWait('warn', pauseMs, 'the review service asked for fewer requests');
  }

  function reportWait(level: 'info' | 'warn', forMs: number, reason: string): void {
    const untilMs = now() + forMs;
    log?.[level]({ until: new Date(untilMs) }, reason);
    onWait?.({ untilMs, reason });
  }
}

const tokenPath = '/oauth/token';

/**
 * Whether to give up after these refused tokens: after two that no request succeeded with, or four in total. One path
 * may keep responding with 401 although the token works elsewhere.
 */
function isEnough(refused: readonly Token[]): boolean {
  return refused.length >= 4 || refused.filter((one) => !one.accepted).length >= 2;
}

type Request = { method: Call['method']; path: string; body: string | null };

/**
 * The token is one of the parameters (docs/interface.md, "Authentication", 3): in the form body of POST and PATCH, in
 * the query of the other methods. PUT has its fields in the query too (docs/interface.md, "Update by PUT").
 */
function requestOf(call: Call, token: Token | undefined, pathPrefix: string): Request {
  const { method } = call;
  const params = encodeParams({ ...call.params, ...(token && { access_token: token.value }) });
  const path = pathPrefix + call.path;
  if (method === 'POST' || method === 'PATCH') return { method, path, body: params };
  return { method, path: params === '' ? path : `${path}?${params}`, body: null };
}

/** Sends a request once and reads its response. Never throws: an abort is a lost response. */
async function readWhole(
  pool: Pool,
  request: Request,
  { timeouts, aborted, requestedAt }: { timeouts: Timeouts; aborted: AbortSignal; requestedAt: Date },
): Promise<RequestResult> {
  // undici's timeouts apply between two chunks of a response. This one ends a response that trickles in without end.
  const wholeMs = timeouts.connectMs + timeouts.headersMs + timeouts.bodyMs;
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no whole response within ${wholeMs / 1000} s`)), wholeMs);
  let head: Omit<HttpResponse, 'bytes'> | undefined;
  try {
    const { statusCode, headers, body } = await pool.request({
      ...request,
      headers: {
        accept: 'application/json',
        'user-agent': 'review-sync',
        ...(request.body !== null && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      headersTimeout: timeouts.headersMs,
      bodyTimeout: timeouts.bodyMs,
      signal: AbortSignal.any([aborted, abort.signal]),
    });
    head = { status: statusCode, headers: singleValues(headers), requestedAt };
    return { kind: 'response', ...head, bytes: Buffer.from(await body.arrayBuffer()), incomplete: undefined };
  } catch (cause) {
    if (!head) return { kind: 'no-response', cause };
    // The status still counts when the body of an error response is lost.
    const isTooLarge = systemError(cause).code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE';
    const incomplete = isTooLarge ? 'too-large' : 'connection-lost';
    return { kind: 'response', ...head, bytes: Buffer.alloc(0), incomplete };
  } finally {
    clearTimeout(timer);
  }
}

/** A header that comes twice is one list (RFC 9110, 5.2). */
const singleValues = (headers: Record<string, string | string[] | undefined>): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );

/** `secrets`: what no error may show. Only asked for where there is an error: it costs as much as encoding a request. */
type Reading = { secrets: () => readonly (string | undefined)[]; now: () => number; maxBodyBytes: number };

/**
 * Classifies by status and shape (docs/service-facts.md): docs/interface.md describes neither the statuses of errors
 * nor their bodies.
 */
function outcomeOf<T>(
  result: RequestResult,
  call: Call,
  read: (response: HttpResponse) => T,
  { secrets, now, maxBodyBytes }: Reading,
): Outcome<T> {
  if (result.kind === 'no-response') {
    const { cause } = result;
    const detail = mask(connectionErrorText(cause), secrets());
    return { kind: 'failure', failure: connectionFailure(cause), detail, hint: explainError(cause)?.hint };
  }
  const { status, headers, bytes, incomplete } = result;
  const isSuccess = (status >= 200 && status <= 299) || (status === 404 && call.notFoundIsSuccess === true);
  if (isSuccess && incomplete && status !== 204 && status !== 404) {
    const isLost = incomplete === 'connection-lost';
    const detail = isLost
      ? 'the connection broke before the end of the body'
      : `the body is larger than allowed, ${maxBodyBytes.toLocaleString('en')} bytes`;
    return { kind: 'failure', failure: { kind: isLost ? 'lost' : 'malformed' }, status, detail };
  }
  if (isSuccess) return readWith(read, result, secrets);

  // A redirect is never followed, since that would send the token elsewhere. Its target is shown without the query.
  const target = status < 400 ? headers.location?.slice(0, 1000).split(/[?#]/)[0] : undefined;
  const detail =
    target === undefined
      ? errorText(textOf(bytes), secrets())
      : mask(`redirected to ${target}`, secrets()).slice(0, 300);
  if (status === 401 || (status === 403 && /token|expired/i.test(detail ?? ''))) {
    return { kind: 'token-refused', status, detail };
  }
  const serviceNow = Date.parse(headers.date ?? '');
  const waitMs = retryAfterMs(headers['retry-after'], Number.isNaN(serviceNow) ? now() : serviceNow);
  if (status === 429) return { kind: 'failure', failure: { kind: 'limited', retryAfterMs: waitMs }, status, detail };
  if (status >= 500 || status === 408) {
    return { kind: 'failure', failure: { kind: 'failed', retryAfterMs: waitMs }, status, detail };
  }
  return { kind: 'refused', status, detail };
}

function readWith<T>(
  read: (response: HttpResponse) => T,
  response: HttpResponse,
  secrets: Reading['secrets'],
): Outcome<T> {
  const { status, bytes } = response;
  try {
    return { kind: 'success', status, value: read(response) };
  } catch (error) {
    if (error instanceof NotConfirmedError) {
      return { kind: 'failure', failure: { kind: 'not-confirmed' }, status, detail: error.message };
    }
    if (!(error instanceof ShapeError)) throw error;
    // Only an HTML page is quoted: a JSON body may hold customers' data.
    const text = textOf(bytes);
    const page = text.trimStart().startsWith('<') ? errorText(text, secrets()) : undefined;
    const detail = (page === undefined ? error.message : `${error.message}; ${page}`).slice(0, 300);
    return { kind: 'failure', failure: { kind: 'malformed' }, status, detail };
  }
}

/** A host name with several addresses fails with an `AggregateError`; its parts hold the code. */
function systemError(error: unknown): Error & { code?: string; syscall?: string } {
  if (error instanceof AggregateError) return systemError(error.errors[0]);
  return error instanceof Error ? error : new Error('no response');
}

function connectionFailure(error: unknown): Failure {
  const { code = '', syscall } = systemError(error);
  // A certificate that is not valid, or a server without TLS where https is configured.
  const permanent =
    /^(CERT_|ERR_TLS_CERT|ERR_SSL_WRONG_VERSION|ERR_SSL_PACKET_LENGTH|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code);
  const isUnsent =
    permanent ||
    code === 'UND_ERR_CONNECT_TIMEOUT' ||
    code === 'UND_ERR_CLOSED' ||
    syscall === 'connect' ||
    syscall === 'getaddrinfo';
  return isUnsent ? { kind: 'unsent', permanent } : { kind: 'lost' };
}

/** Only code and message of a connection error: its other fields could hold the request. */
function connectionErrorText(error: unknown): string {
  const { code, message } = systemError(error);
  const raw = [code, message].filter((part) => part).join(': ');
  const plain = explainError(error);
  return (plain?.what === undefined ? raw : `${plain.what} (${raw})`).slice(0, 300);
}

/** The error that ends a call. */
function errorOf(call: Call, outcome: Outcome<unknown>, attempts: number, isUnknown = false): ReviewApiError {
  const { status, detail, hint } = outcome;
  const context = { method: call.method, path: call.path, status, detail };
  if (outcome.kind !== 'failure') {
    if (call.path === tokenPath) return new AuthenticationError({ ...context, hint: tokenHint(status, detail) });
    if (outcome.kind === 'token-refused') return new AuthenticationError(context);
    return status === 404 ? new NotFoundError(context) : new RefusedError(context);
  }
  const { failure } = outcome;
  if (isUnknown) return new UnknownOutcomeError({ ...context, attempts });
  const failed = { ...context, attempts, hint };
  switch (failure.kind) {
    case 'limited':
      return new LimitedError(failed);
    case 'malformed':
      return new MalformedResponseError(failed);
    case 'not-confirmed':
      return new UnknownOutcomeError(failed);
    case 'unsent':
      return new UnavailableError(failed, !failure.permanent, true);
    case 'lost':
    case 'failed':
      return new UnavailableError(failed);
    default:
      return failure satisfies never;
  }
}

/** Some responses are not about the credentials: there is no such path, or it redirects. */
function tokenHint(status = 0, detail = ''): string | undefined {
  const isWrongAddress = status === 404 || status === 405 || (status > 0 && status < 400);
  if (isWrongAddress) return 'check that /oauth/token and /v1 are paths below the base address';
  return explainError(new Error(detail))?.hint;
}

/** Parameters that help to understand a refusal and say nothing about a customer. */
const publicParams =
  /^(?!user_code$)((\w+_)?codes?|(\w+_)?id|status|order_device|(total_)?price|score|page|limit|date_\w+|\w+_(at|date))$/;

/** Values about a customer that were sent: an error text that quotes them must not show them. */
function privateParams(call: Call): string[] {
  const texts = Object.entries(call.params ?? {}).flatMap(([field, value]) =>
    typeof value === 'string' && !publicParams.test(field) ? [value] : [],
  );
  return texts.flatMap((text) => [
    text,
    ...text.split(/[,\s]+/).filter((part) => part.length > 2 || !/^[\w.]*$/.test(part)),
  ]);
}

/** The message does not quote the value: it may be a secret. */
function requireGiven(value: string, name: string): void {
  if (typeof value !== 'string' || value === '') throw new TypeError(`expected a ${name} that is not empty`);
}

/** Origin and path prefix of the base address, the prefix without a trailing slash. */
function baseOf(baseUrl: string): { origin: string; pathPrefix: string } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError(
      'expected the base address as http(s)://host[:port][/prefix], without user, query and fragment',
    );
  }
  return { origin: url.origin, pathPrefix: url.pathname.replace(/\/+$/, '') };
}
