import pLimit from 'p-limit';
import type { Pool } from 'undici';
import { explainError } from '../../base/hints.ts';
import { mask } from '../../base/mask.ts';
import { sleep } from '../../base/timeout.ts';
import { waitingFor } from '../../base/waits.ts';
import {
  AuthenticationError,
  LimitedError,
  MalformedResponseError,
  NotFoundError,
  RefusedError,
  type RequestContext,
  UnavailableError,
  UnknownOutcomeError,
} from '../review-api-errors.ts';
import type { Call, HttpResponse, Send } from './call.ts';
import { encodeParams } from './encode.ts';
import { errorText } from './error-text.ts';
import { NotConfirmedError, readToken, type Token, textOf } from './response-body.ts';
import { type Failure, nextStep, type RetryLimits, retryAfterMs } from './retry-policy.ts';
import { ShapeError, TooLargeError } from './shape.ts';

type LogFunction = (fields: object, message: string) => void;

/**
 * The client logs requests (`debug`), retries (`info`) and holds (`warn`), without customers' data. A pino logger fits.
 */
export type ClientLog = { debug: LogFunction; info: LogFunction; warn: LogFunction };

/** A wait that stops requests. `untilMs` is milliseconds since 1970. */
export type Wait = { untilMs: number; reason: string };

/** One request that ended. `status` is undefined where there was no response; `durationMs` has no waits in it. */
export type RequestFacts = { method: string; path: string; status: number | undefined; durationMs: number };

/** Counts since the client was opened. `waitedMs` is a sum over all requests, so it may exceed the time that passed. */
export type ReviewApiStats = { requests: number; retries: number; waits: number; waitedMs: number };

export type Timeouts = {
  /** To open a connection, in milliseconds. */
  connectMs: number;
  /** From the request to the head of its response, in milliseconds. */
  headersMs: number;
  /** For the body after the head, in milliseconds. */
  bodyMs: number;
};

export type HttpClientOptions = {
  origin: string;
  /** Path of the base address, without a trailing slash. */
  pathPrefix: string;
  clientId: string;
  clientSecret: string;
  /** Requests in flight. */
  concurrency: number;
  /** Resolves when the request ceiling allows one more request. */
  acquire: ((signal?: AbortSignal) => Promise<void>) | undefined;
  timeouts: Timeouts;
  maxBodyBytes: number;
  limits: RetryLimits;
  log: ClientLog | undefined;
  /** The wall clock, in milliseconds since 1970. */
  now: () => number;
  /** Ends waits; requests in flight run on. */
  stopped: AbortSignal;
  /** Ends requests in flight too. */
  aborted: AbortSignal;
  onWait: ((wait: Wait) => void) | undefined;
  onRequestEnd: ((request: RequestFacts) => void) | undefined;
};

export type HttpClient = {
  send: Send;
  /** Requests a token unless there is one. */
  authenticate(): Promise<void>;
  stats(): ReviewApiStats;
  /** Lets requests in flight finish, then closes the connections. */
  close(): Promise<void>;
};

/**
 * What one request led to. `incomplete`: why the body was not read whole. `unsent`: the service cannot have seen the
 * request. `permanent`: no later attempt will succeed.
 */
type RequestResult =
  | (HttpResponse & { kind: 'response'; incomplete: 'connection-lost' | 'too-large' | undefined })
  | { kind: 'no-response'; unsent: boolean; permanent: boolean; cause: unknown };

/** `durationMs`: from sending the request to the end of its response, without the waits before it. */
type Attempt = { token: Token | undefined; result: RequestResult; durationMs: number };

/** What the result of a request means. `detail` is masked; `status` is set where there was a response. */
type Outcome<T> = { status?: number; detail?: string | undefined; hint?: string | undefined } & (
  | { kind: 'success'; value: T }
  | { kind: 'token-refused' }
  | { kind: 'not-found' }
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
export function openHttpClient(options: HttpClientOptions): HttpClient {
  const { log, now, stopped, aborted } = options;
  const slots = pLimit(options.concurrency);
  const stats: ReviewApiStats = { requests: 0, retries: 0, waits: 0, waitedMs: 0 };
  let pool: Promise<Pool> | undefined;
  let closed: Promise<void> | undefined;
  let token: Token | undefined;
  let renewal: Promise<Token> | undefined;
  /** No request starts before. On the monotonic clock: a wall clock that is set back must not hold the requests. */
  let heldUntilMs = 0;

  const send: Send = (call, read) =>
    sendWithRetries(call, read, (refused) =>
      slots(async () => {
        stopped.throwIfAborted();
        return attempt(call, await takeToken(refused));
      }),
    );

  return {
    send,
    async authenticate() {
      await takeToken();
    },
    stats: () => ({ ...stats }),
    close() {
      closed ??= pool?.then((opened) => opened.close()) ?? Promise.resolve();
      return closed;
    },
  };

  /** @param refused the token that the service just refused: it is renewed, unless another caller already has. */
  async function takeToken(refused?: Token): Promise<Token> {
    if (token && token !== refused && now() < token.renewAtMs) return token;
    // Takes no slot: the caller holds one and would wait for itself.
    renewal ??= sendWithRetries(authentication(options), readToken, () => attempt(authentication(options), undefined))
      .then((renewed) => {
        token = renewed;
        return renewed;
      })
      .finally(() => {
        renewal = undefined;
      });
    return renewal;
  }

  async function attempt(call: Call, withToken: Token | undefined): Promise<Attempt> {
    do {
      stopped.throwIfAborted();
      while (heldUntilMs > performance.now()) {
        await waitingFor('retry_after', () => sleep(Math.ceil(heldUntilMs - performance.now()), stopped));
      }
      await options.acquire?.(stopped);
    } while (heldUntilMs > performance.now());
    stopped.throwIfAborted();
    pool ??= openPool(options);
    const connections = await pool;
    call.beforeSend?.();
    stats.requests += 1;
    const requestedAt = new Date(now());
    const startedMs = performance.now();
    const request = requestOf(call, withToken, options.pathPrefix);
    const result = await readWhole(connections, request, { requestedAt, timeouts: options.timeouts, aborted });
    const status = result.kind === 'response' ? result.status : undefined;
    const durationMs = Math.round(performance.now() - startedMs);
    const facts = { method: call.method, path: call.path, status, durationMs };
    log?.debug(facts, 'request to the review service');
    options.onRequestEnd?.(facts);
    return { token: withToken, result, durationMs };
  }

  async function sendWithRetries<T>(
    call: Call,
    read: (response: HttpResponse) => T,
    sendOnce: (refused: Token | undefined) => Promise<Attempt>,
  ): Promise<T> {
    const refused: Token[] = [];
    let [number, waitedMs, spentMs] = [1, 0, 0];
    for (;;) {
      const sent = await sendOnce(refused.at(-1));
      const secrets = () => [sent.token?.value, token?.value, options.clientSecret, ...privateParams(call)];
      const outcome = outcomeOf(sent.result, call, read, { secrets, now, maxBodyBytes: options.maxBodyBytes });
      if (sent.token && sent.result.kind === 'response' && outcome.kind !== 'token-refused') sent.token.accepted = true;

      if (outcome.kind === 'success') return outcome.value;
      if (outcome.kind === 'token-refused' && sent.token) {
        refused.push(sent.token);
        if (isEnough(refused)) throw new AuthenticationError(contextOf(call, outcome));
        continue;
      }
      if (outcome.kind !== 'failure') throw finalError(call, outcome);

      const { failure } = outcome;
      const countsAsSpent = failure.kind !== 'limited';
      if (countsAsSpent) spentMs += sent.durationMs;
      const { giveUpAfterMs, repeatable = true } = call;
      const state = { number, waitedMs, spentMs, giveUpAfterMs, repeatable, random: Math.random() };
      const step = nextStep(failure, state, options.limits);
      if (step.pauseMs > 0) hold(step.pauseMs);
      const context = { ...contextOf(call, outcome), attempts: number };
      if (step.action === 'unknown-outcome') throw new UnknownOutcomeError(context);
      stopped.throwIfAborted();
      if (step.action === 'give-up') throw failureError(failure, { ...context, hint: outcome.hint });

      const { delayMs } = step;
      const wait = {
        untilMs: now() + delayMs,
        reason: `${call.method} ${call.path}: ${outcome.detail ?? failure.kind}`,
      };
      stats.retries += 1;
      stats.waitedMs += delayMs;
      log?.info({ until: new Date(wait.untilMs) }, `waiting to retry ${wait.reason}`);
      reportWait(wait);
      await waitingFor(step.pauseMs > 0 ? 'retry_after' : 'outage', () => sleep(delayMs, stopped));
      waitedMs += delayMs;
      if (countsAsSpent) spentMs += delayMs;
      number += 1;
    }
  }

  /** Lets no request of this client start for a while. Never shortens an earlier hold. */
  function hold(pauseMs: number): void {
    const untilMs = performance.now() + pauseMs;
    if (untilMs <= heldUntilMs) return;
    heldUntilMs = untilMs;
    const wait = { untilMs: now() + pauseMs, reason: 'the review service asked for fewer requests' };
    log?.warn({ until: new Date(wait.untilMs) }, wait.reason);
    reportWait(wait);
  }

  function reportWait(wait: Wait): void {
    stats.waits += 1;
    options.onWait?.(wait);
  }
}

/** Loads undici with the first request: commands that send none, such as `status`, start without its 109 modules. */
async function openPool({ origin, concurrency, timeouts, maxBodyBytes }: HttpClientOptions): Promise<Pool> {
  const { Pool } = await import('undici');
  return new Pool(origin, {
    connections: concurrency,
    connect: { timeout: timeouts.connectMs },
    pipelining: 1,
    maxResponseSize: maxBodyBytes,
    allowH2: false,
  });
}

/** The token request (docs/interface.md, "Authentication", 1). Repeatable: a second token does no harm. */
const authentication = ({ clientId, clientSecret }: HttpClientOptions): Call => ({
  method: 'POST',
  path: '/oauth/token',
  params: { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret },
});

/**
 * Whether to give up after these refused tokens: after two that no request succeeded with, or four in total. One path
 * may keep responding with 401 although the token works elsewhere.
 */
function isEnough(refused: readonly Token[]): boolean {
  return refused.length >= 4 || refused.filter((one) => !one.accepted).length >= 2;
}

type Request = { method: Call['method']; path: string; body: string | undefined };

/**
 * The token is one of the parameters (docs/interface.md, "Authentication", 3): in the form body of POST and PATCH, in
 * the query of the other methods. PUT has its fields in the query too (docs/interface.md, "Update by PUT").
 */
function requestOf(call: Call, token: Token | undefined, pathPrefix: string): Request {
  const params = encodeParams({ ...call.params, ...(token && { access_token: token.value }) });
  const path = pathPrefix + call.path;
  return call.method === 'POST' || call.method === 'PATCH'
    ? { method: call.method, path, body: params }
    : { method: call.method, path: params === '' ? path : `${path}?${params}`, body: undefined };
}

/** Sends a request once and reads its response. Never throws: an abort by `aborted` is a lost response. */
async function readWhole(
  pool: Pool,
  request: Request,
  { requestedAt, timeouts, aborted }: { requestedAt: Date; timeouts: Timeouts; aborted: AbortSignal },
): Promise<RequestResult> {
  // undici's timeouts apply between two chunks of a response. This one ends a response that trickles in without end.
  const wholeMs = timeouts.connectMs + timeouts.headersMs + timeouts.bodyMs;
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no whole response within ${wholeMs / 1000} s`)), wholeMs);
  const onAbort = () => abort.abort(aborted.reason);
  aborted.addEventListener('abort', onAbort, { once: true });
  let head: Pick<HttpResponse, 'status' | 'headers' | 'requestedAt'> | undefined;
  try {
    const { statusCode, headers, body } = await pool.request({
      method: request.method,
      path: request.path,
      headers: {
        accept: 'application/json',
        'user-agent': 'review-sync',
        ...(request.body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body: request.body ?? null,
      headersTimeout: timeouts.headersMs,
      bodyTimeout: timeouts.bodyMs,
      signal: abort.signal,
    });
    head = { status: statusCode, headers: singleValues(headers), requestedAt };
    return { kind: 'response', ...head, bytes: Buffer.from(await body.arrayBuffer()), incomplete: undefined };
  } catch (cause) {
    // The status still counts when the body of an error response is lost.
    if (head) {
      const incomplete = isTooLarge(cause) ? 'too-large' : 'connection-lost';
      return { kind: 'response', ...head, bytes: Buffer.alloc(0), incomplete };
    }
    return { kind: 'no-response', unsent: isUnsent(cause), permanent: isPermanent(cause), cause };
  } finally {
    clearTimeout(timer);
    aborted.removeEventListener('abort', onAbort);
  }
}

/** A header that comes twice is one list (RFC 9110, 5.2). */
function singleValues(headers: Record<string, string | string[] | undefined>): Record<string, string | undefined> {
  const single: Record<string, string | undefined> = {};
  for (const name in headers) {
    const value = headers[name];
    single[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return single;
}

/** undici ends the connection where a body is larger than its `maxResponseSize`. */
const isTooLarge = (error: unknown): boolean => systemError(error).code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE';

function isUnsent(error: unknown): boolean {
  const { code = '', syscall } = systemError(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'UND_ERR_CLOSED') return true;
  return syscall === 'connect' || syscall === 'getaddrinfo' || isPermanent(error);
}

/** A certificate that is not valid, or a server without TLS where https is configured. */
function isPermanent(error: unknown): boolean {
  return /^(CERT_|ERR_TLS_CERT|ERR_SSL_WRONG_VERSION|ERR_SSL_PACKET_LENGTH|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(
    systemError(error).code ?? '',
  );
}

/** A host name with several addresses fails with an `AggregateError`; its parts hold the code. */
function systemError(error: unknown): { code?: string; syscall?: string } {
  if (error instanceof AggregateError) return systemError(error.errors[0]);
  return error instanceof Error ? (error as { code?: string; syscall?: string }) : {};
}

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
    const { unsent, permanent, cause } = result;
    const detail = mask(cause instanceof Error ? connectionErrorText(cause) : 'no response', secrets());
    const failure: Failure = unsent ? { kind: 'unsent', permanent } : { kind: 'lost' };
    return { kind: 'failure', failure, detail, hint: explainError(cause)?.hint };
  }
  const { status, headers, bytes, incomplete } = result;
  const isSuccess = (status >= 200 && status <= 299) || (status === 404 && call.notFoundIsSuccess === true);
  if (isSuccess && incomplete && status !== 204 && status !== 404) {
    const isLost = incomplete === 'connection-lost';
    const failure: Failure = isLost ? { kind: 'lost' } : { kind: 'malformed', permanent: false };
    const detail = isLost
      ? 'the connection broke before the end of the body'
      : `the body is larger than allowed, ${maxBodyBytes.toLocaleString('en')} bytes`;
    return { kind: 'failure', failure, status, detail };
  }
  if (isSuccess) return readWith(read, result, secrets);

  // A redirect is never followed, since that would send the token elsewhere. Its target is shown without the query.
  const target = status < 400 ? headers.location?.split(/[?#]/)[0] : undefined;
  const detail =
    target === undefined
      ? errorText(textOf(bytes), secrets())
      : mask(`redirected to ${target}`, secrets()).slice(0, 300);
  if (status === 401 || (status === 403 && /token|expired/i.test(detail ?? ''))) {
    return { kind: 'token-refused', status, detail };
  }
  if (status === 404) return { kind: 'not-found', status, detail };
  const serviceNow = Date.parse(headers.date ?? '');
  const waitMs = retryAfterMs(headers['retry-after'], Number.isNaN(serviceNow) ? now() : serviceNow);
  if (status === 429) return { kind: 'failure', failure: { kind: 'limited', retryAfterMs: waitMs }, status, detail };
  if (status >= 500 || status === 408) {
    return { kind: 'failure', failure: { kind: 'failed', retryAfterMs: waitMs }, status, detail };
  }
  return { kind: 'refused', status, detail };
}

const tooLargeHint =
  'ask the service’s makers for a smaller number: most programs that read JSON round larger ones, ' +
  'so that an id names another record';

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
    const permanent = error instanceof TooLargeError;
    const hint = permanent ? tooLargeHint : undefined;
    return { kind: 'failure', failure: { kind: 'malformed', permanent }, status, detail, hint };
  }
}

/** Only code and message of a connection error: its other fields could hold the request. */
function connectionErrorText(error: Error): string {
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const code = 'code' in first && typeof first.code === 'string' ? first.code : undefined;
  const raw = [code, first.message].filter((part) => part).join(': ');
  const plain = explainError(error);
  return (plain?.what === undefined ? raw : `${plain.what} (${raw})`).slice(0, 300);
}

function contextOf(call: Call, outcome: Outcome<unknown>): RequestContext {
  return { method: call.method, path: call.path, status: outcome.status, detail: outcome.detail };
}

function finalError(call: Call, outcome: Outcome<unknown>): Error {
  const context = contextOf(call, outcome);
  const { status = 0 } = outcome;
  if (call.path === '/oauth/token') {
    // The response is not about the credentials: there is no such path, or it redirects.
    const isWrongAddress = status === 404 || status === 405 || (status > 0 && status < 400);
    const hint = isWrongAddress
      ? 'check that /oauth/token and /v1 are paths below the base address'
      : explainError(new Error(context.detail))?.hint;
    return new AuthenticationError({ ...context, hint });
  }
  return outcome.kind === 'not-found' ? new NotFoundError(context) : new RefusedError(context);
}

function failureError(failure: Failure, context: RequestContext): Error {
  switch (failure.kind) {
    case 'limited':
      return new LimitedError(context);
    case 'malformed':
      return new MalformedResponseError(context, !failure.permanent);
    case 'not-confirmed':
      return new UnknownOutcomeError(context);
    case 'unsent':
      return new UnavailableError(context, !failure.permanent);
    case 'lost':
    case 'failed':
      return new UnavailableError(context);
    default:
      return failure satisfies never;
  }
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
