import type { Dispatcher, Pool } from 'undici';

export type Timeouts = {
  /** To open a connection, in milliseconds. */
  connectMs: number;
  /** From the request to the head of its answer, in milliseconds. */
  headersMs: number;
  /** For the body after the head, in milliseconds. */
  bodyMs: number;
};

export const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 };

export type Head = { status: number; headers: Record<string, string | undefined> };

/** What one request brought: an answer (`broken`: its body did not arrive whole), or the reason why there is none. */
export type Exchange =
  | ({ kind: 'answer'; bytes: Buffer; broken: boolean } & Head)
  | { kind: 'none'; unsent: boolean; hopeless: boolean; cause: unknown };

export type Request = { method: Dispatcher.HttpMethod; path: string; body: string | undefined };

/** One request and its answer: no retry, no token, no judgement. Never throws: an abort by `signal` is a lost answer. */
export async function exchange(
  pool: Pool,
  request: Request,
  timeouts: Timeouts,
  signal: AbortSignal,
): Promise<Exchange> {
  // undici's own limits run between two pieces of an answer; this one ends an answer that drips for ever.
  const end = new AbortController();
  const timer = setTimeout(
    () => end.abort(new Error('the time limit for a whole answer passed')),
    timeouts.connectMs + timeouts.headersMs + timeouts.bodyMs,
  );
  const onAbort = () => end.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  let head: Head | undefined;
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
      signal: end.signal,
    });
    head = { status: statusCode, headers: flat(headers) };
    return { kind: 'answer', ...head, bytes: Buffer.from(await body.arrayBuffer()), broken: false };
  } catch (cause) {
    // The status of a refusal stands even when its words are lost.
    if (head) return { kind: 'answer', ...head, bytes: Buffer.alloc(0), broken: true };
    return { kind: 'none', unsent: isUnsent(cause), hopeless: isHopeless(cause), cause };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Where the same header came twice, its parts are one list (RFC 9110, 5.2). */
function flat(headers: Record<string, string | string[] | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

/** Whether the connection never stood, so that the service cannot have seen the request. */
function isUnsent(error: unknown): boolean {
  const { code, syscall } = facts(error);
  return (
    /^UND_ERR_(CONNECT_TIMEOUT|CLOSED)$/.test(code ?? '') ||
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    isHopeless(error)
  );
}

/** A certificate that does not hold, or no TLS at all where it is asked for: waiting does not mend it. */
function isHopeless(error: unknown): boolean {
  return /^(CERT_|ERR_TLS_CERT|ERR_SSL_WRONG_VERSION|ERR_SSL_PACKET_LENGTH|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(
    facts(error).code ?? '',
  );
}

/** A name with several addresses fails with an `AggregateError` whose parts say the call that failed. */
function facts(error: unknown): { code?: string; syscall?: string } {
  if (error instanceof AggregateError) return facts(error.errors[0]);
  return error instanceof Error ? (error as { code?: string; syscall?: string }) : {};
}
