import { addCounts, type Counts, codesText, counted } from '../../base/counts.ts';
import { IncompleteError } from '../../base/errors.ts';
import { sleep } from '../../base/timeout.ts';
import { UnavailableError } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { openBatch } from '../../warehouse/batch.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { dueAmong, recordUnreadable, settleGone } from '../../warehouse/orders/due-orders.ts';
import { ageClock, type PushRights } from '../contact-rule.ts';
import { areMost, fewOrders, leasePollMs, retryDelaysMs, slicesOf } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type DesiredOrder, orderDeadLetter } from '../plan/desired-order.ts';
import { memoryOf } from '../plan/order-memory.ts';
import { planOrder } from '../plan/plan-order.ts';
import { type ReadOrder, readOrders, readSlice, sameOrders } from '../plan/read-orders.ts';
import { openBreaker } from '../requests.ts';
import { pushOrder, type SlicePush } from './push-order.ts';

/**
 * Pushes orders as they are in the shop now, a slice at a time.
 *
 * @throws when the service, the shop or the warehouse fails; what was pushed until then stays pushed.
 */
export async function pushOrders(deps: OrderDeps, codes: readonly string[], rights: PushRights): Promise<Counts> {
  const counts: Counts[] = [];
  for (const slice of slicesOf(codes)) {
    deps.signal.throwIfAborted();
    counts.push(await pushSlice(deps, slice, rights));
  }
  return addCounts(counts);
}

/**
 * 1. Read the orders and what is remembered of them. Stop if most of them are gone, or are other orders than those pushed.
 * 2. Record orders that cannot be read, or are other orders, as dead letters; leave out those that are unchanged, gone, or
 *    deleted before they were pushed.
 * 3. Push the others side by side, and those that another process is pushing once it has finished.
 */
async function pushSlice(deps: OrderDeps, codes: readonly string[], rights: PushRights): Promise<Counts> {
  const { db, shop } = deps;
  const readAt = await warehouseNow(db);
  const { raws, gone, unknown } = await readSlice(deps, codes);
  await requireLines(deps, raws);
  const read = await readOrders(deps, raws, rights);
  requireSameOrders(read);
  if (!rights.allowRemovals) await requireShown(deps, codes, gone);
  if (gone.length > 0)
    deps.log.warn(
      { orders: gone.slice(0, 20) },
      `${counted(gone.length, 'order')} gone from the shop since they were planned`,
    );
  const unreadable = read.flatMap(({ deadLetter }) => deadLetter ?? []);
  const deadLetters = [...unreadable, ...unknown.map((code) => orderDeadLetter({ code }, feedFault))];
  await recordUnreadable(db, deadLetters, retryDelaysMs);

  const now = ageClock(deps.now, readAt);
  const {
    unchanged = [],
    'deleted in the shop': deleted = [],
    changed = [],
  } = Object.groupBy(
    read.filter((one) => one.order !== undefined),
    ({ order, link }) => planOrder(order, 'unknown', memoryOf(link), rights, now()).nothing ?? 'changed',
  );
  // The code that an order was planned by may differ in case from the order's own: the own code is the one to remember.
  const shown = new Set([...raws.map(({ order }) => order.code), ...unknown]);
  await settleGone(db, [...codes.filter((code) => !shown.has(code)), ...deleted.map(({ code }) => code)]);

  const readAgain = openBatch(async (some: string[]) => {
    const again = await readOrders(deps, await shop.orders(some), rights);
    return some.map((code) => again.find((one) => one.code === code));
  });
  const toPush = changed.map(({ order }) => order);
  const pushed = await pushAll(deps, toPush, { rights, readAt, now, breaker: openBreaker(), readAgain });
  const counts = { orders: raws.length, orders_unchanged: unchanged.length, orders_failed: deadLetters.length };
  return addCounts([counts, { orders_deleted_kept: deleted.length, orders_gone: gone.length }, pushed]);
}

const feedFault =
  'the change feed names this code and orders.sql has no order of it; a search for it in another case took too long, or ' +
  'failed on some row. Let changed_orders.sql write codes as orders.sql does, and name no orders that orders.sql leaves out';

/**
 * Stops if most of the pushed orders of a slice are other orders now. If only a few are, these become dead letters.
 *
 * @throws IncompleteError
 */
function requireSameOrders(read: readonly ReadOrder[]): void {
  const pushed = read.filter(({ link }) => link && link.orderId !== null).length;
  const others = read.filter(({ isOther }) => isOther).map(({ code }) => code);
  if (!areMost(others.length, pushed)) return;
  const codes = codesText(others.slice(0, 3), others.length);
  throw new IncompleteError(
    `${others.length} of ${pushed} orders that were pushed before have other dates of creation in the shop now ` +
      `(${codes}): its orders were numbered again, or created_at of orders.sql has changed. Nothing of them is sent. ` +
      `If they are the same orders, and the new dates are right: ${sameOrders}`,
  );
}

/**
 * Stops if the shop does not show most of the orders that it has just named. Orders that were due do not count: the
 * warehouse named them.
 *
 * @throws IncompleteError
 */
async function requireShown({ db }: OrderDeps, codes: readonly string[], gone: readonly string[]): Promise<void> {
  if (gone.length <= fewOrders) return;
  const due = await dueAmong(db, codes);
  const [named, missing] = [codes, gone].map((some) => some.filter((code) => !due.has(code))) as [string[], string[]];
  if (!areMost(missing.length, named.length)) return;
  throw new IncompleteError(
    `The shop does not show ${missing.length} of ${named.length} orders that it named a moment ago ` +
      `(${codesText(missing.slice(0, 3), missing.length)}): nothing of these is sent. See whether all machines have the same ` +
      'SHOP_DATABASE_URL and queries. If the shop has deleted them: review-sync sync orders --allow-removals',
  );
}

/**
 * If no order of a slice has a line, the lines may be written under other codes than the orders: then nothing
 * may be pushed as if it were complete.
 */
async function requireLines({ shop }: OrderDeps, raws: readonly RawOrder[]): Promise<void> {
  const readable = raws.filter((raw) => raw.fault === undefined);
  if (readable.length === 0 || readable.some((raw) => raw.lines.length > 0)) return;
  const fault = await shop.linesFault();
  if (fault !== undefined) throw new IncompleteError(fault, { hint: 'review-sync doctor shows the queries.' });
}

/** Pushes orders side by side, and those that another process is pushing once it has finished. */
async function pushAll(deps: OrderDeps, orders: readonly DesiredOrder[], slice: SlicePush): Promise<Counts> {
  const failures: unknown[] = [];
  let waitsFor: string | undefined;
  const push = async (order: DesiredOrder): Promise<Counts> => {
    while (failures.length === 0) {
      const { done, elsewhere } = await deps.slots(() =>
        failures.length > 0 ? { done: {} } : pushOrder(deps, order, slice),
      );
      if (done) {
        if (waitsFor === order.code) waitsFor = undefined;
        return done;
      }
      const { orderCode, leasedBy, leasedUntil } = elsewhere;
      const reason = `${leasedBy} is pushing order ${orderCode} and has the lease`;
      if (waitsFor === undefined) deps.log.info({ until: leasedUntil }, `waiting: ${reason}`);
      waitsFor ??= order.code;
      if (waitsFor === order.code) deps.onWait?.({ reason, untilMs: leasedUntil.getTime() });
      await sleep(leasePollMs, deps.signal);
    }
    return {};
  };
  const counts = await Promise.all(
    orders.map((order) =>
      push(order).catch((error: unknown) => {
        failures.push(error);
        return {};
      }),
    ),
  );
  // A service that is down is waited for, as long as the client's own limits allow, before the step is tried again.
  const isDown = slice.breaker.isOpen() || failures.some((error) => error instanceof UnavailableError);
  if (isDown) await deps.api.orders.list({ limit: 1 }).catch(() => {});
  if (failures.length > 0) throw failures[0];
  deps.signal.throwIfAborted();
  return addCounts(counts);
}
