import { type Conclusion, counted } from '../../base/counts.ts';
import { describeError } from '../../base/errors.ts';
import { UnavailableError } from '../../review-api/index.ts';
import { absentOrders, setAbsent } from '../../warehouse/orders/known-orders.ts';
import type { LeasedOrder } from '../../warehouse/orders/order-store.ts';
import type { PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { planDeletion, usedUp } from '../plan/plan-order.ts';
import { missingInShop } from '../plan/read-orders.ts';
import { carryOut, underLease } from './push-orders.ts';

/** How a deletion ended: its count, or why it failed. `nothing`: the order is gone already, or back in the shop. */
type Deletion = 'orders_deleted' | 'orders_deleted_kept' | 'nothing' | { reason: string; isHeld?: boolean };

/**
 * Ends a rescan. If the rights say `send`, deletes orders at the service that have been absent from the shop for a day.
 * Each order is looked up once more and taken from the allowance (promise 6). If an order is newer than all that the
 * shop shows, it stays, unless a person has allowed removals.
 *
 * @param since the oldest creation that the rescan read, an instant.
 * @returns a problem if deletions were held back or could not be carried out.
 */
export async function settleVanished(deps: OrderDeps, since: string, rights: PushRights): Promise<Conclusion> {
  const { db, signal } = deps;
  const absent = await absentOrders(db, since);
  const toDelete = rights.deletes === 'off' ? [] : absent.filter(({ hasWaited }) => hasWaited);
  const counts = { orders_absent: absent.length, orders_deleted: 0, orders_deleted_kept: 0, nothing: 0 };
  const left: { code: string; reason: string; isHeld?: boolean }[] = [];
  for (const { code, isNewest } of toDelete) {
    signal.throwIfAborted();
    const end: Deletion = isNewest && !rights.allowRemovals ? noneNewer : await deleteVanished(deps, code, rights);
    if (typeof end === 'object') left.push({ code, ...end });
    else counts[end] += 1;
  }
  const { nothing: _, ...done } = counts;
  const [first] = left;
  if (!first) return { counts: done };
  const problem =
    `Gone from the shop and not deleted at the service: ${counted(left.length, 'order')}, such as ${first.code} ` +
    `(${first.reason}). The next rescan tries again.`;
  const toAllow = ' If that is right, delete all of them now: review-sync sync reconcile --allow-removals';
  return { counts: done, problem: left.some(({ isHeld }) => isHeld) ? problem + toAllow : problem };
}

const noneNewer = { reason: 'the shop may be a copy that lags behind: it shows no newer order', isHeld: true };

/** Deletes one order under its lease, unless the shop shows it again at that moment. */
async function deleteVanished(deps: OrderDeps, code: string, rights: PushRights): Promise<Deletion> {
  const { store } = deps;
  const deletion = async (leased: LeasedOrder): Promise<Deletion> => {
    const isBack = leased.isNew || (await missingInShop(deps.shop, [code])).length === 0;
    if (isBack || leased.isAlike) {
      await store.release(leased, { isBrokenOff: false });
      if (isBack) await setAbsent(deps.db, [code], false);
      return isBack ? 'nothing' : 'orders_deleted_kept';
    }
    const { memory, shown, results } = await carryOut(deps, leased, rights, (seen, known) => {
      return planDeletion(seen, known, rights, false) ?? { requests: [], memory: known };
    });
    if (shown === 'absent') {
      await store.forget(leased);
      return results.some(({ request }) => request.kind === 'delete order') ? 'orders_deleted' : 'nothing';
    }
    // If the outcome of the deletion is unknown, an order that the shop shows again must not count as unchanged.
    await store.release(leased, { isBrokenOff: memory.failedDeletion?.isUnknown === true });
    const failure = memory.stop ?? memory.failedDeletion;
    if (!failure) return 'orders_deleted_kept';
    return failure.held === undefined ? failure : { reason: usedUp, isHeld: true };
  };
  try {
    const end = await underLease(deps, { code, contact: 'withheld', isForGood: false, orderedAt: null }, deletion);
    return 'done' in end ? end.done : { reason: `${end.leasedBy} is pushing it` };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return { reason: describeError(error) };
  }
}
