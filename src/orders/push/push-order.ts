import type { Counts } from '../../base/counts.ts';
import { describeError } from '../../base/errors.ts';
import { sleep } from '../../base/timeout.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import { isErrorOfTheData } from '../../warehouse/index.ts';
import { recordUnreadable } from '../../warehouse/orders/due-orders.ts';
import { makeAlikeDue, type OtherLease } from '../../warehouse/orders/order-links.ts';
import { type LeasedOrder, LeaseLostError } from '../../warehouse/orders/order-store.ts';
import { takeRemovals } from '../../warehouse/orders/removal-allowance.ts';
import { firstDecision, type PushRights } from '../contact-rule.ts';
import { allowance, retryDelaysMs } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type DesiredOrder, orderDeadLetter } from '../plan/desired-order.ts';
import { memoryOf, type OrderMemory, type Shown } from '../plan/order-memory.ts';
import { holdRemovals, isRemoval, type PlannedRequests, type Planning, planOrder } from '../plan/plan-order.ts';
import { otherOrderFault, type ReadOrder } from '../plan/read-orders.ts';
import { type Breaker, openRequests } from '../requests.ts';
import { countsOf, recordOf } from './record.ts';
import { learn, type Result, sendAll } from './send.ts';

/** What the orders of one slice share. */
export type SlicePush = Planning & {
  breaker: Breaker;
  /** The order as it is in the shop now; undefined if the shop does not have it. */
  readAgain(code: string): Promise<ReadOrder | undefined>;
};

/** `elsewhere`: another process is pushing the order, so nothing was done. */
type Leased<T> = { done: T; elsewhere?: undefined } | { done?: undefined; elsewhere: OtherLease };

/**
 * Brings one order at the service in line with the shop (docs/interface.md, "Orders" and "Sub-orders").
 *
 * 1. Take the lease: from here on no other process pushes this order, and it is due until this push is recorded. The
 *    first lease decides about contact (promise 7).
 * 2. Read the order again if another process has pushed it since it was read, broke off a push of it, or has deleted
 *    it. Stop if nothing is to be sent.
 * 3. Plan, write down what is about to be created, send, learn; again while something is left to be planned (`carryOut`).
 * 4. Record all of it in one transaction, which gives the lease back.
 *
 * Two processes may run it at the same time, and it may be killed at any step.
 *
 * @throws when a system fails: the client's errors, the database's, five orders in a row. A failure of this order is a
 *   dead letter: what the service refuses or fails on, a value that the warehouse refuses, and an unexpected error of
 *   this program.
 */
export async function pushOrder(deps: OrderDeps, given: DesiredOrder, slice: SlicePush): Promise<Leased<Counts>> {
  const { code } = given;
  const { rights, now, readAt } = slice;
  const { createdAt: orderedAt } = given.order;
  const contact = firstDecision({ createdAt: orderedAt, now: now() }, rights);
  try {
    return await underLease(deps, { code, contact, orderedAt, readAt }, async (leased) => {
      const { order, deadLetter } = isStale(leased, given, slice)
        ? ((await slice.readAgain(code)) ?? {})
        : { order: given };
      // The link of a new order is what its lease has just written.
      const memory = memoryOf(leased.isNew ? undefined : leased.link, leased.lines);
      const nothing = order && planOrder(order, 'unknown', memory, slice).nothing;
      if (order && !nothing) return bringInLine(deps, leased, order, slice);
      await deps.store.release(leased, { isBrokenOff: false });
      // Not before: a new order that is given back is forgotten, and would not be tried again.
      if (deadLetter) return await recordFailed(deps, deadLetter);
      const counted = nothing === 'unchanged' ? 'orders_unchanged' : 'orders_deleted_kept';
      return nothing ? { [counted]: 1 } : {};
    });
  } catch (error) {
    if (!isOfThisOrder(error)) throw error;
    deps.log.error({ order: code, error, stack: error.stack }, 'unexpected error while pushing an order');
    // Nothing of its values, which may be what the warehouse refuses; its message may quote one.
    const what = isErrorOfTheData(error) ? 'the warehouse refuses one of its values' : describeError(error);
    const deadLetter = orderDeadLetter({ code }, `the order cannot be sent or recorded: ${what}`);
    return { done: await recordFailed(deps, deadLetter) };
  }
}

async function recordFailed({ db }: OrderDeps, deadLetter: NewDeadLetter): Promise<Counts> {
  await recordUnreadable(db, [deadLetter], retryDelaysMs);
  return { orders_failed: 1 };
}

/**
 * Does the work while this process alone may push the order. If the work throws, nobody knows what was sent, and the order
 * is due.
 *
 * @param work records the order, forgets it, or gives the lease back.
 */
export async function underLease<T>(
  { store, now }: OrderDeps,
  order: Parameters<OrderDeps['store']['lease']>[0],
  work: (leased: LeasedOrder) => Promise<T>,
): Promise<Leased<T>> {
  const leased = await store.lease(order);
  if ('leasedBy' in leased) return { elsewhere: leased };
  using _heartbeat = store.keepAlive(leased);
  try {
    return { done: await work(leased) };
  } catch (error) {
    // Ignore a failure: the lease runs out by itself.
    await store.release(leased, { isBrokenOff: true }).catch(() => {});
    if (!(error instanceof LeaseLostError)) throw error;
    return { elsewhere: { orderCode: order.code, leasedBy: 'another process', leasedUntil: now() } };
  }
}

/**
 * Whether the error is this order's alone: a value that the warehouse refuses, or an error of this program, such as an
 * argument that the client refuses. The other orders go on.
 */
const isOfThisOrder = (error: unknown): error is Error =>
  isErrorOfTheData(error) || error instanceof TypeError || error instanceof RangeError;

/**
 * Whether another process may have pushed a newer version since the order was read, or has deleted it at the service, so
 * that it looks new. If a push broke off, nobody knows what it sent, and the fingerprint counts as unknown. If the date of
 * creation is that of another order, this order was read too early, or is a dead letter.
 */
const isStale = (
  { link, isNew, isForgotten, isAlike }: LeasedOrder,
  { order }: DesiredOrder,
  { readAt }: SlicePush,
): boolean => {
  if (isAlike || otherOrderFault(order, link) !== undefined) return true;
  if (isNew) return isForgotten;
  return link.fingerprint === null || link.pushedAt === null || link.pushedAt >= readAt;
};

/** Steps 3 and 4. @returns what was done. */
async function bringInLine(
  deps: OrderDeps,
  leased: LeasedOrder,
  order: DesiredOrder,
  slice: SlicePush,
): Promise<Counts> {
  const { rights, breaker } = slice;
  const attempt = breaker.begin(leased.link.failedPushes > 0);
  const planAt: PlanAt = (shown, memory) => planOrder(order, shown, memory, slice);
  const { memory, shown, results } = await carryOut(deps, leased, rights, planAt);
  const { stop, accepted } = memory;
  // A line that fails says nothing about the service: many orders may have one bad product.
  if (stop?.failure === 'transient' && accepted === undefined) attempt.failed(stop.reason);
  else attempt.responded();
  // Only an order that the shop has deleted is looked up.
  const isAbsent = shown === 'absent';
  // The other order may have this one's contents now. Its own push restores it.
  const others = order.alike.map(({ code }) => code);
  if (stop?.other) others.push(stop.other);
  if (stop && others.length > 0) await makeAlikeDue(deps.db, order.code, others);
  if (stop?.other) {
    await deps.store.release(leased, { isBrokenOff: false });
    return recordFailed(deps, orderDeadLetter(order.raw.order, stop.reason, stop.other));
  }
  if (isAbsent && rights.deletes === 'send') await deps.store.forget(leased);
  else await deps.store.record(leased, recordOf(order, leased, memory, slice));
  return countsOf(order, memory, results, isAbsent);
}

/** What to send next. */
type PlanAt = (shown: Shown, memory: OrderMemory) => PlannedRequests;

/**
 * Plan, take removals from the day's allowance (promise 6), write down what is about to be created (promise 2), send, and
 * learn from the results; until nothing is left to be planned.
 */
export async function carryOut(
  deps: OrderDeps,
  leased: LeasedOrder,
  { allowRemovals }: Pick<PushRights, 'allowRemovals'>,
  planAt: PlanAt,
): Promise<{ memory: OrderMemory; shown: Shown | undefined; results: Result[] }> {
  const { store } = deps;
  const { orderCode: code, link } = leased;
  const send = openRequests(deps, () => store.assertLease(leased));
  const results: Result[] = [];
  let memory = memoryOf(link, leased.lines);
  let shown: Shown | undefined = 'unknown';
  while (shown !== undefined) {
    let plan = planAt(shown, memory);
    const removals = plan.requests.filter(isRemoval).length;
    const mayRemove = removals === 0 || allowRemovals || (await takeRemovals(deps.db, removals, allowance));
    if (!mayRemove) plan = planAt(shown, holdRemovals(memory, plan));
    ({ memory } = plan);
    if (plan.requests.length === 0) break;
    // A link that has not changed is the same object.
    const unsaved = new Set(memory.lines).symmetricDifference(new Set<unknown>(leased.lines));
    if (unsaved.size > 0) await store.saveLines(leased, memory.lines);
    const sent = await sendAll(deps, code, plan, send);
    results.push(...sent);
    ({ memory, shown } = learn(plan, shown, sent));
    if (shown === 'unknown') await sleep(deps.limits.settleMs, deps.signal);
  }
  return { memory, shown, results };
}
