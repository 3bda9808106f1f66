import type { Counts } from '../../base/counts.ts';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { ReviewApi, SubOrder, Wait } from '../../review-api/index.ts';
import { isAboutData } from '../../warehouse/batch.ts';
import { LeaseLostError } from '../../warehouse/leases.ts';
import type { OtherLease } from '../../warehouse/orders/order-links.ts';
import type { LeasedOrder, OrderStore } from '../../warehouse/orders/order-store.ts';
import { type DesiredOrder, isDeletedAndKept, isUnchanged, type PushPolicy } from '../order/desired-order.ts';
import { diffSubOrders, type SubOrderDiff } from '../order/diff-sub-orders.ts';
import type { RecordRequests, ServiceHealth } from '../service-health.ts';
import { applySubOrders } from './apply-sub-orders.ts';
import { subOrdersAtService } from './hidden-sub-orders.ts';
import { postOrder } from './post-order.ts';
import {
  count,
  endAttempt,
  endDuplicateCheck,
  failedPushesAfter,
  failOrder,
  leaseLostOutcome,
  newAttempt,
  type PushAttempt,
  recordOf,
} from './push-attempt.ts';
import { emptiesOrder, keptReason } from './removal-guard.ts';
import { noteDeletion, removeOrder } from './remove-deleted-order.ts';
import { isDuplicateCheckDue, retryDelayMs } from './retry-delay.ts';

export type PushDeps = {
  api: Pick<ReviewApi, 'orders' | 'subOrders'>;
  store: OrderStore;
  service: ServiceHealth;
  log: Logger;
  signal: AbortSignal;
  /** The clock of ages, see ageClock. */
  now: () => Date;
  contactMaxAgeDays: number;
  policy: PushPolicy;
  /** ORDER_DELETES: whether an order that the shop deletes is deleted at the service. */
  deletes: 'off' | 'send';
  /** The run in sync.runs; undefined: none. */
  runId?: string | undefined;
  /** How long to wait before looking what became of a request whose response was lost, in milliseconds. */
  settleMs: number;
  /** Called when orders wait for another process. */
  onWait?: ((wait: Wait) => void) | undefined;
  /** The order as it is in the shop now; undefined where the shop does not have it, or it cannot be read. */
  readAgain(code: string): Promise<DesiredOrder | undefined>;
};

/** What the functions that push one order need: also the requests of this push. */
export type OrderDeps = PushDeps & { requests: RecordRequests };

export type PushOutcome =
  | { kind: 'ended'; counts: Counts }
  /** Another process is pushing this order: try again later. */
  | { kind: 'leased-elsewhere'; lease: OtherLease };

/**
 * Brings one order at the service in line with the shop (spec, "Orders" and "Sub-orders").
 *
 * 1. Take the lease: from here on no other process pushes this order.
 * 2. Read the order again if another process has pushed it since it was read, or may have deleted it.
 * 3. Stop if the last push sent the order as it is in the shop; delete it at the service if the shop did.
 * 4. POST the order.
 * 5. Match its sub-orders with the shop's lines, linked ones that the response does not show included.
 * 6. Write down, under the lease, which sub-orders are taken over and which are about to be created.
 * 7. Change, remove and create sub-orders. After a lost response look again, from 4.
 * 8. Record all of it in one transaction, which gives the lease back.
 *
 * Two processes may run it at the same time, and it may be killed at any step.
 *
 * @param readAt the warehouse's clock just before the order was read from the shop.
 * @throws when a system fails: the client's errors, the database's. A failure of this order is a dead letter: what the
 *   service refuses or fails on, a value that the warehouse refuses, and an unexpected error of this program.
 */
export async function pushOrder(deps: PushDeps, given: DesiredOrder, readAt: Date): Promise<PushOutcome> {
  const leased = await deps.store.lease(given.prepared.order.code);
  if ('leasedBy' in leased) return { kind: 'leased-elsewhere', lease: leased };
  using _heartbeat = keepLease(deps, leased);
  let wasSent = false;
  let desired: DesiredOrder | undefined;
  try {
    desired = await rereadIfStale(deps, leased, given, readAt);
    const nothing = whyNothing(deps, leased, desired);
    if (!desired || nothing) {
      await deps.store.release(leased, { wasSent });
      return { kind: 'ended', counts: nothing ? { [nothing]: 1 } : {} };
    }
    const attempt = newAttempt(desired, leased);
    const isDeleted = desired.prepared.order.deletedAt !== undefined;
    if (isDeleted && !mayRemove(deps.policy, leased, 1)) return await noteDeletion(deps, attempt);
    wasSent = true;
    const sending = { ...deps, requests: deps.service.ofRecord({ hasFailedBefore: leased.link.failures > 0 }) };
    if (isDeleted) return await removeOrder(sending, attempt);
    return await upsertOrder(sending, attempt, { endsDuplicateCheck: isDuplicateCheckDue(leased.link, readAt) });
  } catch (error) {
    if (desired && isOfThisOrder(error)) return failUnexpectedly(deps, leased, desired, error);
    // Ignore a release that fails: it is repeated, and at last the lease runs out by itself.
    await deps.store.release(leased, { wasSent }).catch(() => {});
    if (error instanceof LeaseLostError) return leaseLostOutcome(deps, leased);
    throw error;
  }
}

/** Step 2. @returns undefined where nothing is left to do for this push. */
async function rereadIfStale(
  deps: PushDeps,
  leased: LeasedOrder,
  given: DesiredOrder,
  readAt: Date,
): Promise<DesiredOrder | undefined> {
  const wasPushed = leased.link.pushedAt !== null && leased.link.pushedAt >= readAt;
  // Another run has pushed the order since then, and counts the removals that it took note of.
  if (wasPushed && deps.policy.removals === 'approved') return undefined;
  // Nothing is recorded of an order that another process deleted at the service, so it looks like a new one.
  const mayBeDeleted = leased.link.pushedAt === null && deps.deletes === 'send';
  return wasPushed || mayBeDeleted ? deps.readAgain(leased.orderCode) : given;
}

/** Step 3: what the order counts as where nothing is to be sent. */
function whyNothing({ policy, deletes }: PushDeps, leased: LeasedOrder, desired: DesiredOrder | undefined) {
  if (!desired) return undefined;
  if (isUnchanged(desired, leased.link, policy)) return 'orders_unchanged';
  const isKept = isDeletedAndKept(desired, leased.isNew ? undefined : leased.link, deletes);
  return isKept ? 'orders_deleted_kept' : undefined;
}

/** Steps 4 to 8. */
async function upsertOrder(
  deps: OrderDeps,
  attempt: PushAttempt,
  { endsDuplicateCheck }: { endsDuplicateCheck: boolean },
): Promise<PushOutcome> {
  const { leased } = attempt;
  for (;;) {
    const posted = await postOrder(deps, attempt);
    if (posted.kind !== 'accepted') {
      failOrder(attempt, posted.reason, posted.failure);
      count(attempt, 'orders_failed');
      return endAttempt(deps, attempt);
    }

    const theirs = await subOrdersAtService(deps, attempt, posted.detail);
    const diff = difference(deps, attempt, theirs);
    const { links: lines, dropLinks, unseen } = diff;
    attempt.unseen = unseen;
    if (!(await deps.store.saveLines(leased, { lines, dropLinks, unseen }))) return leaseLostOutcome(deps, leased);
    for (const lineCode of dropLinks) attempt.links.delete(lineCode);
    for (const link of lines) attempt.links.set(link.lineCode, link);
    count(attempt, 'sub_orders_added', diff.found);

    if ((await applySubOrders({ deps, attempt, order: posted.detail }, diff)) === 'again') continue;
    if (endsDuplicateCheck) endDuplicateCheck(attempt);
    if (posted.notCleared.length > 0) failOrder(attempt, notClearedReason(posted.notCleared), 'permanent');
    count(attempt, 'orders_pushed');
    return endAttempt(deps, attempt, recordOf(deps, attempt, posted));
  }
}

/**
 * What to send about the sub-orders. Lines that wait, that cannot be read or that failed keep theirs unchanged. Removals wait
 * for the last batch of the run, which may hold them back (promise 6) until the lines are back or `--allow-removals` is given.
 */
function difference({ policy }: PushDeps, attempt: PushAttempt, theirs: readonly SubOrder[]): SubOrderDiff {
  const { leased, desired } = attempt;
  const { prepared } = desired;
  attempt.reasons = [];
  const untouched = new Set([...prepared.waiting, ...prepared.faulty].map((line) => line.lineCode));
  for (const lineCode of attempt.failedLines.keys()) untouched.add(lineCode);
  const lines = prepared.lines.filter((line) => !untouched.has(line.lineCode));
  const diff = diffSubOrders(theirs, lines, [...attempt.links.values()], untouched, {
    unseen: attempt.unseen,
    areLinesUnsure: leased.link.areLinesUnsure,
  });
  const isEmptied = emptiesOrder(prepared);
  const removals = diff.remove.length;
  const isAllowed = policy.removals === 'all' || (!isEmptied && mayRemove(policy, leased, removals));
  const wanted = isAllowed ? 0 : removals;
  const isHeld = wanted > 0 && (isEmptied || leased.link.removalsHeld);
  attempt.removals = { wanted, isHeld };
  if (isHeld) attempt.reasons = [keptReason(removals, { isEmptied })];
  return isAllowed ? diff : { ...diff, remove: [] };
}

/**
 * Whether this push may remove `wanted` records. What was approved is the number that an earlier push took note of: if the shop has
 * lost more lines since, or another run has held the removals back, nothing is removed.
 */
const mayRemove = ({ removals }: PushPolicy, { link }: LeasedOrder, wanted: number): boolean =>
  removals === 'all' || (removals === 'approved' && !link.removalsHeld && wanted <= link.removalsWanted);

/**
 * Whether the error is this order's alone: a value that the warehouse refuses, or an error of this program, such as an
 * argument that the client refuses. The other orders go on.
 */
const isOfThisOrder = (error: unknown): error is Error =>
  isAboutData(error) || error instanceof TypeError || error instanceof RangeError;

/** Makes the order a dead letter, and logs the error with its stack: somebody has to look at it. */
async function failUnexpectedly(
  deps: PushDeps,
  leased: LeasedOrder,
  desired: DesiredOrder,
  error: Error,
): Promise<PushOutcome> {
  const { order } = desired.prepared;
  deps.log.error({ order: order.code, error, stack: error.stack }, 'unexpected error while pushing an order');
  // The database's message may quote the value.
  const what = isAboutData(error) ? 'the warehouse refuses one of its values' : describeError(error);
  const reason = `the order cannot be sent or recorded: ${what}`;
  const failedPushes = failedPushesAfter(desired, leased.link);
  await deps.store.recordError(leased, {
    fingerprint: desired.fingerprint,
    failedPushes,
    retryAfterMs: retryDelayMs('permanent', failedPushes),
    deadLetter: { kind: 'order', key: order.code, order_code: order.code, reason, payload: { order } },
  });
  return { kind: 'ended', counts: { orders_failed: 1 } };
}

/** Renews the lease for as long as the push lasts: its requests may wait long for a slot. A frozen process renews nothing. */
function keepLease({ store }: PushDeps, leased: LeasedOrder): Disposable {
  // Ignore a renewal that fails: the check before each write sees that the lease is old.
  const renew = () => void store.renew(leased).catch(() => {});
  const timer = setInterval(renew, store.leaseMs / 10);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const notClearedReason = (fields: readonly string[]) =>
  `the service keeps ${fields.join(', ')} although the shop has none and an empty value was sent; clear it there by hand`;
