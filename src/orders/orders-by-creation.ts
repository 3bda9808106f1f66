import { isoOf } from '../base/time/span.ts';
import type { Shop } from '../shop/index.ts';
import type { OrderPosition, RawOrder } from '../shop/orders.ts';
import type { CreationRange } from './backfill-orders.ts';

/** Codes found in one statement, and orders read in one transaction. */
const [codesAtOnce, ordersAtOnce] = [5000, 500];

/**
 * The shop's orders created in the range, a page at a time, as they are when their page is read; without a range all
 * orders, by code.
 */
export async function* ordersByCreation(
  shop: Pick<Shop, 'orderCodes' | 'orders'>,
  { start, end }: CreationRange,
): AsyncGenerator<RawOrder[], void, undefined> {
  const axis = start === undefined && end === undefined ? 'code' : 'created';
  const before = end === undefined ? {} : { before: isoOf(end) };
  let after: OrderPosition | undefined = { at: start === undefined ? '-infinity' : isoOf(start), code: '' };
  while (after !== undefined) {
    const page = await shop.orderCodes({ axis, after, ...before, size: codesAtOnce });
    for (let at = 0; at < page.keys.length; at += ordersAtOnce) {
      yield await shop.orders(page.keys.slice(at, at + ordersAtOnce).map(({ code }) => code));
    }
    after = page.next;
  }
}
