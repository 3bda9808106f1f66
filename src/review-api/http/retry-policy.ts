import type { Call } from './call.ts';

/** Why an attempt led to no usable response. Another attempt may. */
export type Failure =
  /** No connection was made: nothing was sent. `permanent`: no later attempt will succeed (an invalid certificate). */
  | { kind: 'unsent'; permanent: boolean }
  /** All or part of the request was sent, and no whole response came. */
  | { kind: 'lost' }
  /** 429: not done, too many requests. */
  | { kind: 'limited'; retryAfterMs: number | undefined }
  /** 5xx or 408: the status does not say whether the service carried the request out. */
  | { kind: 'failed'; retryAfterMs: number | undefined }
  /** A success by its status, with a body that is not what the request returns. */
  | { kind: 'malformed' }
  /** 202 and others: the service may carry the request out later. Another attempt would say no more. */
  | { kind: 'not-confirmed' };

export type RetryLimits = {
  /** Attempts in all, the first included. */
  attempts: number;
  /** Attempts in all if responses are malformed. */
  malformedAttempts: number;
  /** Backoff: a random wait up to `baseDelayMs × 2^(attempt − 1)`, at most `maxDelayMs`. */
  baseDelayMs: number;
  maxDelayMs: number;
  /** The longest hold that a call waits for, in milliseconds. If one ends later, the call ends at once with a `LimitedError`. */
  maxRetryAfterMs: number;
  /** No further attempt once one request has waited this long in all, in milliseconds. */
  totalWaitMs: number;
};

/** A longer `Retry-After` counts as this long. */
const longestHoldMs = 24 * 3_600_000;

/** About two minutes of waiting: 0.5 s, 1 s, 2 s … 30 s, half of each on average. */
export const defaultRetryLimits: RetryLimits = {
  attempts: 14,
  malformedAttempts: 4,
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  maxRetryAfterMs: longestHoldMs,
  totalWaitMs: 120_000,
};

/** What a call has cost so far. */
export type Spent = {
  /** The number of the attempt, 1 for the first. */
  number: number;
  /** Waits of this request, in milliseconds: its own, and holds after a 5xx. Holds after a 429 do not count. */
  waitedMs: number;
  /**
   * What `giveUpAfterMs` limits, in milliseconds: failed attempts other than a 429, and the waits of this request. Waits in a
   * hold count only with `countsHolds`.
   */
  spentMs: number;
};

export type AttemptState = Spent &
  Pick<Call, 'giveUpAfterMs' | 'countsHolds' | 'repeatable'> & {
    /** Whether the service refuses this request while it carries out others: then it is a failure of this request. */
    isAlone?: boolean;
    /** From 0 to below 1. */
    random: number;
  };

/**
 * How long to wait after a failed attempt, in milliseconds. Pure: the caller passes the random number.
 *
 * @returns `pauseMs`: how long no request at all is sent, because the service asked for fewer; `delayMs`: how long this
 *   request waits after that. Undefined if it ends: then it makes no other one wait.
 */
export function nextWait(
  failure: Failure,
  attempt: AttemptState,
  limits: RetryLimits,
): { pauseMs: number; delayMs: number } | undefined {
  const ceilingMs = Math.min(limits.maxDelayMs, limits.baseDelayMs * 2 ** Math.min(attempt.number - 1, 30));
  const backoffMs = Math.round(attempt.random * ceilingMs);
  const askedMs = Math.min(('retryAfterMs' in failure && failure.retryAfterMs) || 0, longestHoldMs);

  if (isUnknown(failure, attempt) || ('permanent' in failure && failure.permanent)) return undefined;
  const allowed = failure.kind === 'malformed' ? Math.min(limits.malformedAttempts, limits.attempts) : limits.attempts;
  if (attempt.number >= allowed || attempt.waitedMs >= limits.totalWaitMs) return undefined;
  const { spentMs, giveUpAfterMs = Number.POSITIVE_INFINITY, isAlone, countsHolds } = attempt;
  const isHold = !isAlone && (askedMs > 0 || failure.kind === 'limited');
  if ((!isHold || countsHolds) && spentMs + askedMs + backoffMs > giveUpAfterMs) return undefined;
  if (!isHold) return { pauseMs: 0, delayMs: askedMs + backoffMs };
  // Jitter on top of `Retry-After` spreads clients that were given the same second.
  return askedMs > 0 ? { pauseMs: askedMs, delayMs: backoffMs } : { pauseMs: backoffMs, delayMs: 0 };
}

/** Whether the service may have carried the request out, or will do so, and sending it again could do it twice. */
export const isUnknown = ({ kind }: Failure, { repeatable = true }: Pick<Call, 'repeatable'>): boolean =>
  kind === 'not-confirmed' || (!repeatable && kind !== 'unsent' && kind !== 'limited');

/**
 * The wait that a `Retry-After` header asks for, in milliseconds. The header holds seconds or a date (some services: seconds since 1970); if a proxy has
 * added its own, the longest wait counts. Undefined if the header is absent or unreadable. `nowMs` should be the service's
 * own clock if its `Date` header is known.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const waits = (header?.match(/[A-Za-z]{3,9}, [^,]+|[^,\s][^,]*/g) ?? []).flatMap((part) => {
    const value = part.trim();
    if (/^\d{1,9}(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000);
    // Date.parse reads '-5' and '1e9' as years, so only a text that begins like a date is parsed.
    const isDate = /^(?:[A-Za-z]{3}|\d{4}-\d\d-\d\dT)/.test(value);
    const at = isDate ? Date.parse(value) : /^\d{10}$/.test(value) ? Number(value) * 1000 : Number.NaN;
    return Number.isNaN(at) ? [] : Math.max(0, at - nowMs);
  });
  return waits.length > 0 ? Math.max(...waits) : undefined;
}
