import type { Dispatcher, Pool } from 'undici';

export type Timeouts = {
  /** To open a connection, in milliseconds. */
  connectMs: number;
  /** From the request to the head of its response, in milliseconds. */
  headersMs: number;
  /** For the body after the head, in milliseconds. */
  bodyMs: number;
};

export const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 };

type ResponseHead = { status: number; headers: Record<string, string | undefined> };

/**
 * What one request led to. `incomplete`: why the body was not read whole. `unsent`: the service cannot have seen the
 * request. `permanent`: no later attempt will succeed.
 */
export type RequestResult =
  | ({ kind: 'response'; bytes: Buffer; incomplete: 'connection-lost' | 'too-large' | undefined } & ResponseHead)
  | { kind: 'no-response'; unsent: boolean; permanent: boolean; cause: unknown };

export type Request = { method: Dispatcher.HttpMethod; path: string; body: string | undefined };

/**
 * Sends one request and reads its response. No retry, no token. Never throws: an abort by `signal` is a lost response.
 */
export async function sendRequest(
  pool: Pool,
  request: Request,
  timeouts: Timeouts,
  signal: AbortSignal,
): Promise<RequestResult> {
  // undici's timeouts apply between two chunks of a response. This one ends a response that trickles in without end.
  const wholeMs = timeouts.connectMs + timeouts.headersMs + timeouts.bodyMs;
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no whole response within ${wholeMs / 1000} s`)), wholeMs);
  const onAbort = () => abort.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  let head: ResponseHead | undefined;
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
    head = { status: statusCode, headers: singleValues(headers) };
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
    signal.removeEventListener('abort', onAbort);
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

/** The largest body that is read, in bytes. A page of 100 reviews has about 140 kB. */
export const defaultMaxBodyBytes = 64 * 1024 * 1024;

/** undici ends the connection where a body is larger than its `maxResponseSize`. */
const isTooLarge = (error: unknown): boolean => systemError(error).code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE';

function isUnsent(error: unknown): boolean {
  const { code, syscall } = systemError(error);
  return (
    /^UND_ERR_(CONNECT_TIMEOUT|CLOSED)$/.test(code ?? '') ||
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    isPermanent(error)
  );
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
