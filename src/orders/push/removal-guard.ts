import type { PreparedOrder } from '../order/prepare-order.ts';

/** Removals in one run that are always allowed. */
const alwaysAllowed = 20;
/** More removals are unusual if they exceed this share of the orders that the run has read. */
const usualShare = 0.01;

/**
 * Whether a run would remove far more than usual: `order_lines` has lost rows, a table was truncated, `deleted_at` was set by
 * mistake. Then nothing is removed until `--allow-removals` is given (promise 6).
 *
 * @param read orders that the run has read, or of a day.
 * @param removals orders and sub-orders that it would remove.
 */
export function isUnusual({ read, removals }: { read: number; removals: number }): boolean {
  return removals > alwaysAllowed && removals > read * usualShare;
}

/** An order that has lost all of its lines looks like a fault of the query rather than like a purchase of nothing. */
export function emptiesOrder({ lines, waiting, faulty }: PreparedOrder): boolean {
  return lines.length + waiting.length + faulty.length === 0;
}

const allow = 'If that is right, run: npx review-sync sync orders --allow-removals';

export const heldReason = (removals: number, read: number) =>
  `the shop has deleted it or does not show all of its lines any more; the run would have removed ${removals} orders and sub-orders of ${read} orders that it read, far more than usual. Nothing was removed. ${allow}`;

/** @param removals sub-orders of the order that stay. */
export const keptReason = (removals: number, { isEmptied }: { isEmptied: boolean }) =>
  isEmptied
    ? `the shop shows no line of the order any more, although the service has ${removals} of its sub-orders; none was removed. ${allow}`
    : `${removals} of its sub-orders are not removed although the shop does not show their lines any more, because far more than usual were missing at once. ${allow}`;
