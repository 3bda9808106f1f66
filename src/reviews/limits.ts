/**
 * Limits of lists and windows, and the backoff. read/read-window.ts has the limits of requests and halvings, and the
 * files of refresh/ have those of reviews that are read by id.
 */

export const listLimits = {
  /**
   * One day less than the 45 of the spec. 44 days from midnight to midnight touch 45 calendar days, so the period is
   * allowed however the service counts its ends. An hour of daylight saving does not matter either.
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
 * A window has at most this many lists of the longest span. If a list is too long for 29 pages, the next list of its
 * window starts behind them: 1.057 requests a page instead of 1.075 at 144 reviews a day (npm run bench:reviews).
 */
export const listsOfAWindow = 3;

/**
 * Seconds before a request. A review written in them may not be listed yet, and a service with a clock behind ours may
 * refuse lists for them.
 */
export const justNow = 60;

export const dayMs = 86_400_000;

const firstRetryMs = 600_000;

/**
 * The one backoff of gaps and refused reviews: ten minutes after the first failure, then four times as long each time,
 * at most a day.
 *
 * @param attempts the attempts that failed so far.
 */
export const isDueAgain = (attempts: number, failedAt: Date, now: Date): boolean =>
  now.getTime() - failedAt.getTime() >= Math.min(dayMs, firstRetryMs * 4 ** (attempts - 1));
