import { sleep } from '../../base/timeout.ts';
import { waitingFor } from '../../base/waits.ts';
import type { OrderDetail } from '../../review-api/index.ts';
import type { LeasedOrder } from '../../warehouse/orders/order-store.ts';
import type { FailureKind } from '../backoff.ts';
import type { PushPolicy } from '../order/desired-order.ts';
import { isSameCode } from '../order/same-value.ts';
import type { OrderDeps } from '../order-deps.ts';
import type { Send, Sent } from '../requests.ts';

/**
 * How a deletion ended.
 *
 * - `deleted`: the service does not have the order any more, and nothing is remembered of it.
 * - `absent`: the service did not have it. Where the deletion was wanted, nothing is remembered of it.
 * - `kept`: it must not be deleted, or the deletion was not wanted.
 * - `failed`: nothing was deleted, nobody knows, or the day's allowance does not reach (`held`).
 */
export type Deletion =
  | { kind: 'deleted' | 'absent' }
  | { kind: 'kept'; reason: string }
  | { kind: 'failed'; reason: string; failure: FailureKind; held?: number };

/**
 * Deletes an order at the service that the shop does not have any more, and forgets it (docs/interface.md, "Delete an
 * order"). Never one with reviews, and never one of another code that has its id by now (promise 6).
 *
 * @param how.isWanted ORDER_DELETES=send. Otherwise this only looks whether the service has the order.
 * @throws the client's errors when the service as a whole fails.
 */
export async function deleteOrder(
  deps: Pick<OrderDeps, 'api' | 'store' | 'log' | 'takeRemovals' | 'patience' | 'signal'>,
  leased: LeasedOrder,
  { read, write }: { read: Send; write: Send },
  { isWanted, policy }: { isWanted: boolean; policy: Pick<PushPolicy, 'allowRemovals'> },
): Promise<Deletion> {
  const found = await findOrder(deps, leased, read);
  if (found.kind === 'unknown') return { kind: 'failed', reason: found.reason, failure: 'transient' };
  if (found.kind === 'failed') return found;
  if (found.kind === 'absent') {
    if (isWanted) await deps.store.forget(leased);
    return { kind: 'absent' };
  }
  const order = found.value;
  if (!isWanted) return { kind: 'kept', reason: 'ORDER_DELETES is off' };
  // A number of reviews that the service does not show may be any.
  if (order.sub_orders.some(({ reviews_count }) => reviews_count !== 0))
    return { kind: 'kept', reason: 'it has, or may have, reviews' };
  if (await deps.store.isLinkedTwice(order.id, leased.orderCode))
    return { kind: 'kept', reason: 'another order of the shop is linked to it' };
  if (!policy.allowRemovals && !(await deps.takeRemovals(1))) return { ...held, held: 1 };
  const removed = await write((options) => deps.api.orders.remove(order.id, options));
  if (removed.kind === 'failed') return removed;
  if (removed.kind === 'unknown') {
    // Only reading the order shows whether it was deleted.
    await waitingFor('outage', () => sleep(deps.patience.settleMs, deps.signal));
    const after = await findOrder(deps, leased, read);
    if (after.kind !== 'absent') return { kind: 'failed', reason: removed.reason, failure: 'transient' };
  }
  await deps.store.forget(leased);
  deps.log.info({ order: leased.orderCode, orderId: order.id }, 'deleted the order at the service, as the shop did');
  return { kind: 'deleted' };
}

const held = {
  kind: 'failed' as const,
  failure: 'transient' as const,
  reason:
    'the shop has deleted the order; it stays at the service, because the removals of 24 hours are used up. ' +
    'If that is right, run: npx review-sync sync orders --allow-removals',
};

/**
 * By its id, then by its code: the response to the push that made it may have been lost, or the service has made it
 * again under another id. A service need not look orders up by code; then what its id says counts. No order is created
 * to learn its id.
 */
async function findOrder(
  { api }: Pick<OrderDeps, 'api'>,
  { link: { orderId }, orderCode }: LeasedOrder,
  read: Send,
): Promise<Sent<OrderDetail>> {
  const known = orderId === null ? undefined : await read((options) => api.orders.get(orderId, options));
  const isOurs = known?.kind === 'done' && isSameCode(known.value.code, orderCode);
  if (known && (isOurs || (known.kind !== 'done' && known.kind !== 'absent'))) return known;
  const found = await read((options) => api.orders.getByCode(orderCode, options));
  return known && found.kind === 'failed' ? { kind: 'absent' } : found;
}
