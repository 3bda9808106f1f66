import { type Conclusion, counted } from '../../base/counts.ts';
import { describeError } from '../../base/errors.ts';
import { UnavailableError } from '../../review-api/index.ts';
import { absentOrders, isAnyPresent, setAbsent } from '../../warehouse/orders/known-orders.ts';
import type { LeasedOrder } from '../../warehouse/orders/order-store.ts';
import type { PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { planDeletion, usedUp } from '../plan/plan-order.ts';
import { missingInShop } from '../plan/read-orders.ts';
import { carryOut, underLease } from './push-order.ts';

/**
 * Ends a rescan: if the rights say `send`, deletes the orders at the service that have been absent from the shop for a
 * day, each looked up once more and taken from the allowance (promise 6). If the shop shows none of the pushed orders
 * that the rescan read, nothing is deleted.
 *
 * @param since the oldest creation that the rescan read, an instant.
 * @returns a problem if deletions were held back or could not be carried out.
 */
export async function settleVanished(deps: OrderDeps, since: string, rights: PushRights): Promise<Conclusion> {
  const { db, signal } = deps;
  const absent = await absentOrders(db, since);
  const toDelete = absent.filter(({ hasWaited }) => hasWaited).map(({ code }) => code);
  const counts = { orders_absent: absent.length, orders_deleted: 0, orders_deleted_kept: 0 };
  if (rights.deletes === 'off' || toDelete.length === 0) return { counts };
  signal.throwIfAborted();
  if (!rights.allowRemovals && !(await isAnyPresent(db, since))) {
    const left = toDelete.map((code) => `${code} (the shop shows none of the pushed orders any more)`);
    return { counts, problem: problemOf(left, true) };
  }

  const left: string[] = [];
  let isHeld = false;
  for (const code of toDelete) {
    signal.throwIfAborted();
    const end = await deleteVanished(deps, code, rights);
    if (end.kind === 'failed') {
      isHeld ||= end.held !== undefined;
      left.push(`${code} (${end.held ? usedUp : end.reason})`);
    } else if (end.kind === 'deleted') counts.orders_deleted += 1;
    else if (end.kind === 'kept') counts.orders_deleted_kept += 1;
  }
  return left.length === 0 ? { counts } : { counts, problem: problemOf(left, isHeld) };
}

/** @param left codes, each with the reason. @param mayBeRight whether a person may allow the deletions. */
const problemOf = (left: readonly string[], mayBeRight: boolean) =>
  `Gone from the shop and not deleted at the service: ${counted(left.length, 'order')}, such as ${left[0]}. ` +
  'The next rescan tries again.' +
  (mayBeRight ? ' If that is right, delete all of them now: review-sync sync reconcile --allow-removals' : '');

/** Deletes one order under its lease, unless the shop shows it again at that moment. */
async function deleteVanished(deps: OrderDeps, code: string, rights: PushRights): Promise<Deletion> {
  const { store } = deps;
  const deletion = async (leased: LeasedOrder): Promise<Deletion> => {
    const isBack = leased.isNew || (await missingInShop(deps.shop, [code])).length === 0;
    if (isBack || leased.isAlike) {
      await store.release(leased, { isBrokenOff: false });
      if (isBack) await setAbsent(deps.db, [code], false);
      return { kind: isBack ? 'back' : 'kept' };
    }
    const { memory, shown, results } = await carryOut(deps, leased, rights, (seen, known) => {
      return planDeletion(seen, known, rights, false) ?? { requests: [], memory: known };
    });
    if (shown === 'absent') {
      await store.forget(leased);
      return { kind: results.some(({ request }) => request.kind === 'delete order') ? 'deleted' : 'absent' };
    }
    // If nobody knows what became of the deletion, an order that the shop shows again is not taken for unchanged.
    await store.release(leased, { isBrokenOff: memory.failedDeletion?.isUnknown === true });
    const failure = memory.stop ?? memory.failedDeletion;
    return failure ? { kind: 'failed', ...failure } : { kind: 'kept' };
  };
  try {
    const { done, elsewhere } = await underLease(deps, { code, contact: 'withheld', orderedAt: null }, deletion);
    return done ?? failed(`${elsewhere.leasedBy} is pushing it`);
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return failed(describeError(error));
  }
}

/** `held`: the day's allowance does not reach. */
type Deletion = { kind: 'deleted' | 'absent' | 'kept' | 'back' } | { kind: 'failed'; reason: string; held?: number };

const failed = (reason: string): Deletion => ({ kind: 'failed', reason });
