import { explainError } from '../../base/hints.ts';
import * as errors from '../review-api-errors.ts';
import { type Call, type CallOptions, tokenPath } from './call.ts';
import { isMissingStatus } from './decode.ts';
import { longestHoldMs } from './session.ts';

/**
 * How an attempt fails, and what follows. `attempts`: the maximum in all, if lower than that of `retry`. `mayBeDone`:
 * the service may have carried the request out, so a creation is not sent again.
 */
const kinds = {
  /** 4xx. */
  refused: { attempts: 1, mayBeDone: false },
  'token-refused': { attempts: 1, mayBeDone: false },
  /** No connection is possible: an invalid certificate, or no TLS at this port. */
  untrusted: { attempts: 1, mayBeDone: false },
  /** No connection was made: nothing was sent. */
  unsent: { attempts: Number.POSITIVE_INFINITY, mayBeDone: false },
  /** 429: too many requests. */
  limited: { attempts: Number.POSITIVE_INFINITY, mayBeDone: false },
  /** All or part of the request was sent, and no whole response came. */
  lost: { attempts: Number.POSITIVE_INFINITY, mayBeDone: true },
  /** 5xx, 408 or a redirect. */
  failed: { attempts: Number.POSITIVE_INFINITY, mayBeDone: true },
  /** A success status, with a body that does not fit the request. */
  malformed: { attempts: 4, mayBeDone: true },
  /** 202 and others: the service may carry the request out later. Another attempt would show no more. */
  'not-confirmed': { attempts: 1, mayBeDone: true },
};

/** An attempt without a usable response. `detail` is masked; `status` is set if there was a response. */
export type Failure = {
  kind: keyof typeof kinds;
  status?: number;
  detail?: string | undefined;
  hint?: string | undefined;
  retryAfterMs?: number | undefined;
};

export type RetryLimits = {
  /** Attempts in all, the first included. */
  attempts: number;
  /** Backoff: a random wait up to `baseDelayMs × 2^(attempt − 1)`, at most `maxDelayMs`. */
  baseDelayMs: number;
  maxDelayMs: number;
  /** The longest hold to wait for, in milliseconds. A longer hold ends the call at once with a `LimitedError`. */
  maxRetryAfterMs: number;
  /** The default `giveUpAfterMs` of a call. */
  giveUpAfterMs: number;
};

/** The defaults are about two minutes: waits of 0.5 s, 1 s, 2 s … 30 s, half of each on average. */
export const limitsOf = ({
  attempts = 14,
  baseDelayMs = 500,
  maxDelayMs = 30_000,
  maxRetryAfterMs = longestHoldMs,
  giveUpAfterMs = 120_000,
}: Partial<RetryLimits> = {}): RetryLimits => ({ attempts, baseDelayMs, maxDelayMs, maxRetryAfterMs, giveUpAfterMs });

/** Whether the service may have carried the request out, or may do so later, so that repeating it could do it twice. */
export const isUnknown = ({ kind }: Failure, { repeatable = true }: Pick<Call, 'repeatable'>): boolean =>
  kinds[kind].mayBeDone && (!repeatable || kind === 'not-confirmed');

/** Whether another attempt would be useless or harmful. */
export const isFinal = (failure: Failure, call: Pick<Call, 'repeatable'>): boolean =>
  kinds[failure.kind].attempts === 1 || isUnknown(failure, call);

/** The most attempts of a call with this failure. */
export const mostAttempts = ({ kind }: Failure, limits: RetryLimits) => Math.min(kinds[kind].attempts, limits.attempts);

/** Whether the service asks to wait: a 429, or another failure with a wait. */
export const asksToWait = ({ kind, retryAfterMs }: Failure): boolean =>
  kind === 'limited' || (kind === 'failed' && retryAfterMs !== undefined);

/** A random wait before the next attempt, in milliseconds. @param random from 0 to below 1. */
export const backoffOf = (number: number, random: number, { baseDelayMs, maxDelayMs }: RetryLimits): number =>
  Math.round(random * Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(number - 1, 30)));

/** How long one request waits alone, in milliseconds: the service's wait plus the backoff. Undefined: too long. */
export function ownWait(
  { retryAfterMs = 0 }: Failure,
  backoffMs: number,
  { giveUpAfterMs }: CallOptions,
  spentMs: number,
  limits: RetryLimits,
): number | undefined {
  const waitMs = retryAfterMs + backoffMs;
  return spentMs + waitMs > (giveUpAfterMs ?? limits.giveUpAfterMs) ? undefined : waitMs;
}

/**
 * The wait that a `Retry-After` header asks for, in milliseconds. The header holds seconds or a date; if a proxy has
 * added another wait, the longest counts. Undefined if the header is absent or unreadable. `nowMs` should be the
 * service's own clock if its `Date` header is known.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  // A date also has a comma, after the name of its day.
  const waits = (header?.match(/\s*[A-Za-z]{3,9},[^,]*|[^,]+/g) ?? []).flatMap((part) => {
    const value = part.trim();
    const seconds = /^\d{1,9}(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
    // Date.parse reads '-5' and '1e9' as years.
    const ms = /^[A-Za-z]{3}/.test(value) ? Date.parse(value) - nowMs : seconds * 1000;
    return Number.isNaN(ms) ? [] : Math.max(0, Math.ceil(ms));
  });
  return waits.length > 0 ? Math.max(...waits) : undefined;
}

/** The error that ends a call. */
export function errorOf(call: Call, failure: Failure, attempts: number): errors.ReviewApiError {
  const { kind, status, detail, hint } = failure;
  const at = { method: call.method, path: call.path, status, attempts, detail };
  const isRefused = kind === 'refused' || kind === 'token-refused';
  if (isRefused && call.path === tokenPath)
    return new errors.AuthenticationError({ ...at, hint: tokenHint(failure) }, true);
  if (isUnknown(failure, call)) return new errors.UnknownOutcomeError(at);
  if (kind === 'token-refused') return new errors.AuthenticationError(at);
  if (kind === 'refused') return isMissingStatus(status) ? new errors.NotFoundError(at) : new errors.RefusedError(at);
  if (kind === 'limited') return new errors.LimitedError(at);
  if (kind === 'malformed') return new errors.MalformedResponseError(at);
  return new errors.UnavailableError({ ...at, hint }, kind !== 'untrusted', kind === 'untrusted' || kind === 'unsent');
}

/** The hint for responses that are not about the credentials: the path does not exist, or redirects. */
function tokenHint({ status = 0, detail = '' }: Failure): string | undefined {
  const isWrongAddress = status === 404 || status === 405 || (status >= 300 && status < 400);
  if (isWrongAddress) return 'check http or https in the base address, and that /oauth/token and /v1 follow it';
  return explainError(new Error(detail))?.hint;
}
