import { ReviewSyncError } from '../base/errors.ts';
import type { OrderPage, OrderPosition, OrderRange } from './session.ts';
import { isShopTimeout } from './shop-timeout.ts';

/** The shortest period of changes that one statement is tried with, after longer ones took more than 30 s. */
const leastSpanSeconds = 60;

/** Orders of the smallest page that a walk is tried with, after larger ones took more than 30 s. */
const leastPageSize = 500;

/**
 * Pages of the change feed and of walks over orders.sql, as large as the shop can read them within 30 s. What the last
 * statement needed is remembered by this process until the walk is at its end.
 *
 * @param now the shop's clock.
 */
export function openShorterReads(now: () => Promise<string>) {
  let spanSeconds: number | undefined;
  let pageSize = Number.POSITIVE_INFINITY;

  return {
    /**
     * A page of the change feed. Where its statement takes longer than 30 s, it is repeated with half of the period, and
     * the next pages begin with twice the period that succeeded.
     *
     * @param read reads one page that ends before `until`, an instant.
     * @throws ReviewSyncError `shop-timeout` where even a minute of changes takes longer.
     */
    async changes(after: OrderPosition, read: (until: { until?: string }) => Promise<OrderPage>): Promise<OrderPage> {
      const fromMs = Date.parse(after.at);
      for (;;) {
        const untilMs = spanSeconds === undefined ? undefined : fromMs + spanSeconds * 1000;
        const isPart = untilMs !== undefined && untilMs < Date.parse(await now());
        try {
          const page = await read(isPart ? { until: new Date(untilMs).toISOString() } : {});
          if (page.next === undefined) spanSeconds = undefined;
          else if (spanSeconds !== undefined) spanSeconds *= 2;
          return page;
        } catch (error) {
          if (!isShopTimeout(error)) throw error;
          const passed = (Date.parse(await now()) - fromMs) / 1000;
          spanSeconds = Math.min(spanSeconds ?? passed, passed) / 2;
          if (spanSeconds >= leastSpanSeconds) continue;
          spanSeconds = undefined;
          throw error;
        }
      }
    },

    /**
     * A page of a walk over orders.sql. Where its statement takes longer than 30 s, it is repeated with a tenth of the
     * orders, and the next pages begin with twice the number that succeeded.
     *
     * @throws ReviewSyncError `shop-timeout` where even 500 orders take longer.
     */
    async walk(range: OrderRange, read: (range: OrderRange) => Promise<OrderPage>): Promise<OrderPage> {
      for (;;) {
        const size = Math.min(range.size, pageSize);
        try {
          const page = await read({ ...range, size });
          pageSize = page.next === undefined ? Number.POSITIVE_INFINITY : pageSize * 2;
          return page;
        } catch (error) {
          if (!isShopTimeout(error)) throw error;
          if (size <= leastPageSize) throw tooSlowToWalk(range, size, error);
          pageSize = Math.max(leastPageSize, Math.ceil(size / 10));
        }
      }
    },
  };
}

function tooSlowToWalk({ axis }: OrderRange, size: number, cause: ReviewSyncError): ReviewSyncError {
  const column = axis === 'code' ? 'code' : `${axis}_at`;
  return new ReviewSyncError('shop-timeout', `${cause.message}, to find the next ${size} orders by ${column}`, {
    cause,
    hint:
      `An index of the table on the column of ${column}, or ${column} as that column itself in orders.sql, ` +
      `lets it stop after ${size} rows. ${cause.hint}`,
  });
}
