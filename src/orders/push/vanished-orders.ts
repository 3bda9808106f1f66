import { addCounts, type Conclusion, type Counts, counted } from '../../base/counts.ts';
import { describeError } from '../../base/errors.ts';
import { UnavailableError } from '../../review-api/index.ts';
import { LeaseLostError } from '../../warehouse/leases.ts';
import { absentOrders, isAnyPresent, setAbsent } from '../../warehouse/orders/known-orders.ts';
import type { PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { missingInShop } from '../plan/read-orders.ts';
import { openRequests } from '../requests.ts';
import { type Deletion, deleteOrder } from './delete-order.ts';

/**
 * Ends a rescan: where the rights say `send`, deletes the orders at the service that have been absent from the shop for a
 * day, each looked up once more and taken from the allowance (promise 6). Where the shop shows none of the pushed orders
 * that the rescan read, nothing is deleted.
 *
 * @param since the oldest creation that the rescan read, an instant.
 * @returns a problem where deletions were held back or could not be carried out.
 */
export async function settleVanished(deps: OrderDeps, since: string, rights: PushRights): Promise<Conclusion> {
  const { db, signal } = deps;
  const absent = await absentOrders(db, since);
  const due = absent.filter(({ hasWaited }) => hasWaited).map(({ code }) => code);
  const counts: Counts[] = [{ orders_absent: absent.length, orders_deleted: 0, orders_deleted_kept: 0 }];
  if (rights.deletes === 'off' || due.length === 0) return { counts: addCounts(counts) };
  const isNoneLeft = !rights.allowRemovals && !(await isAnyPresent(db, since));
  const noneLeft = isNoneLeft ? failed('the shop shows none of the pushed orders any more') : undefined;

  const left: string[] = [];
  let isHeld = isNoneLeft;
  for (const code of due) {
    signal.throwIfAborted();
    const { kind, failure } = noneLeft ?? (await deleteVanished(deps, code, rights));
    if (failure) {
      isHeld ||= failure.held !== undefined;
      left.push(`${code} (${failure.held ? usedUp : failure.reason})`);
    } else if (kind === 'deleted') counts.push({ orders_deleted: 1 });
    else if (kind === 'kept') counts.push({ orders_deleted_kept: 1 });
  }
  if (left.length === 0) return { counts: addCounts(counts) };
  const problem =
    `Gone from the shop and not deleted at the service: ${counted(left.length, 'order')}, such as ${left[0]}. ` +
    'The next rescan tries again.' +
    (isHeld ? ' If that is right, delete all of them now: review-sync sync reconcile --allow-removals' : '');
  return { counts: addCounts(counts), problem };
}

const usedUp = 'the removals of 24 hours are used up';

/** Deletes one order under its lease, unless the shop shows it again at that moment. */
async function deleteVanished(deps: OrderDeps, code: string, rights: PushRights): Promise<Deletion> {
  const { store } = deps;
  const leased = await store.lease({ code, contact: 'withheld', orderedAt: null });
  if ('leasedBy' in leased) return failed(`${leased.leasedBy} is pushing it`);
  try {
    const isBack = leased.isNew || (await missingInShop(deps.shop, [code])).length === 0;
    const requests = openRequests(deps, () => store.assertLease(leased));
    const deletion = isBack ? undefined : await deleteOrder(deps, leased, requests, rights);
    const isForgotten = deletion?.kind === 'deleted' || deletion?.kind === 'absent';
    if (!isForgotten) await store.release(leased, { isBrokenOff: false });
    if (isBack) await setAbsent(deps.db, [code], false);
    return deletion ?? { kind: 'absent' };
  } catch (error) {
    await store.release(leased, { isBrokenOff: true }).catch(() => {});
    if (!(error instanceof LeaseLostError || error instanceof UnavailableError)) throw error;
    return failed(describeError(error));
  }
}

const failed = (reason: string): Deletion => ({ kind: 'unknown', failure: { reason, failure: 'transient' } });
