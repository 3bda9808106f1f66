import { deleteOrder } from './delete-order.ts';
import { count, endAttempt, failOrder, leaseLostOutcome, type PushAttempt, recordOf } from './push-attempt.ts';
import type { OrderDeps, PushDeps, PushOutcome } from './push-order.ts';

/** Nothing of an order that the shop has deleted waits or fails. */
const nothingLeft = { userGradeCode: undefined, waiting: [], deadLetters: [] };

/** Deletes an order at the service that the shop has deleted, and records the outcome. */
export async function removeOrder(deps: OrderDeps, attempt: PushAttempt): Promise<PushOutcome> {
  const { leased } = attempt;
  const order = { order: leased.orderCode, orderId: leased.link.orderId };
  const deletion = await deleteOrder(deps, leased);
  switch (deletion.kind) {
    case 'deleted':
      deps.log.info(order, 'deleted the order at the service, as the shop did');
      return { kind: 'ended', counts: { orders_deleted: 1 } };
    case 'absent':
      return { kind: 'ended', counts: {} };
    case 'lost':
      return leaseLostOutcome(deps, leased);
    case 'kept':
      // No run tries again until the shop changes the order.
      deps.log.warn(order, `did not delete an order that the shop deleted: ${deletion.reason}`);
      count(attempt, 'orders_deleted_kept');
      attempt.removals = { wanted: 0, isHeld: false };
      return endAttempt(deps, attempt, { ...recordOf(deps, attempt), ...nothingLeft });
    case 'failed':
      failOrder(attempt, deletion.reason, deletion.failure);
      count(attempt, 'orders_failed');
      return endAttempt(deps, attempt);
    default:
      return deletion satisfies never;
  }
}

/**
 * Takes note that the order is to be deleted, for the last batch of the run; what is held back stays held back. The fingerprint
 * is forgotten, so that an order that returns is pushed.
 */
export async function noteDeletion(deps: PushDeps, attempt: PushAttempt): Promise<PushOutcome> {
  const { leased } = attempt;
  if (leased.link.removalsHeld) {
    await deps.store.release(leased, { wasSent: false });
    return { kind: 'ended', counts: { orders_failed: 1 } };
  }
  attempt.removals = { wanted: 1, isHeld: false };
  return endAttempt(deps, attempt, { ...recordOf(deps, attempt), ...nothingLeft, fingerprint: null });
}
