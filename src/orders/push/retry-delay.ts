import type { OrderLink } from '../../warehouse/orders/order-links.ts';

/** Whether waiting may help: `transient`, a 500, a 403, a lost response; `permanent`, the service refused the record. */
export type FailureKind = 'transient' | 'permanent';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * How long after a failed push an order is pushed again although the shop did not change it, in milliseconds. The service may
 * have been corrected meanwhile.
 *
 * - `transient`: by the next run; if that fails too after 10 minutes, then 20, 40 and so on up to a day.
 * - `permanent`: after a day.
 *
 * @param failedPushes pushes of the order that failed one after the other, this one included.
 */
export function retryDelayMs(kind: FailureKind, failedPushes: number): number {
  if (kind === 'permanent') return dayMs;
  return failedPushes <= 1 ? 0 : Math.min(dayMs, 10 * minuteMs * 2 ** (failedPushes - 2));
}

/** When to look for sub-orders whose creations were not shown, in milliseconds: these may still be carried out. */
export const duplicateCheckDelayMs = 60 * minuteMs;

/**
 * Whether a push comes late enough to be the last that looks for sub-orders whose creations were not shown before. A push that another failure made due may come
 * minutes after the creation was sent again.
 *
 * @param at by the warehouse's clock, as `pushedAt`.
 */
export const isDuplicateCheckDue = ({ pushedAt }: Pick<OrderLink, 'pushedAt'>, at: Date): boolean =>
  pushedAt !== null && at.getTime() - pushedAt.getTime() >= duplicateCheckDelayMs;
