import { isoOf, type Second } from '../../base/time/span.ts';
import type { Shop } from '../../shop/index.ts';
import type { OrderPage, OrderPosition, RawOrder } from '../../shop/orders.ts';

/** From the first second of a day to the first second after one; either may be open. */
export type CreationRange = { start: Second | undefined; end: Second | undefined };

/**
 * One page of the codes of orders created in the range, in the order of their creation; without a range of all orders, by code.
 *
 * @param after where the page starts, as `next` of the page before it said; undefined: with the first order.
 */
export function codesByCreation(
  shop: Pick<Shop, 'orderCodes'>,
  { start, end }: CreationRange,
  size: number,
  after: OrderPosition = { at: start === undefined ? '-infinity' : isoOf(start), code: '' },
): Promise<OrderPage> {
  const axis = start === undefined && end === undefined ? 'code' : 'created';
  return shop.orderCodes({ axis, after, ...(end !== undefined && { before: isoOf(end) }), size });
}

/** Codes found in one statement, and orders read in one transaction. */
const [codesAtOnce, ordersAtOnce] = [5000, 500];

/** The shop's orders created in the range, as codesByCreation finds them, a page at a time, as they are when their page is read. */
export async function* ordersByCreation(
  shop: Pick<Shop, 'orderCodes' | 'orders'>,
  range: CreationRange,
): AsyncGenerator<RawOrder[], void, undefined> {
  let after: OrderPosition | undefined;
  do {
    const page = await codesByCreation(shop, range, codesAtOnce, after);
    for (let at = 0; at < page.keys.length; at += ordersAtOnce) {
      yield await shop.orders(page.keys.slice(at, at + ordersAtOnce).map(({ code }) => code));
    }
    after = page.next;
  } while (after !== undefined);
}
