import { ReviewSyncError } from '../base/errors.ts';
import type { OrderPage, OrderPosition, OrderRange } from './session.ts';
import { isShopTimeout } from './shop-timeout.ts';

/** The shortest period of changes that one statement is tried with, after longer ones took more than 30 s. */
const leastSpanSeconds = 60;

/**
 * A page of the change feed. Where its statement takes longer than 30 s, it is repeated with half of the period, and
 * the next pages begin with twice the period that succeeded.
 *
 * @param read reads one page that ends before `until`, an instant.
 * @param now the shop's clock.
 * @throws ReviewSyncError `shop-timeout` where even a minute of changes takes longer.
 */
export async function readShorterPeriods(
  after: OrderPosition,
  { read, now }: { read(until: { until?: string }): Promise<OrderPage>; now(): Promise<string> },
): Promise<OrderPage> {
  const fromMs = Date.parse(after.at);
  let spanSeconds = after.spanSeconds;
  for (;;) {
    const nowMs = spanSeconds === undefined ? Number.POSITIVE_INFINITY : Date.parse(await now());
    const untilMs = spanSeconds === undefined ? Number.POSITIVE_INFINITY : fromMs + spanSeconds * 1000;
    try {
      const page = await read(untilMs >= nowMs ? {} : { until: new Date(untilMs).toISOString() });
      if (page.next === undefined || spanSeconds === undefined) return page;
      return { ...page, next: { ...page.next, spanSeconds: spanSeconds * 2 } };
    } catch (error) {
      if (!isShopTimeout(error)) throw error;
      spanSeconds = Math.min(spanSeconds ?? Number.POSITIVE_INFINITY, (Date.parse(await now()) - fromMs) / 1000) / 2;
      if (!(spanSeconds >= leastSpanSeconds)) throw error;
    }
  }
}

/** Orders of the smallest page that a walk is tried with, after larger ones took more than 30 s. */
const leastPageSize = 500;

/**
 * A page of a walk over orders.sql. Where its statement takes longer than 30 s, it is repeated with a tenth of the
 * orders, and the next pages begin with twice the number that succeeded.
 *
 * @throws ReviewSyncError `shop-timeout` where even 500 orders take longer.
 */
export async function readSmallerPages(
  range: OrderRange,
  read: (range: OrderRange) => Promise<OrderPage>,
): Promise<OrderPage> {
  const { pageSize = range.size, ...after } = range.after;
  let size = Math.min(range.size, pageSize);
  for (;;) {
    try {
      const page = await read({ ...range, after, size });
      if (page.next === undefined || size === range.size) return page;
      return { ...page, next: { ...page.next, pageSize: size * 2 } };
    } catch (error) {
      if (!isShopTimeout(error)) throw error;
      if (size <= leastPageSize) throw tooSlowToWalk(range, size, error);
      size = Math.max(leastPageSize, Math.ceil(size / 10));
    }
  }
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
