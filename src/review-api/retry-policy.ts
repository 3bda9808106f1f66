/** Why an attempt brought no answer that can be used, and that another may mend. */
export type Failure =
  /** The connection never stood: nothing was sent. `hopeless`: no later attempt will do better (a bad certificate). */
  | { kind: 'unsent'; hopeless: boolean }
  /** It was sent, or part of it, and no whole answer came. */
  | { kind: 'lost' }
  /** 429: not done, too many requests. */
  | { kind: 'limited'; retryAfterMs: number | undefined }
  /** 5xx or 408: done or not, the status does not say. */
  | { kind: 'failed'; retryAfterMs: number | undefined }
  /** A success by its status, with a body that is not what was asked for. */
  | { kind: 'malformed' };

export type RetryLimits = {
  /** Attempts in all, the first included. */
  attempts: number;
  /** Attempts in all where answers are malformed. */
  malformedAttempts: number;
  /** Backoff: a random wait up to `baseDelayMs × 2^(attempt − 1)`, at most `maxDelayMs`. */
  baseDelayMs: number;
  maxDelayMs: number;
  /** The longest `Retry-After` that is obeyed, in milliseconds. */
  maxRetryAfterMs: number;
  /** No further attempt once one request has waited this long in all, in milliseconds. */
  totalWaitMs: number;
};

/** About two minutes of waiting: 0.5 s, 1 s, 2 s … 30 s, half of each on average. */
export const defaultRetryLimits: RetryLimits = {
  attempts: 14,
  malformedAttempts: 4,
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  maxRetryAfterMs: 300_000,
  totalWaitMs: 120_000,
};

/** `holdMs`: for so long no request of this client should start, since the service asked everybody to slow down. */
export type Step = { holdMs: number } & (
  | { action: 'repeat'; delayMs: number }
  | { action: 'give-up' }
  | { action: 'unknown-outcome' }
);

export type Attempt = {
  /** 1 for the first. */
  number: number;
  /** Waited so far for this request, in milliseconds. */
  waitedMs: number;
  /** Whether sending it twice does no harm. */
  repeatable: boolean;
  /** From 0 to below 1. */
  random: number;
};

/** What to do after a failed attempt. */
export function nextStep(failure: Failure, attempt: Attempt, limits: RetryLimits): Step {
  const backoffMs = Math.round(attempt.random * backoffCeilingMs(attempt.number, limits));
  const named = 'retryAfterMs' in failure ? failure.retryAfterMs : undefined;
  const namedMs = named === undefined ? 0 : Math.min(named, limits.maxRetryAfterMs);
  const holdMs = failure.kind === 'limited' && namedMs === 0 ? backoffMs : namedMs;

  if (!attempt.repeatable && mayBeDone(failure)) return { action: 'unknown-outcome', holdMs };
  if (failure.kind === 'unsent' && failure.hopeless) return { action: 'give-up', holdMs };
  const allowed = failure.kind === 'malformed' ? Math.min(limits.malformedAttempts, limits.attempts) : limits.attempts;
  if (attempt.number >= allowed || attempt.waitedMs >= limits.totalWaitMs) return { action: 'give-up', holdMs };
  // The jitter on top of a named wait keeps those who were told the same second from coming back together.
  return { action: 'repeat', delayMs: namedMs + backoffMs, holdMs };
}

/** Whether the service may have carried out the write, so that sending it again could do it twice. */
function mayBeDone(failure: Failure): boolean {
  switch (failure.kind) {
    case 'unsent':
    case 'limited':
      return false;
    case 'lost':
    case 'failed':
    case 'malformed':
      return true;
    default:
      return failure satisfies never;
  }
}

function backoffCeilingMs(attemptNumber: number, limits: RetryLimits): number {
  return Math.min(limits.maxDelayMs, limits.baseDelayMs * 2 ** Math.min(attemptNumber - 1, 30));
}
