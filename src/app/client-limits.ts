/** Limits of the client for questions whose answer a person waits for: shorter than those of the runs. */
export const shortLimits = {
  timeouts: { connectMs: 5000, headersMs: 20_000, bodyMs: 20_000 },
  retry: { attempts: 3, malformedAttempts: 2, baseDelayMs: 200, maxRetryAfterMs: 1000, totalWaitMs: 5000 },
} as const;
