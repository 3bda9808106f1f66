import type { Pool } from 'undici';
import type { Logger } from '../log.ts';
import type { Call } from './call.ts';
import { encodeParams } from './encode.ts';
import { type Exchange, exchange, type Timeouts } from './exchange.ts';
import type { Gate } from './gate.ts';
import type { Token } from './token.ts';

export type Sent = Exchange & { requestedAt: Date };

/** Sends one call once, when gate and ceiling allow it. */
export type Wire = (call: Call, token: Token | undefined) => Promise<Sent>;

/** What a wire is made of. `pathPrefix` is the path of the base address, without a trailing slash. */
export type WireParts = {
  pool: Pool;
  pathPrefix: string;
  gate: Gate;
  acquire: (signal: AbortSignal) => Promise<void>;
  timeouts: Timeouts;
  log: Logger;
  now: () => number;
  /** Ends waits; requests in flight run on. */
  stopped: AbortSignal;
  /** Ends requests in flight too. */
  aborted: AbortSignal;
  onRequest: () => void;
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
    log.debug({ method: call.method, path: call.path, status, durationMs }, 'review service called');
    return { ...outcome, requestedAt };
  };
}

/** The token goes where the spec puts it ('Authentication', 3): the form body of writes, the query of the others. */
function requestOf(call: Call, token: Token | undefined, pathPrefix: string) {
  const params = encodeParams({ ...call.params, ...(token && { access_token: token.value }) });
  const path = pathPrefix + call.path;
  return call.method === 'GET' || call.method === 'DELETE'
    ? { method: call.method, path: params === '' ? path : `${path}?${params}`, body: undefined }
    : { method: call.method, path, body: params };
}
