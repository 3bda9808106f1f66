import type { PreparedOrder } from './prepare-order.ts';

/** Removals in one slice that are always allowed. */
const alwaysAllowed = 20;
/** More removals are unusual if they exceed this share of what the slice has at the service. */
const usualShare = 0.25;

/**
 * Whether a slice would remove far more than usual: `order_lines` is empty, a table was truncated, `deleted_at` was set
 * everywhere. Then nothing of the slice is removed until `--allow-removals` is given (promise 6).
 *
 * @param pushed sub-orders (or orders) of the slice that were pushed before.
 * @param vanished how many of them the shop does not have any more.
 */
export function isUnusual({ pushed, vanished }: { pushed: number; vanished: number }): boolean {
  return vanished > alwaysAllowed && vanished > pushed * usualShare;
}

/** An order that has lost all of its lines looks like a fault of the query rather than like a purchase of nothing. */
export function emptiesOrder({ lines, waiting, faulty }: PreparedOrder): boolean {
  return lines.length + waiting.length + faulty.length === 0;
}

const allow = 'If that is right, run: npx review-sync sync orders --allow-removals';

export const heldRemovalsReason = (removals: number, { isEmptied }: { isEmptied: boolean }) =>
  isEmptied
    ? `the shop shows no line of the order any more, although the service has ${removals} of its sub-orders; none was removed. ${allow}`
    : `${removals} of its sub-orders would be removed because the shop does not show their lines any more, together with far more than usual; nothing was removed. ${allow}`;

export const heldDeletionReason = (deleted: number) =>
  `the shop marks it as deleted, together with far more orders than usual (${deleted} in this slice); nothing was deleted. ${allow}`;
