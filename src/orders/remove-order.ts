import { type OrderDetail, RefusedError } from '../review-api/index.ts';
import type { LeasedOrder } from '../warehouse/order-store.ts';
import type { DesiredOrder } from './desired-order.ts';
import { findOrder, sendWrite } from './post-order.ts';
import { count, failOrder, lost, newAttempt, recordOf } from './push-attempt.ts';
import type { OrderDeps, PushDeps, PushOutcome } from './push-order.ts';
import type { FailureKind } from './retry-delay.ts';
import { isSameCode } from './same-content.ts';
import { refusalKind } from './service-health.ts';

/**
 * Deletes an order that the shop has deleted (spec, "Delete an order"). Never with reviews, and never an order of another
 * code that has its id by now (promise 6).
 */
export async function removeOrder(deps: OrderDeps, leased: LeasedOrder, desired: DesiredOrder): Promise<PushOutcome> {
  try {
    const found = await findOrder(deps, leased.link);
    if ('failed' in found) return await failed(deps, leased, desired, found.failed, 'transient');
    const detail = found.value;
    const why = detail && (await whyKept(deps, detail, leased.orderCode));
    if (why !== undefined) return await keepAtService(deps, leased, desired, why);
    if (detail) {
      const removed = await sendWrite(deps, leased, (limits) => deps.api.orders.remove(detail.id, limits));
      if ('failed' in removed) return await failed(deps, leased, desired, removed.failed, 'transient');
    }
    if (!(await deps.store.forget(leased))) return lost(deps, leased);
    if (!detail) return { kind: 'ended', counts: {} };
    deps.log.info({ order: leased.orderCode, orderId: detail.id }, 'deleted the order at the service, as the shop did');
    return { kind: 'ended', counts: { orders_deleted: 1 } };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return failed(deps, leased, desired, error.message, refusalKind(error));
  }
}

/**
 * Takes note that the order is to be deleted, for the last batch of the run; what is held back stays held back. The fingerprint
 * is forgotten, so that an order that returns is pushed.
 */
export async function noteDeletion(deps: PushDeps, leased: LeasedOrder, desired: DesiredOrder): Promise<PushOutcome> {
  if (leased.link.removalsHeld) {
    await deps.store.release(leased, { wasSent: false });
    return { kind: 'ended', counts: { orders_failed: 1 } };
  }
  const attempt = newAttempt(desired, leased);
  attempt.removalsWanted = 1;
  const record = recordOf(deps, attempt, leased, { kind: 'failed', reason: '', failure: 'permanent' });
  const noted = { ...record, fingerprint: null, userGradeCode: undefined, waiting: [], deadLetters: [] };
  if (!(await deps.store.record(leased, noted))) return lost(deps, leased);
  return { kind: 'ended', counts: {} };
}

/** Why the order must not be deleted at the service; undefined where it may be. */
export async function whyKept(
  { store }: Pick<OrderDeps, 'store'>,
  detail: OrderDetail,
  code: string,
): Promise<string | undefined> {
  if (!isSameCode(detail.code, code)) return 'its id belongs to another order';
  if (await store.isLinkedTwice(detail.id, code)) return 'another order of the shop is linked to it';
  // A number of reviews that the service does not show may be any.
  return detail.sub_orders.every((subOrder) => subOrder.reviews_count === 0)
    ? undefined
    : 'it has, or may have, reviews';
}

/** Records that the order stays: no run tries again until the shop changes it. Nothing of it waits or fails any more. */
async function keepAtService(
  deps: OrderDeps,
  leased: LeasedOrder,
  desired: DesiredOrder,
  why: string,
): Promise<PushOutcome> {
  deps.log.warn(
    { order: leased.orderCode, orderId: leased.link.orderId },
    `did not delete an order that the shop deleted: ${why}`,
  );
  const record = recordOf(deps, newAttempt(desired, leased), leased, {
    kind: 'failed',
    reason: why,
    failure: 'permanent',
  });
  const kept = { ...record, userGradeCode: undefined, waiting: [], deadLetters: [] };
  if (!(await deps.store.record(leased, kept))) return lost(deps, leased);
  return { kind: 'ended', counts: { orders_deleted_kept: 1 } };
}

async function failed(
  deps: OrderDeps,
  leased: LeasedOrder,
  desired: DesiredOrder,
  reason: string,
  kind: FailureKind,
): Promise<PushOutcome> {
  const attempt = newAttempt(desired, leased);
  failOrder(attempt, reason, kind);
  count(attempt, 'orders_failed');
  if (!(await deps.store.record(leased, recordOf(deps, attempt, leased, { kind: 'failed', reason, failure: kind })))) {
    return lost(deps, leased);
  }
  return { kind: 'ended', counts: attempt.counts };
}
