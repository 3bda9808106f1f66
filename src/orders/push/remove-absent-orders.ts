import type { Counts } from '../../base/counts.ts';
import { describeError, IncompleteError } from '../../base/errors.ts';
import type { Second } from '../../base/time/span.ts';
import type { Db } from '../../warehouse/index.ts';
import { LeaseLostError } from '../../warehouse/leases.ts';
import {
  type AbsentInRun,
  absentInRun,
  countKnownOrders,
  forgetAbsentOrders,
  isEverythingAbsent,
  keepAbsentOrder,
  pruneAbsentOrders,
} from '../../warehouse/orders/absent-orders.ts';
import { removalsHeldBy } from '../../warehouse/orders/order-removals.ts';
import type { PushPolicy } from '../order/desired-order.ts';
import { missingInShop } from '../order/find-in-shop.ts';
import { openServiceHealth, type RecordRequests } from '../service-health.ts';
import { type Deletion, deleteOrder } from './delete-order.ts';
import type { SliceDeps } from './push-slice.ts';
import { isUnusual } from './removal-guard.ts';

/** Hours between the first absence of an order and the one after which it is deleted at the service. */
const waitHours = 24;

/**
 * Ends a rescan: deletes orders at the service that the shop no longer shows, and forgets absent orders with which nothing
 * is left to do. Nothing is deleted unless ORDER_DELETES=send, nor where far more orders vanished than usual (promise 6).
 *
 * @param runId of the rescan: only orders that it missed itself are deleted.
 * @param options.before the oldest creation that the rescan reads.
 * @throws IncompleteError where deletions were held back or could not be carried out.
 */
export async function removeAbsentOrders(
  deps: SliceDeps,
  runId: string,
  options: { before: Second; removals: PushPolicy['removals'] },
): Promise<Counts> {
  const { db, deletes } = deps;
  const { absent, due } = await absentOf(db, runId, deletes);
  const isHeld =
    due.length > 0 && options.removals === 'usual' && (await isAccident(db, runId, options.before, absent));
  const service = openServiceHealth(deps.api, deps);
  const counts = { orders_deleted: 0, orders_deleted_kept: 0 };
  const failures: string[] = [];
  for (const code of isHeld ? [] : due) {
    deps.signal.throwIfAborted();
    const outcome = await removeAbsentOrder(deps, service.ofRecord({ hasFailedBefore: false }), code);
    if (outcome.kind === 'failed') failures.push(`${code} (${outcome.reason})`);
    if (outcome.kind === 'kept') await keepAbsentOrder(db, code, outcome.reason);
    else if (outcome.kind !== 'failed') await forgetAbsentOrders(db, [code]);
    if (outcome.kind === 'deleted') counts.orders_deleted += 1;
    if (outcome.kind === 'kept') counts.orders_deleted_kept += 1;
  }
  await pruneAbsentOrders(db, options.before, deletes);
  const problems = [...(isHeld ? [heldProblem(absent, due.length)] : []), ...failureProblem(failures)];
  if (problems.length > 0) throw new IncompleteError(problems.join('. '));
  return counts;
}

async function absentOf(db: Db, runId: string, deletes: SliceDeps['deletes']): Promise<AbsentInRun> {
  return deletes === 'send' ? absentInRun(db, runId, waitHours) : { absent: 0, due: [] };
}

/** How many orders removeAbsentOrders deletes at most, for planRemovals: the removals of a run are counted together. */
export async function countDueOrders(db: Db, runId: string, deletes: SliceDeps['deletes']): Promise<number> {
  return (await absentOf(db, runId, deletes)).due.length;
}

/**
 * Far more is gone than usual, with what the run has held back already, or, in a shop of few orders, everything. What the run
 * has removed was few enough together with the orders that are due.
 */
async function isAccident(db: Db, runId: string, since: Second, absent: number): Promise<boolean> {
  const removals = absent + (await removalsHeldBy(db, runId));
  if (isUnusual({ read: await countKnownOrders(db, since), removals })) return true;
  return isEverythingAbsent(db, runId, since);
}

const heldProblem = (absent: number, due: number) =>
  `${absent.toLocaleString('en')} pushed orders are gone from the shop, with other removals of the run far more than usual; ${due.toLocaleString('en')} of them were not deleted at the service. If that is right, run: npx review-sync sync reconcile --allow-removals`;

function failureProblem(failures: readonly string[]): string[] {
  const [first] = failures;
  if (first === undefined) return [];
  const more = failures.length > 1 ? ` and ${failures.length - 1} more` : '';
  return [
    `Orders that are gone from the shop could not be deleted at the service: ${first}${more}. The next rescan tries again`,
  ];
}

/** As Deletion. `returned`: the shop shows the order again, or another process has deleted it. */
type Removal = Deletion | { kind: 'returned' };

/** Deletes one order under its lease, unless the shop shows it again at that moment. */
async function removeAbsentOrder(deps: SliceDeps, requests: RecordRequests, code: string): Promise<Removal> {
  const leased = await deps.store.lease(code);
  if ('leasedBy' in leased) return failed(`${leased.leasedBy} is pushing it`);
  try {
    if (leased.isNew || (await missingInShop(deps.shop, [{ code }])).length === 0) {
      await deps.store.release(leased, { wasSent: false });
      return { kind: 'returned' };
    }
    const deletion = await deleteOrder({ ...deps, requests }, leased);
    if (deletion.kind === 'deleted') {
      const order = { order: code, orderId: leased.link.orderId };
      deps.log.info(order, 'deleted the order at the service: the shop no longer shows it');
    }
    await deps.store.release(leased, { wasSent: deletion.kind === 'failed' });
    return deletion.kind === 'lost' ? failed('another process took it over') : deletion;
  } catch (error) {
    // Ignore a release that fails: the lease runs out by itself.
    await deps.store.release(leased, { wasSent: true }).catch(() => {});
    if (!(error instanceof LeaseLostError)) throw error;
    return failed(describeError(error));
  }
}

const failed = (reason: string): Deletion => ({ kind: 'failed', reason, failure: 'transient' });
