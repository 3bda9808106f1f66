import type { Counts } from '../../base/counts.ts';
import { describeError, IncompleteError } from '../../base/errors.ts';
import { LeaseLostError } from '../../warehouse/leases.ts';
import { absentOrders, isAnyPresent, unmarkAbsent } from '../../warehouse/orders/known-orders.ts';
import type { LeasedOrder } from '../../warehouse/orders/order-store.ts';
import type { PushPolicy } from '../order/desired-order.ts';
import { missingInShop } from '../order/read-orders.ts';
import type { OrderDeps } from '../order-deps.ts';
import { openRequests } from '../requests.ts';
import { type Deletion, deleteOrder } from './delete-order.ts';

/** Hours between the first absence of an order and its deletion at the service. */
const waitHours = 24;

/** Orders looked up in the shop at a time. */
const lookedUpAtOnce = 1000;

/**
 * Ends a rescan: looks up once more the pushed orders that the shop did not show, and with ORDER_DELETES=send deletes
 * those at the service that have been absent for a day, each taken from the allowance (promise 6). Where the shop shows
 * none of the pushed orders that the rescan read, nothing is deleted.
 *
 * @param since the oldest creation that the rescan read, an instant.
 * @throws IncompleteError where deletions were held back or could not be carried out.
 */
export async function settleVanished(
  deps: OrderDeps,
  since: string,
  policy: Pick<PushPolicy, 'allowRemovals'>,
): Promise<Counts> {
  const { db, shop, signal } = deps;
  const absent = await absentOrders(db, since, waitHours);
  const counts: Counts = { orders_absent: 0, orders_deleted: 0, orders_deleted_kept: 0 };
  const count = (kind: string, more = 1) => {
    counts[kind] = (counts[kind] ?? 0) + more;
  };
  const due: string[] = [];
  for (let at = 0; at < absent.length; at += lookedUpAtOnce) {
    const some = absent.slice(at, at + lookedUpAtOnce);
    const missing = new Set(
      await missingInShop(
        shop,
        some.map(({ code }) => code),
      ),
    );
    await unmarkAbsent(
      db,
      some.map(({ code }) => code).filter((code) => !missing.has(code)),
    );
    due.push(...some.filter(({ code, hasWaited }) => hasWaited && missing.has(code)).map(({ code }) => code));
    count('orders_absent', missing.size);
  }
  if (deps.deletes === 'off' || due.length === 0) return counts;
  if (!policy.allowRemovals && !(await isAnyPresent(db, since))) throw new IncompleteError(allGone(due.length));

  const failures: string[] = [];
  let held = 0;
  for (const code of due) {
    signal.throwIfAborted();
    const outcome = await deleteVanished(deps, code, policy);
    if (outcome.kind === 'deleted') count('orders_deleted');
    if (outcome.kind === 'kept') count('orders_deleted_kept');
    if (outcome.kind !== 'failed') continue;
    if (outcome.held) held += outcome.held;
    else failures.push(`${code} (${outcome.reason})`);
  }
  const problems = [...(held > 0 ? [heldBack(held)] : []), ...notDeleted(failures)];
  if (problems.length > 0) throw new IncompleteError(problems.join('. '));
  return counts;
}

const allow = 'If that is right, run: npx review-sync sync reconcile --allow-removals';

const allGone = (orders: number) =>
  'the shop shows none of the pushed orders any more; ' +
  `${orders.toLocaleString('en')} of them were not deleted at the service. ${allow}`;

const heldBack = (orders: number) =>
  `${orders.toLocaleString('en')} orders are gone from the shop and stay at the service, ` +
  `because the removals of 24 hours are used up. ${allow}`;

function notDeleted([first, ...others]: readonly string[]): string[] {
  if (first === undefined) return [];
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return [
    `Orders that are gone from the shop could not be deleted at the service: ${first}${more}. The next rescan tries again`,
  ];
}

/** Deletes one order under its lease, unless the shop shows it again at that moment. */
async function deleteVanished(
  deps: OrderDeps,
  code: string,
  policy: Pick<PushPolicy, 'allowRemovals'>,
): Promise<Deletion> {
  const leased = await deps.store.lease(code, { contact: 'withheld', orderedAt: null });
  if ('leasedBy' in leased) return failed(`${leased.leasedBy} is pushing it`);
  try {
    return await deleteLeased(deps, leased, policy);
  } catch (error) {
    await deps.store.breakOff(leased).catch(() => {});
    if (!(error instanceof LeaseLostError)) throw error;
    return failed(describeError(error));
  }
}

async function deleteLeased(
  deps: OrderDeps,
  leased: LeasedOrder,
  policy: Pick<PushPolicy, 'allowRemovals'>,
): Promise<Deletion> {
  const isBack = leased.isNew || (await missingInShop(deps.shop, [leased.orderCode])).length === 0;
  const beforeWrite = () => deps.store.assertLease(leased);
  const requests = openRequests(deps, { hasFailedBefore: leased.link.failedPushes > 0, beforeWrite });
  const deletion: Deletion = isBack
    ? { kind: 'absent' }
    : await deleteOrder(deps, leased, requests, { isWanted: true, policy });
  if (isBack || deletion.kind === 'kept' || deletion.kind === 'failed') await deps.store.release(leased);
  return deletion;
}

const failed = (reason: string): Deletion => ({ kind: 'failed', reason, failure: 'transient' });
