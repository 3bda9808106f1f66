const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * The one backoff of gaps and refused reviews: tried again ten minutes after a failure, then after four times as long
 * each time, at most after a day.
 *
 * @param attempts that failed so far.
 */
export const isDueAgain = (attempts: number, failedAt: Date, now: Date): boolean =>
  now.getTime() - failedAt.getTime() >= Math.min(dayMs, 10 * minuteMs * 4 ** (attempts - 1));
