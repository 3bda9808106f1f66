/** How webhooks are delivered; the spec shows none of it. */
export type WebhookLimits = {
  /** How long a receiver may take to answer. Default 10 seconds. */
  timeoutMs: number;
  /** Attempts, the first included, after which an event is given up. Default 20: with the waits below, eight hours. */
  attempts: number;
  /** Wait after the first failure; it doubles from one to the next. Default 1 second. */
  firstRetryMs: number;
  /** Default 1 hour. */
  longestRetryMs: number;
  /** Most events in one body. Default 500: they stay under the 100 kB that many receivers take. */
  batch: number;
};

export const webhookLimits: WebhookLimits = {
  timeoutMs: 10_000,
  attempts: 20,
  firstRetryMs: 1000,
  longestRetryMs: 3_600_000,
  batch: 500,
};
