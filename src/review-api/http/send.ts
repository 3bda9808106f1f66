import type { Dispatcher, Pool } from 'undici';
import { shownValue } from '../../base/mask.ts';
import type { Call, HttpResponse, Params } from './call.ts';
import { decodeBody } from './decode.ts';
import type { Settings } from './options.ts';

/** How one attempt ended. `incomplete`: why there is no body. */
export type Reply =
  | (HttpResponse & { kind: 'response'; incomplete?: { kind: 'lost' | 'malformed'; detail: string } })
  | { kind: 'no-response'; cause: unknown };

/**
 * Opens the connections to the service. `send` sends one request, reads its response within the limits of time and
 * size, and measures its duration. An abort is a lost response.
 *
 * @throws TypeError for an invalid base address.
 */
export function openSend(settings: Settings) {
  const { origin, pathPrefix } = baseOf(settings.baseUrl);
  const { signal } = settings;
  let pool: Promise<Pool> | undefined;
  let closed: Promise<void> | undefined;
  // One listener for the signal: a listener for each request takes 6 % of the processor time of a push.
  const end = () => void pool?.then((opened) => opened.destroy(signal.reason));
  function open(): Promise<Pool> {
    if (!pool) signal.addEventListener('abort', end, { once: true });
    pool ??= openPool(origin, settings);
    return pool;
  }
  return {
    open,
    async send(call: Call, token: string | undefined): Promise<{ reply: Reply; durationMs: number }> {
      call.beforeSend?.();
      const sentMs = performance.now();
      const reply = await readWhole(await open(), requestOf(call, token, pathPrefix), settings);
      return { reply, durationMs: Math.round(performance.now() - sentMs) };
    },
    close(): Promise<void> {
      const close = async (opened: Pool) => (opened.destroyed ? undefined : opened.close());
      closed ??= pool?.then(close).finally(() => signal.removeEventListener('abort', end)) ?? Promise.resolve();
      return closed;
    },
  };
}

/** Loads undici with the first request: commands without requests, such as `status`, start without its 109 modules. */
async function openPool(origin: string, { concurrency, maxBodyBytes }: Settings): Promise<Pool> {
  const { Pool } = await import('undici');
  // One spare connection for four requests: after a response, undici does not use a connection for a turn of the event
  // loop, and the next request would wait. No more, because a server may use one worker for each open connection.
  const connections = concurrency + Math.floor(concurrency / 4);
  return new Pool(origin, { connections, pipelining: 1, maxResponseSize: maxBodyBytes, allowH2: false });
}

async function readWhole(pool: Pool, request: Request, settings: Settings): Promise<Reply> {
  const { maxBodyBytes, now } = settings;
  const requestedAtMs = now();
  let head: Head | undefined;
  try {
    const raw = await exchange(pool, request, settings, (status, headers) => {
      head = headOf(status, headers, requestedAtMs);
    });
    if (!head) throw new Error('no response');
    return { kind: 'response', ...head, bytes: await decodeBody(raw, head.headers, maxBodyBytes) };
  } catch (cause) {
    if (!head) return { kind: 'no-response', cause };
    // If the body of an error response is lost, the status still counts.
    return { kind: 'response', ...head, bytes: Buffer.alloc(0), incomplete: incompleteBy(cause, maxBodyBytes) };
  }
}

/**
 * Sends the request, and reads the body of its response, with a handler of undici: a stream for each response takes
 * 15 % of the processor time of a push.
 *
 * @param onHead called before the body comes.
 */
function exchange(
  pool: Pool,
  request: Request,
  { timeoutMs }: Settings,
  onHead: (status: number, headers: RawHeaders) => void,
): Promise<Buffer> {
  // undici's timeouts apply between two chunks of a response. This one ends a response that trickles in without end.
  const wholeMs = 2 * timeoutMs;
  const late = () => new Error(`no whole response within ${wholeMs / 1000} s`);
  const chunks: Buffer[] = [];
  let timer: NodeJS.Timeout | undefined;
  return new Promise<Buffer>((resolve, reject) => {
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (controller) => {
        timer = setTimeout(() => controller.abort(late()), wholeMs);
      },
      // A 1xx comes before the response.
      onResponseStart: (_, status, headers) => void (status >= 200 && onHead(status, headers)),
      onResponseData: (_, chunk) => void chunks.push(chunk),
      onResponseEnd: () => {
        clearTimeout(timer);
        resolve(Buffer.concat(chunks));
      },
      onResponseError: (_, cause) => {
        clearTimeout(timer);
        reject(cause);
      },
    };
    pool.dispatch({ ...request, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }, handler);
  });
}

function incompleteBy(cause: unknown, maxBodyBytes: number): { kind: 'lost' | 'malformed'; detail: string } {
  const { code = '', message } = cause as { code?: string; message: string };
  const limit = `the body is larger than allowed, ${maxBodyBytes.toLocaleString('en')} bytes`;
  if (/^(UND_ERR_RES_EXCEEDED_MAX_SIZE|ERR_BUFFER_TOO_LARGE)$/.test(code)) return { kind: 'malformed', detail: limit };
  const broken = 'the body is compressed, and broken';
  if (/^(Z_|ZSTD_|ERR_.*BROTLI|ERR__)/.test(code)) return { kind: 'malformed', detail: broken };
  return { kind: 'lost', detail: `the body is not whole (${message})` };
}

/** A cache may store a response while it forwards it. Such a response is current. */
const storedForLongMs = 60_000;

/** The headers of Squid, Varnish and CloudFront, nginx, LiteSpeed and Cloudflare. */
const cacheHeaders = ['x-cache', 'x-cache-status', 'x-proxy-cache', 'x-litespeed-cache', 'cf-cache-status'];

/** Values of these headers for a response from a cache. A refreshed hit comes from the service. */
const servedByCache = /(?:\b|(?<!refresh)_)(?:hit|stale|updating)\b/i;

/** A response from a cache shows the state when the cache stored it. If there are several ages, the highest counts. */
function headOf(status: number, raw: RawHeaders, requestedAtMs: number): Head {
  // A repeated header is one list (RFC 9110, 5.2).
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(raw)) headers[name] = value?.toString();
  const ages = headers.age?.match(/\b\d{1,9}\b/g) ?? [];
  const isHit = cacheHeaders.some((name) => servedByCache.test(headers[name] ?? ''));
  const storedMs = isHit ? requestedAtMs - Date.parse(headers.date ?? '') : 0;
  const ageMs = ages.length > 0 ? 1000 * Math.max(...ages.map(Number)) : Math.max(0, storedMs || 0);
  const isStored = isHit || ageMs > storedForLongMs;
  return { status, headers, ageMs, isStored, requestedAt: new Date(requestedAtMs - ageMs) };
}

type Head = Omit<HttpResponse, 'bytes'>;
type RawHeaders = Dispatcher.ResponseData['headers'];
type Request = { method: Call['method']; path: string; body: string | null; headers: Record<string, string> };

const commonHeaders = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': 'review-sync' };
const formHeaders = { ...commonHeaders, 'content-type': 'application/x-www-form-urlencoded' };
const getHeaders = { ...commonHeaders, 'cache-control': 'no-cache' };

/**
 * The token is one of the parameters (docs/interface.md, "Authentication", 3): in the form body of POST and PATCH, in
 * the query of the other methods. PUT has its fields in the query too (docs/interface.md, "Update by PUT").
 */
function requestOf({ method, path, params }: Call, token: string | undefined, pathPrefix: string): Request {
  const text = encodeParams({ ...params, access_token: token });
  const address = pathPrefix + path;
  if (method === 'POST' || method === 'PATCH') return { method, path: address, body: text, headers: formHeaders };
  return { method, path: `${address}?${text}`, body: null, headers: method === 'GET' ? getHeaders : commonHeaders };
}

/**
 * Parameters as form or query text: arrays as repeated `name[]`, arrays of objects as `name[][field]`
 * (docs/interface.md, "Reviews"). A parser of `name[][field]` begins a new item at the first repeated field, so all
 * items must begin with the same field. A space is `%20`, which works in queries and forms. Not every server reads `+`.
 */
export function encodeParams(params: Params): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    if (Array.isArray(value))
      for (const item of value) {
        if (typeof item === 'string') pairs.append(`${name}[]`, item);
        else
          for (const [field, one] of Object.entries(item))
            if (one !== undefined) pairs.append(`${name}[][${field}]`, String(one));
      }
    else if (value === null || typeof value === 'string' || Number.isFinite(value))
      pairs.append(name, `${value ?? ''}`);
    else throw new TypeError(`expected ${name} as text or a number, got ${shownValue(value)}`);
  }
  return pairs.toString().replaceAll('+', '%20').replaceAll('%5B', '[').replaceAll('%5D', ']');
}

/** Origin and path prefix of the base address, the prefix without a trailing slash. */
function baseOf(baseUrl: string): { origin: string; pathPrefix: string } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new TypeError('expected a base address as http(s)://host[:port][/prefix], without user, query and fragment');
  return { origin: url.origin, pathPrefix: url.pathname.replace(/\/+$/, '') };
}
