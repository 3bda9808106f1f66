import type { RetryLimits } from './retry-policy.ts';
import type { SessionStore } from './session.ts';

type LogFunction = (fields: object, message: string) => void;

/** A pino logger. Gets requests (`debug`), retries (one a minute as `info` or `warn`, else `debug`), holds (`warn`). */
export type ClientLog = { debug: LogFunction; info: LogFunction; warn: LogFunction };

/** A wait for the service. `untilMs` is milliseconds since 1970. */
export type Wait = { untilMs: number; reason: string };

/** One request that ended. `status` is undefined if there was no response. `durationMs` excludes waits. */
export type RequestFacts = { method: string; path: string; status: number | undefined; durationMs: number };

/** Counts since the client was opened. `oldestMs`: how long a cache had kept the oldest response. */
export type ReviewApiStats = { requests: number; retries: number; oldestMs: number };

export type ReviewApiOptions = {
  /** `http(s)://host[:port][/prefix]`, with or without a trailing slash. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Requests in flight; default 8. */
  concurrency?: number | undefined;
  /** Called before each request; resolves when it may be sent. Made by `openRateLimit`. Default: no ceiling. */
  acquire?: ((signal?: AbortSignal) => Promise<void>) | undefined;
  /** Keeps token and holds. Default: in memory, for this client alone. */
  session?: SessionStore | undefined;
  /** Default: silent. */
  log?: ClientLog | undefined;
  /** Milliseconds for the head of a response; default 60,000. The whole response: twice as long. To connect: 10 s. */
  timeoutMs?: number | undefined;
  /** The largest decoded body of a response in bytes; default 8 MiB. A larger body is a `MalformedResponseError`. */
  maxBodyBytes?: number | undefined;
  /** Default: 14 attempts and two minutes for one request, then an error. */
  retry?: Partial<RetryLimits> | undefined;
  /** Called for each wait, with its reason and its end in milliseconds since 1970. */
  onWait?: ((wait: Wait) => void) | undefined;
  /** Called with the unchanged records of lists of reviews, and of details of reviews and orders. */
  onRecords?:
    | ((kind: 'review' | 'review_detail' | 'order' | 'sub_order', records: readonly unknown[]) => void)
    | undefined;
  /** Called after each request, retries included: for metrics. */
  onRequestEnd?: ((request: RequestFacts) => void) | undefined;
  /** Ends all calls, requests in flight included. */
  signal?: AbortSignal | undefined;
  /** The wall clock, in milliseconds since 1970. */
  now?: (() => number) | undefined;
};

/** The options with their defaults. A page of 100 reviews has about 140 kB. */
export const settingsOf = ({
  concurrency = 8,
  timeoutMs = 60_000,
  maxBodyBytes = 8 * 1024 * 1024,
  signal = new AbortController().signal,
  now = Date.now,
  ...options
}: ReviewApiOptions) => ({ ...options, concurrency, timeoutMs, maxBodyBytes, signal, now });

export type Settings = ReturnType<typeof settingsOf>;
