import { RefusedError } from '../../review-api/index.ts';
import type { LeasedOrder } from '../../warehouse/orders/order-store.ts';
import { isSameCode } from '../order/same-content.ts';
import { type RequestLimits, refusalKind } from '../service-health.ts';
import { findOrder, type RequestDeps, sendAndConfirm } from './order-requests.ts';
import type { FailureKind } from './retry-delay.ts';

/**
 * How a deletion ended.
 *
 * - `deleted`, `absent`: the service does not have the order, and nothing is remembered of it.
 * - `kept`: it must not be deleted.
 * - `failed`: nothing was deleted, or nobody knows.
 * - `lost`: the lease was lost after the deletion.
 */
export type Deletion =
  | { kind: 'deleted' | 'absent' | 'lost' }
  | { kind: 'kept'; reason: string }
  | { kind: 'failed'; reason: string; failure: FailureKind };

/**
 * Deletes an order at the service, and forgets it (spec, "Delete an order"). Never one with reviews, and never an order of
 * another code that has its id by now (promise 6).
 *
 * @throws the client's errors when the service as a whole fails.
 */
export async function deleteOrder(deps: RequestDeps, leased: LeasedOrder): Promise<Deletion> {
  try {
    const found = await findOrder(deps, leased.link);
    if ('failed' in found) return { kind: 'failed', reason: found.failed, failure: 'transient' };
    const order = found.value;
    if (order) {
      if (!isSameCode(order.code, leased.orderCode)) return { kind: 'kept', reason: 'its id belongs to another order' };
      if (await deps.store.isLinkedTwice(order.id, leased.orderCode))
        return { kind: 'kept', reason: 'another order of the shop is linked to it' };
      // A number of reviews that the service does not show may be any.
      if (order.sub_orders.some((subOrder) => subOrder.reviews_count !== 0))
        return { kind: 'kept', reason: 'it has, or may have, reviews' };
      const remove = (limits: RequestLimits) => deps.api.orders.remove(order.id, limits);
      const removed = await sendAndConfirm(deps, leased, order.id, remove, () => false);
      if (typeof removed === 'object') return { kind: 'failed', reason: removed.failed, failure: 'transient' };
    }
    if (!(await deps.store.forget(leased))) return { kind: 'lost' };
    return { kind: order ? 'deleted' : 'absent' };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { kind: 'failed', reason: error.message, failure: refusalKind(error) };
  }
}
