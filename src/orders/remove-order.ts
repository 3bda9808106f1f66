import type { LeasedOrder } from '../warehouse/order-store.ts';
import { deleteOrder } from './delete-order.ts';
import type { DesiredOrder } from './desired-order.ts';
import { count, failOrder, lost, newAttempt, recordOf } from './push-attempt.ts';
import type { OrderDeps, PushDeps, PushOutcome } from './push-order.ts';

/** Deletes an order at the service that the shop has deleted, and records the outcome. */
export async function removeOrder(deps: OrderDeps, leased: LeasedOrder, desired: DesiredOrder): Promise<PushOutcome> {
  const deletion = await deleteOrder(deps, leased);
  const attempt = newAttempt(desired, leased);
  const order = { order: leased.orderCode, orderId: leased.link.orderId };
  switch (deletion.kind) {
    case 'deleted':
      deps.log.info(order, 'deleted the order at the service, as the shop did');
      return { kind: 'ended', counts: { orders_deleted: 1 } };
    case 'absent':
      return { kind: 'ended', counts: {} };
    case 'lost':
      return lost(deps, leased);
    case 'kept': {
      // No run tries again until the shop changes the order. Nothing of it waits or fails any more.
      deps.log.warn(order, `did not delete an order that the shop deleted: ${deletion.reason}`);
      const record = recordOf(deps, attempt, leased, undefined);
      const kept = { ...record, userGradeCode: undefined, waiting: [], deadLetters: [] };
      if (!(await deps.store.record(leased, kept))) return lost(deps, leased);
      return { kind: 'ended', counts: { orders_deleted_kept: 1 } };
    }
    case 'failed':
      failOrder(attempt, deletion.reason, deletion.failure);
      count(attempt, 'orders_failed');
      if (!(await deps.store.record(leased, recordOf(deps, attempt, leased, undefined)))) return lost(deps, leased);
      return { kind: 'ended', counts: attempt.counts };
    default:
      return deletion satisfies never;
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
  const record = recordOf(deps, attempt, leased, undefined);
  const noted = { ...record, fingerprint: null, userGradeCode: undefined, waiting: [], deadLetters: [] };
  if (!(await deps.store.record(leased, noted))) return lost(deps, leased);
  return { kind: 'ended', counts: {} };
}
