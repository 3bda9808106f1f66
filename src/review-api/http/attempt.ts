import type { Pool } from 'undici';
import type { Call } from './call.ts';
import { encodeParams } from './encode.ts';
import type { Gate } from './gate.ts';
import { type RequestResult, sendRequest, type Timeouts } from './send-request.ts';
import type { Token } from './token.ts';

type LogFunction = (fields: object, message: string) => void;

/**
 * The client logs requests (`debug`), retries (`info`) and holds (`warn`), without customers' data. A pino logger fits.
 */
export type ClientLog = { debug: LogFunction; info: LogFunction; warn: LogFunction };

const ignore: LogFunction = () => {};

export const silentLog: ClientLog = { debug: ignore, info: ignore, warn: ignore };

/** `durationMs`: from sending the request to the end of its response, without the waits before it. */
export type AttemptResult = RequestResult & { requestedAt: Date; durationMs: number };

/** Sends a call once, as soon as the gate and the request ceiling allow it. */
export type Attempt = (call: Call, token: Token | undefined) => Promise<AttemptResult>;

/** One request that ended. `status` is undefined where there was no response. */
export type RequestFacts = { method: string; path: string; status: number | undefined; durationMs: number };

export type AttemptOptions = {
  /** The connections to the service, opened by the first request. */
  pool: () => Promise<Pool>;
  /** Path of the base address, without a trailing slash. */
  pathPrefix: string;
  gate: Gate;
  /** Resolves when the request ceiling allows one more request. */
  acquire: (signal: AbortSignal) => Promise<void>;
  timeouts: Timeouts;
  log: ClientLog;
  now: () => number;
  /** Ends waits; requests in flight run on. */
  stopped: AbortSignal;
  /** Ends requests in flight too. */
  aborted: AbortSignal;
  onRequestStart: () => void;
  onRequestEnd: ((request: RequestFacts) => void) | undefined;
};

export function openAttempt(options: AttemptOptions): Attempt {
  const { pool, gate, log, now } = options;
  return async (call, token) => {
    do {
      await gate.pass(options.stopped);
      await options.acquire(options.stopped);
    } while (gate.isPaused());
    options.stopped.throwIfAborted();
    const connections = await pool();
    call.beforeSend?.();
    options.onRequestStart();
    const requestedAt = new Date(now());
    const startedMs = performance.now();
    const result = await sendRequest(
      connections,
      requestOf(call, token, options.pathPrefix),
      options.timeouts,
      options.aborted,
    );
    const status = result.kind === 'response' ? result.status : undefined;
    const durationMs = Math.round(performance.now() - startedMs);
    const facts = { method: call.method, path: call.path, status, durationMs };
    log.debug(facts, 'request to the review service');
    options.onRequestEnd?.(facts);
    return { ...result, requestedAt, durationMs };
  };
}

/**
 * The token is one of the parameters (docs/interface.md, "Authentication", 3): in the form body of POST and PATCH, in
 * the query of the other methods. PUT has its fields in the query too (docs/interface.md, "Update by PUT").
 */
function requestOf(call: Call, token: Token | undefined, pathPrefix: string) {
  const params = encodeParams({ ...call.params, ...(token && { access_token: token.value }) });
  const path = pathPrefix + call.path;
  return call.method === 'POST' || call.method === 'PATCH'
    ? { method: call.method, path, body: params }
    : { method: call.method, path: params === '' ? path : `${path}?${params}`, body: undefined };
}
