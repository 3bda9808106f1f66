import { addCounts, type Counts, counted } from '../../base/counts.ts';
import { IncompleteError, ReviewSyncError } from '../../base/errors.ts';
import { sleep } from '../../base/timeout.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { openBatch } from '../../warehouse/batch.ts';
import { recordUnreadable, settleGone } from '../../warehouse/orders/due-orders.ts';
import type { PushRights } from '../contact-rule.ts';
import { leasePollMs, retryDelaysMs, slicesOf } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import type { DesiredOrder } from '../plan/desired-order.ts';
import { beginPlanning, readOrders, readSlice } from '../plan/read-orders.ts';
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
 * 1. Read the orders and what is remembered of them.
 * 2. Record orders that cannot be read, or are other orders, as dead letters; leave out those that are unchanged, gone, or
 *    deleted before they were pushed.
 * 3. Push the others side by side, and those that another process is pushing once it has finished.
 */
async function pushSlice(deps: OrderDeps, codes: readonly string[], rights: PushRights): Promise<Counts> {
  const { db, shop } = deps;
  const planning = await beginPlanning(deps, rights);
  const { raws, gone } = await readSlice(deps, codes);
  // What is gone is settled: nothing is left to do for it, and its dead letters close.
  if (gone.length > 0) await deps.requireSameShop();
  await requireLines(deps, raws);
  const read = await readOrders(deps, raws, planning);
  if (gone.length > 0)
    deps.log.warn(
      { orders: gone.slice(0, 20) },
      `${counted(gone.length, 'order')} gone from the shop since they were planned`,
    );
  const deadLetters = read.flatMap(({ deadLetter }) => deadLetter ?? []);
  await recordUnreadable(db, deadLetters, retryDelaysMs);

  const {
    unchanged = [],
    'deleted in the shop': deleted = [],
    changed = [],
  } = Object.groupBy(
    read.filter((one) => one.order !== undefined),
    ({ plan }) => plan.nothing ?? 'changed',
  );
  // The code that an order was planned by may differ in case from the order's own: the own code is the one to remember.
  const shown = new Set(raws.map(({ order }) => order.code));
  await settleGone(db, [...codes.filter((code) => !shown.has(code)), ...deleted.map(({ code }) => code)]);

  const readAgain = openBatch(async (some: string[]) => {
    const again = await readOrders(deps, await shop.orders(some), planning);
    return some.map((code) => again.find((one) => one.code === code));
  });
  const toPush = changed.map(({ order }) => order);
  const pushed = await pushAll(deps, toPush, { ...planning, breaker: openBreaker(), readAgain });
  const counts = { orders: raws.length, orders_unchanged: unchanged.length, orders_failed: deadLetters.length };
  return addCounts([counts, { orders_deleted_kept: deleted.length, orders_gone: gone.length }, pushed]);
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
  let isWaitLogged = false;
  const push = async (order: DesiredOrder): Promise<Counts> => {
    while (failures.length === 0) {
      const { done, elsewhere } = await deps.slots(() =>
        failures.length > 0 ? { done: {} } : pushOrder(deps, order, slice),
      );
      if (done) return done;
      const { orderCode, leasedBy, leasedUntil } = elsewhere;
      const reason = `${leasedBy} is pushing order ${orderCode} and has the lease`;
      if (!isWaitLogged) deps.log.info({ until: leasedUntil }, `waiting: ${reason}`);
      isWaitLogged = true;
      deps.onWait?.({ reason, untilMs: leasedUntil.getTime() });
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
  const isDown = failures.some((error) => error instanceof ReviewSyncError && error.code === 'unavailable');
  if (isDown) await deps.api.orders.list({ limit: 1 }).catch(() => {});
  if (failures.length > 0) throw failures[0];
  deps.signal.throwIfAborted();
  return addCounts(counts);
}
