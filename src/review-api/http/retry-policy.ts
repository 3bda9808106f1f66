import type { Call } from './call.ts';
import { longestHoldMs } from './session.ts';

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
  /** Backoff: a random wait up to `baseDelayMs × 2^(attempt − 1)`, at most `maxDelayMs`. */
  baseDelayMs: number;
  maxDelayMs: number;
  /** The longest hold that a call waits for, in milliseconds. If one ends later, the call ends at once with a `LimitedError`. */
  maxRetryAfterMs: number;
  /** `giveUpAfterMs` of calls that have none of their own. */
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

/** Attempts in all if responses are malformed. */
const malformedAttempts = 4;

/** What a call has cost so far. */
export type Spent = {
  /** The number of the attempt, 1 for the first. */
  number: number;
  /** What `giveUpAfterMs` limits, in milliseconds: failed attempts other than a 429, and the waits of this request alone. */
  spentMs: number;
  /** Whether a 429 of this call has made all requests wait. */
  hasHeld: boolean;
};

/** A failure by which the service asks to wait. */
export type WaitAsked = Extract<Failure, { retryAfterMs: unknown }>;

export const asksToWait = <One extends { kind: string }>(outcome: One): outcome is One & WaitAsked =>
  'retryAfterMs' in outcome && (outcome.kind === 'limited' || outcome.retryAfterMs !== undefined);

/** Whether another attempt may follow. */
export function mayRepeat(
  failure: Failure,
  call: Pick<Call, 'repeatable'>,
  { number }: Pick<Spent, 'number'>,
  limits: RetryLimits,
) {
  const most = failure.kind === 'malformed' ? Math.min(malformedAttempts, limits.attempts) : limits.attempts;
  return number < most && !isUnknown(failure, call) && !('permanent' in failure && failure.permanent);
}

/** A random wait before the next attempt, in milliseconds. @param random from 0 to below 1. */
export const backoffOf = (number: number, random: number, { baseDelayMs, maxDelayMs }: RetryLimits): number =>
  Math.round(random * Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(number - 1, 30)));

/** How long one request waits alone, in milliseconds: as long as the service says, and the backoff. Undefined: it ends. */
export function ownWait(
  failure: Failure,
  backoffMs: number,
  { giveUpAfterMs }: Pick<Call, 'giveUpAfterMs'>,
  { spentMs }: Pick<Spent, 'spentMs'>,
  limits: RetryLimits,
): number | undefined {
  const waitMs = (('retryAfterMs' in failure && failure.retryAfterMs) || 0) + backoffMs;
  return spentMs + waitMs > (giveUpAfterMs ?? limits.giveUpAfterMs) ? undefined : waitMs;
}

/** Whether the service may have carried the request out, or will do so, and sending it again could do it twice. */
export const isUnknown = ({ kind }: Failure, { repeatable = true }: Pick<Call, 'repeatable'>): boolean =>
  kind === 'not-confirmed' || (!repeatable && kind !== 'unsent' && kind !== 'limited');

/**
 * The wait that a `Retry-After` header asks for, in milliseconds. The header holds seconds or a date; if a proxy has added
 * its own, the longest wait counts. Undefined if the header is absent or unreadable. `nowMs` should be the service's own
 * clock if its `Date` header is known.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  // A date has a comma of its own, behind the name of its day.
  const waits = (header?.match(/\s*[A-Za-z]{3,9},[^,]*|[^,]+/g) ?? []).flatMap((part) => {
    const value = part.trim();
    const seconds = /^\d{1,9}(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
    // Date.parse reads '-5' and '1e9' as years.
    const ms = /^[A-Za-z]{3}/.test(value) ? Date.parse(value) - nowMs : seconds * 1000;
    return Number.isNaN(ms) ? [] : Math.max(0, Math.ceil(ms));
  });
  return waits.length > 0 ? Math.max(...waits) : undefined;
}
