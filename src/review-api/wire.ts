import type { Pool } from 'undici';
import type { Call } from './call.ts';
import { encodeParams } from './encode.ts';
import { type Exchange, exchange, type Timeouts } from './exchange.ts';
import type { Gate } from './gate.ts';
import type { ClientLog } from './log.ts';
import type { Token } from './token.ts';

export type Sent = Exchange & { requestedAt: Date };

/** Sends one call once, when gate and ceiling allow it. */
export type Wire = (call: Call, token: Token | undefined) => Promise<Sent>;

/** How one request went. `status` is undefined where no answer came. */
export type ExchangeFacts = { method: string; path: string; status: number | undefined; durationMs: number };

/** What a wire is made of. `pathPrefix` is the path of the base address, without a trailing slash. */
export type WireParts = {
  pool: Pool;
  pathPrefix: string;
  gate: Gate;
  acquire: (signal: AbortSignal) => Promise<void>;
  timeouts: Timeouts;
  log: ClientLog;
  now: () => number;
  /** Ends waits; requests in flight run on. */
  stopped: AbortSignal;
  /** Ends requests in flight too. */
  aborted: AbortSignal;
  onRequest: () => void;
  /** Told of each request that was answered or not. */
  onExchange: ((exchange: ExchangeFacts) => void) | undefined;
};

export function openWire(parts: WireParts): Wire {
  const { pool, gate, log, now } = parts;
  return async (call, token) => {
    do {
      await gate.pass(parts.stopped);
      await parts.acquire(parts.stopped);
    } while (gate.isHeld());
    parts.stopped.throwIfAborted();
    parts.onRequest();
    const requestedAt = new Date(now());
    const outcome = await exchange(pool, requestOf(call, token, parts.pathPrefix), parts.timeouts, parts.aborted);
    const status = outcome.kind === 'answer' ? outcome.status : undefined;
    const durationMs = now() - requestedAt.getTime();
    const facts = { method: call.method, path: call.path, status, durationMs };
    log.debug(facts, 'review service called');
    parts.onExchange?.(facts);
    return { ...outcome, requestedAt };
  };
}

/**
 * The token goes along with the other parameters (spec, 'Authentication', 3): in the form body of POST and PATCH, in the
 * query of the others. That of PUT is where the spec shows its fields ('Update by PUT').
 */
function requestOf(call: Call, token: Token | undefined, pathPrefix: string) {
  const params = encodeParams({ ...call.params, ...(token && { access_token: token.value }) });
  const path = pathPrefix + call.path;
  return call.method === 'POST' || call.method === 'PATCH'
    ? { method: call.method, path, body: params }
    : { method: call.method, path: params === '' ? path : `${path}?${params}`, body: undefined };
}
