import { sleep } from '../../base/timeout.ts';
import type { LeasedOrder } from '../../warehouse/orders/order-store.ts';
import { takeRemovals } from '../../warehouse/orders/removal-allowance.ts';
import type { PushRights } from '../contact-rule.ts';
import { allowance, type FailureKind } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { findOrder } from '../plan/find-order.ts';
import type { Requests } from '../requests.ts';
import { type PushFailure, toAllow } from './push-record.ts';

/**
 * How a deletion ended.
 *
 * - `deleted`: the service does not have the order any more, and nothing is remembered of it.
 * - `absent`: the service did not have it. Where the deletion was wanted, nothing is remembered of it.
 * - `kept`: the service has it. It must not be deleted (it has, or may have, reviews; another order of the shop is
 *   linked to it), or the deletion was not wanted. With a `failure`: the service refused to delete it, or the day's
 *   allowance does not reach (`held`).
 * - `unknown`: nobody knows whether the service has it, or will carry the deletion out later.
 */
export type Deletion =
  | { kind: 'deleted' | 'absent' | 'kept'; failure?: undefined }
  | { kind: 'kept' | 'unknown'; failure: PushFailure };

/**
 * Deletes an order at the service that the shop does not have any more, and forgets it (docs/interface.md, "Delete an
 * order"). Never one with reviews, and never one of another code that has its id by now (promise 6).
 *
 * Where the rights say `off` this only looks whether the service has the order.
 *
 * @throws the client's errors when the service as a whole fails.
 */
export async function deleteOrder(
  deps: OrderDeps,
  leased: LeasedOrder,
  requests: Requests,
  { allowRemovals, deletes }: Pick<PushRights, 'allowRemovals' | 'deletes'>,
): Promise<Deletion> {
  const { orderCode: code, link } = leased;
  const isWanted = deletes === 'send';
  const find = () => findOrder(deps, { code, orderId: link.orderId }, requests);
  const found = await find();
  if (found.kind === 'unknown' || found.kind === 'failed') return { kind: 'unknown', failure: failureOf(found) };
  if (found.kind === 'absent') {
    if (isWanted) await deps.store.forget(leased);
    return { kind: 'absent' };
  }
  const order = found.value;
  // A number of reviews that the service does not show may be any.
  const mayHaveReviews = order.sub_orders.some(({ reviews_count }) => reviews_count !== 0);
  const isKept =
    !isWanted || mayHaveReviews || (await deps.store.otherCodesOf({ orderId: order.id, orderCode: code })).length > 0;
  if (isKept) return { kind: 'kept' };
  if (!allowRemovals && !(await takeRemovals(deps.db, 1, allowance))) {
    return { kind: 'kept', failure: { reason: heldBack, failure: 'transient', held: 1 } };
  }
  const removed = await requests.write((options) => deps.api.orders.remove(order.id, options));
  if (removed.kind === 'failed' && removed.isRefused) return { kind: 'kept', failure: failureOf(removed) };
  if (removed.kind === 'unknown' || removed.kind === 'failed') {
    // Only reading the order shows whether it was deleted: a service that responds with 500 may have done it, or do it
    // later.
    await sleep(deps.limits.settleMs, deps.signal);
    const after = await find();
    if (after.kind !== 'absent') return { kind: 'unknown', failure: failureOf(removed) };
  }
  await deps.store.forget(leased);
  deps.log.info({ order: leased.orderCode, orderId: order.id }, 'deleted the order at the service, as the shop did');
  return { kind: 'deleted' };
}

const failureOf = (sent: { reason: string; failure?: FailureKind }): PushFailure => ({
  reason: sent.reason,
  failure: sent.failure ?? 'transient',
});

const heldBack = `the shop has deleted the order; it stays at the service, because the removals of 24 hours are used up. ${toAllow}`;
