/** Limits of lists and windows, and when to try again. Those of requests and halvings stand in read/read-window.ts. */

export const listLimits = {
  /**
   * One day less than the 45 of the spec: 44 days from midnight to midnight touch 45 calendar days, so that the period
   * is allowed however the service counts its ends, and an hour of daylight saving does not matter either.
   */
  seconds: 44 * 86_400,
  /** "page: max 30" (docs/interface.md, "Reviews"). */
  pages: 30,
  /** "limit: max 100" (docs/interface.md, "Reviews"). */
  pageSize: 100,
} as const;

/** Windows that a process reads at the same time. With windows of 20 pages, 8 are twice as fast as 4; 12 gain up to 2 %. */
export const windowsAtATime = 8;

/**
 * Lists of the longest span in a window, at most. A list that is too long for 29 pages leaves what lies behind them to the
 * next list of its window: 1.057 requests a page instead of 1.075 at 144 reviews a day (npm run bench:reviews).
 */
export const listsOfAWindow = 3;

/**
 * Seconds before a request in which a review may have been written and not be listed yet, and for which a service may
 * refuse lists because its clock is behind ours.
 */
export const justNow = 60;

export const dayMs = 86_400_000;

/**
 * The one backoff of gaps and refused reviews: tried again ten minutes after a failure, then after four times as long
 * each time, at most after a day.
 *
 * @param attempts that failed so far.
 */
export const isDueAgain = (attempts: number, failedAt: Date, now: Date): boolean =>
  now.getTime() - failedAt.getTime() >= Math.min(dayMs, 600_000 * 4 ** (attempts - 1));
