import type { Order } from '../../shop/rows.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';

const dayMs = 86_400_000;

/** Whether two dates of creation are those of one order. A corrected SHOP_TIME_ZONE moves a date by less than a day. */
export const isSameCreation = (one: Date, other: Date): boolean => Math.abs(one.getTime() - other.getTime()) <= dayMs;

/**
 * Why the shop's order is another one than the order of the same code that the service has: the shop was numbered anew, or
 * has used the number again. Undefined: it is the same one, or the service has not accepted one yet.
 */
export function otherOrderFault({ createdAt }: Order, link: OrderLink | undefined): string | undefined {
  if (link === undefined || link.orderId === null || link.orderedAt === null) return undefined;
  if (isSameCreation(createdAt, link.orderedAt)) return undefined;
  return (
    `the shop's order of this code was created at ${createdAt.toISOString()}, the one that was pushed before at ` +
    `${link.orderedAt.toISOString()}: it is another order, and nothing of it is sent. ` +
    `If it is the same one, run: ${sameOrders}`
  );
}

/** The command by which a person says that the shop's dates are right. */
export const sameOrders = 'review-sync migrate --same-orders';
