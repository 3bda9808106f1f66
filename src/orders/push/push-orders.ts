import { addCounts, type Counts, counted } from '../../base/counts.ts';
import { describeError, IncompleteError, ReviewSyncError } from '../../base/errors.ts';
import { sleep } from '../../base/timeout.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { openBatch } from '../../warehouse/batch.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import { isErrorOfTheData } from '../../warehouse/index.ts';
import { recordUnreadable, settleGone } from '../../warehouse/orders/due-orders.ts';
import { makeAlikeDue } from '../../warehouse/orders/order-links.ts';
import { type LeasedOrder, LeaseLostError, type OtherLease } from '../../warehouse/orders/order-store.ts';
import { firstDecision, isDecidedForGood, type PushRights } from '../contact-rule.ts';
import { allowance, leasePollMs, retryDelaysMs, slicesOf } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type DesiredOrder, orderDeadLetter } from '../plan/desired-order.ts';
import { memoryOf, type OrderMemory, type Shown } from '../plan/order-memory.ts';
import {
  holdRemovals,
  isRemoval,
  type PlannedRequests,
  type Planning,
  planOrder,
  whyNothing,
} from '../plan/plan-order.ts';
import { beginPlanning, otherOrderFault, type ReadOrder, readOrders, readSlice } from '../plan/read-orders.ts';
import { openBreaker, openRequests } from '../requests.ts';
import { countsOf, recordOf } from './record.ts';
import { learn, type Result, sendAll } from './send.ts';

/** Pushes orders as they are in the shop now. @throws when a system fails; what was pushed until then stays pushed. */
export async function pushOrders(deps: OrderDeps, codes: readonly string[], rights: PushRights): Promise<Counts> {
  const counts: Counts[] = [];
  for (const slice of slicesOf(codes)) {
    deps.signal.throwIfAborted();
    counts.push(await pushSlice(deps, slice, rights));
  }
  return addCounts(counts);
}

type SlicePush = Planning & {
  breaker: ReturnType<typeof openBreaker>;
  /** The order as it is in the shop now; undefined if the shop does not have it. */
  readAgain(code: string): Promise<ReadOrder | undefined>;
};

/**
 * 1. Read the orders and what is remembered of them.
 * 2. Record orders that cannot be read, or are other orders, as dead letters. Leave out orders that are unchanged,
 *    gone, or deleted before their first push.
 * 3. Push the others side by side. If another process is pushing an order, push it once that process has finished.
 */
async function pushSlice(deps: OrderDeps, codes: readonly string[], rights: PushRights): Promise<Counts> {
  const { db, shop } = deps;
  const planning = await beginPlanning(deps, rights);
  const { raws, gone } = await readSlice(deps, codes);
  if (gone.length > 0) {
    await deps.requireSameShop();
    const what = `${counted(gone.length, 'order')} gone from the shop since they were planned`;
    deps.log.warn({ orders: gone.slice(0, 20) }, what);
  }
  await requireLines(deps, raws);
  const read = await readOrders(deps, raws, planning);
  const deadLetters = read.flatMap(({ deadLetter }) => deadLetter ?? []);
  await recordUnreadable(db, deadLetters, retryDelaysMs);

  const readable = read.filter((one) => one.order !== undefined);
  const left = (nothing: ReadOrder['nothing']) =>
    readable.filter((one) => one.nothing === nothing).map(({ order }) => order);
  const deleted = left('deleted in the shop');
  // The planned code may differ in case from the order's own code, which is the code to remember.
  const shown = new Set(raws.map(({ order }) => order.code));
  await settleGone(db, [...codes.filter((code) => !shown.has(code)), ...deleted.map(({ code }) => code)]);

  const readAgain = openBatch(async (some: string[]) => {
    const again = await readOrders(deps, await shop.orders(some), planning);
    return some.map((code) => again.find((one) => one.code === code));
  });
  const pushed = await pushAll(deps, left(undefined), { ...planning, breaker: openBreaker(), readAgain });
  const counts = { orders: raws.length, orders_unchanged: left('unchanged').length, orders_failed: deadLetters.length };
  return addCounts([counts, { orders_deleted_in_shop: deleted.length, orders_gone: gone.length }, pushed]);
}

/** If no order of a slice has a line, the lines may have other order codes than the orders. @throws IncompleteError */
async function requireLines({ shop }: OrderDeps, raws: readonly RawOrder[]): Promise<void> {
  const readable = raws.filter((raw) => raw.fault === undefined);
  if (readable.length === 0 || readable.some((raw) => raw.lines.length > 0)) return;
  const fault = await shop.linesFault();
  if (fault !== undefined) throw new IncompleteError(fault, { hint: 'review-sync doctor shows the queries.' });
}

async function pushAll(deps: OrderDeps, orders: readonly DesiredOrder[], slice: SlicePush): Promise<Counts> {
  const failures: unknown[] = [];
  let isWaitLogged = false;
  const push = async (order: DesiredOrder): Promise<Counts> => {
    while (failures.length === 0) {
      const end = await deps.slots(() => (failures.length > 0 ? { done: {} } : pushOrder(deps, order, slice)));
      if ('done' in end) return end.done;
      const { orderCode, leasedBy, leasedUntil } = end;
      const reason = `${leasedBy} is pushing order ${orderCode} and has the lease`;
      if (!isWaitLogged) deps.log.info({ until: leasedUntil }, `waiting: ${reason}`);
      isWaitLogged = true;
      deps.onWait?.({ reason, untilMs: leasedUntil.getTime() });
      await sleep(leasePollMs, deps.signal);
    }
    return {};
  };
  const fail = (error: unknown) => void failures.push(error);
  const counts = await Promise.all(orders.map((order) => push(order).catch(fail)));
  // If the service is down, wait for it within the client's own limits before the step is tried again.
  const isDown = failures.some((error) => error instanceof ReviewSyncError && error.code === 'unavailable');
  if (isDown) await deps.api.orders.list({ limit: 1 }).catch(() => {});
  if (failures.length > 0) throw failures[0];
  deps.signal.throwIfAborted();
  return addCounts(counts.filter((one) => one !== undefined));
}

/** What was done under the lease. `OtherLease`: nothing was done, because another process is pushing the order. */
type UnderLease<T> = { done: T } | OtherLease;

/**
 * Brings one order at the service in line with the shop (docs/interface.md, "Orders" and "Sub-orders").
 *
 * 1. Take the lease. From here on no other process pushes this order, and the order is due until this push is recorded.
 *    The first push decides about contact (promise 7).
 * 2. If another process has since pushed or deleted the order, or broke off a push of it, read the order again. If
 *    nothing is to be sent, stop.
 * 3. Plan, save what is about to be created, send, learn. Repeat while something is left to plan (`carryOut`).
 * 4. Record all of it in one transaction, which gives the lease back.
 *
 * Two processes may run it at the same time, and it may be killed at any step.
 *
 * @throws when a system fails. A failure of this order is a dead letter: a request that the service refuses or fails
 *   on, a value that the warehouse refuses, or an unexpected error of this program, such as an argument that the client
 *   refuses.
 */
async function pushOrder(deps: OrderDeps, given: DesiredOrder, slice: SlicePush): Promise<UnderLease<Counts>> {
  const { code } = given;
  const { rights, now, readAt } = slice;
  const { createdAt: orderedAt } = given.order;
  const contact = firstDecision({ createdAt: orderedAt, now: now() }, rights);
  const isForGood = isDecidedForGood(rights);
  try {
    return await underLease(deps, { code, contact, isForGood, orderedAt, readAt }, async (leased) => {
      const { order, deadLetter } = isStale(leased, given, slice)
        ? ((await slice.readAgain(code)) ?? {})
        : { order: given };
      // The lease has just written the link of a new order.
      const nothing = order && whyNothing(order, 'unknown', leased.isNew ? undefined : leased.link, rights);
      if (order && !nothing) return bringInLine(deps, leased, order, slice);
      await deps.store.release(leased, { isBrokenOff: false });
      // The release forgets a new order. The dead letter is recorded after the release, and makes the order due again.
      if (deadLetter) return await recordFailed(deps, deadLetter);
      const counted = nothing === 'unchanged' ? 'orders_unchanged' : 'orders_deleted_in_shop';
      return nothing ? { [counted]: 1 } : {};
    });
  } catch (error) {
    const isOfThisOrder = isErrorOfTheData(error) || error instanceof TypeError || error instanceof RangeError;
    if (!isOfThisOrder) throw error;
    deps.log.error({ order: code, error, stack: (error as Error).stack }, 'unexpected error while pushing an order');
    // The dead letter shows no value of the order: the warehouse may refuse it again, and its message may quote it.
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
 * Does the work while only this process may push the order. The work records, forgets or releases the order. If the
 * work throws, nobody knows what was sent, and the order is due.
 */
export async function underLease<T>(
  { store, now }: OrderDeps,
  order: Parameters<OrderDeps['store']['lease']>[0],
  work: (leased: LeasedOrder) => Promise<T>,
): Promise<UnderLease<T>> {
  const leased = await store.lease(order);
  if ('leasedBy' in leased) return leased;
  using _heartbeat = store.keepAlive(leased);
  try {
    return { done: await work(leased) };
  } catch (error) {
    // Ignore a failure: the lease runs out by itself.
    await store.release(leased, { isBrokenOff: true }).catch(() => {});
    if (!(error instanceof LeaseLostError)) throw error;
    return { orderCode: order.code, leasedBy: 'another process', leasedUntil: now() };
  }
}

/**
 * Whether the order must be read again. Any of these is enough:
 *
 * - Another order goes first (`isAlike`), which the first reading may have missed.
 * - The creation date is that of another order: the first reading was too early, or the order is a dead letter.
 * - Another process has deleted the order since the first reading, so it looks new.
 * - A push broke off, and nobody knows what it sent.
 * - Another process may have pushed a newer version since the first reading.
 */
function isStale({ link, isNew, isForgotten, isAlike }: LeasedOrder, { order }: DesiredOrder, { readAt }: SlicePush) {
  if (isAlike || otherOrderFault(order, link) !== undefined) return true;
  if (isNew) return isForgotten;
  return link.fingerprint === null || link.pushedAt === null || link.pushedAt >= readAt;
}

/** Steps 3 and 4. */
async function bringInLine(deps: OrderDeps, leased: LeasedOrder, order: DesiredOrder, slice: SlicePush) {
  const { rights, breaker } = slice;
  const endRecord = breaker.begin(leased.link.failedPushes > 0);
  const planAt = (seen: Shown, known: OrderMemory) => planOrder(order, seen, known, slice);
  const { memory, shown, results } = await carryOut(deps, leased, rights, planAt);
  const { stop, accepted } = memory;
  // A line that fails says nothing about the service: many orders may have one bad product.
  endRecord(stop?.failure === 'transient' && accepted === undefined ? stop.reason : undefined);
  // Only an order that the shop has deleted is looked up.
  const isAbsent = shown === 'absent';
  // The other order may now have the contents of this one. A push of the other order restores it.
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

/**
 * Plans, takes removals from the day's allowance (promise 6), saves what is about to be created (promise 2), sends, and
 * learns from the results, until nothing is left to plan.
 */
export async function carryOut(
  deps: OrderDeps,
  leased: LeasedOrder,
  { allowRemovals }: Pick<PushRights, 'allowRemovals'>,
  planAt: (shown: Shown, memory: OrderMemory) => PlannedRequests,
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
    const mayRemove = removals === 0 || allowRemovals || (await store.takeRemovals({ removals, ...allowance }));
    if (!mayRemove) plan = planAt(shown, holdRemovals(memory, plan));
    ({ memory } = plan);
    if (plan.requests.length === 0) break;
    await store.saveLines(leased, memory.lines);
    const sent = await sendAll(deps, code, plan, send);
    results.push(...sent);
    ({ memory, shown } = learn(plan, shown, sent));
    if (shown === 'unknown') await sleep(deps.limits.settleMs, deps.signal);
  }
  return { memory, shown, results };
}
