import { addCounts, type Counts } from '../../base/counts.ts';
import { IncompleteError } from '../../base/errors.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { openBatch } from '../../warehouse/batch.ts';
import { warehouseNow } from '../../warehouse/clock.ts';
import { type NewDeadLetter, putDeadLetter, resolveOrderDeadLetters } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { forgetFingerprints, type OrderLink } from '../../warehouse/orders/order-links.ts';
import { forgetWaiting, resolveUnchanged } from '../../warehouse/orders/order-revisits.ts';
import { ageClock } from '../order/contact-rule.ts';
import { type DesiredOrder, isDeletedAndKept, isUnchanged, type PushPolicy } from '../order/desired-order.ts';
import { readDesiredOrders, readLinksOf } from '../order/read-desired-orders.ts';
import { readFromShop } from '../order/read-from-shop.ts';
import { openServiceHealth, type RetryBudget } from '../service-health.ts';
import { type Begun, beginPushes, type PushesDeps } from './push-side-by-side.ts';

/**
 * Which orders to push. `plannedAt`: the orders did not change, but are read again for another reason; an order that was
 * pushed since that moment is left out.
 */
export type OrderStep = { codes: string[]; plannedAt?: string } & PushPolicy;

/** Orders read and compared at a time. */
const ordersPerSlice = 200;

export type SliceDeps = Omit<PushesDeps, 'policy' | 'readAgain' | 'service'> & {
  shop: Shop;
  db: Db;
  retryBudget?: RetryBudget;
};

/**
 * Pushes the orders of one step as they are in the shop now.
 *
 * @throws when the service, the shop or the warehouse fails; what was pushed until then stays pushed.
 */
export async function pushStep(deps: SliceDeps, step: OrderStep): Promise<Counts> {
  const { ended } = await beginStep(deps, step);
  return ended;
}

/**
 * The same, 200 orders at a time: the next slice is read when all orders of the slice before it have begun, so that the
 * requests do not run out while the last of them end.
 *
 * @returns when all orders of the step have begun, or a system has failed; `ended` rejects with the failure.
 */
export async function beginStep(deps: SliceDeps, step: OrderStep): Promise<Begun<Counts>> {
  const counts: Counts[] = [];
  const failures: unknown[] = [];
  const ends: Promise<unknown>[] = [];
  for (let at = 0; at < step.codes.length && failures.length === 0; at += ordersPerSlice) {
    try {
      deps.signal.throwIfAborted();
      const slice = await beginSlice(deps, { ...step, codes: step.codes.slice(at, at + ordersPerSlice) });
      ends.push(slice.ended.then((ended) => counts.push(ended)).catch((error) => failures.push(error)));
    } catch (error) {
      failures.push(error);
    }
  }
  const end = async () => {
    await Promise.all(ends);
    if (failures.length > 0) throw failures[0];
    return addCounts(counts);
  };
  return { ended: end() };
}

/**
 * 1. Read the orders and what is remembered of them.
 * 2. Keep orders that cannot be read as dead letters; leave out those that are unchanged or gone, and deleted ones unless
 *    ORDER_DELETES=send.
 * 3. Push the others side by side, and those that another process is pushing once it has finished.
 */
async function beginSlice(deps: SliceDeps, step: OrderStep): Promise<Begun<Counts>> {
  const { db, shop } = deps;
  const policy: PushPolicy = { contact: step.contact, removals: step.removals };
  const readAt = await warehouseNow(db);
  const { raws, postponed } = await readFromShop(deps, step.codes);
  await requireLines(shop, raws);
  const { orders, deadLetters } = await readDesiredOrders(db, raws);
  await keepDeadLetters(db, deadLetters);
  await forgetVanished(db, step.codes, [...postponed, ...raws.map((raw) => raw.order.code)]);

  const links = await readLinksOf(db, orders);
  const { plannedAt } = step;
  const isRevisit = plannedAt !== undefined;
  const due = isRevisit ? notPushedSince(new Date(plannedAt), orders, links) : orders;
  const parts = partition(deps, due, links, policy);
  await closeUnchanged(db, parts);

  const push: PushesDeps = {
    ...deps,
    now: ageClock(deps.now, readAt),
    policy,
    service: openServiceHealth(deps.api, deps),
    readAgain: openBatch(async (codes: string[]) => {
      const again = await readDesiredOrders(db, await shop.orders(codes));
      const byCode = new Map(again.orders.map((one) => [one.prepared.order.code, one]));
      return codes.map((code) => byCode.get(code));
    }),
  };
  const count = raws.length + postponed.length;
  const read = isRevisit ? { orders_revisited: count } : { orders: count };
  const unchanged = isRevisit ? {} : { orders_unchanged: parts.unchanged.length };
  const failed = {
    orders_failed: deadLetters.length + postponed.length,
    orders_deleted_kept: parts.deletedKept.length,
  };
  const { ended } = await beginPushes(push, parts.changed, readAt);
  return {
    ended: ended.then((pushed) => sliceCounts(policy, addCounts([read, unchanged, failed]), addCounts(pushed))),
  };
}

function sliceCounts({ removals }: PushPolicy, read: Counts, pushed: Counts): Counts {
  if (removals !== 'approved') return addCounts([read, pushed]);
  // An earlier batch of the run has read and pushed these orders.
  const { orders_pushed: _, orders_unchanged: __, ...removed } = pushed;
  return removed;
}

/**
 * Where not one order of a slice has a line, the lines may be written under other codes than the orders: then nothing may
 * be pushed as if it were complete.
 */
async function requireLines(shop: Shop, raws: readonly RawOrder[]): Promise<void> {
  const readable = raws.filter((raw) => raw.fault === undefined);
  if (readable.length === 0 || readable.some((raw) => raw.lines.length > 0)) return;
  const fault = await shop.linesFault();
  if (fault !== undefined) throw new IncompleteError(fault, { hint: 'npx review-sync doctor shows the queries.' });
}

/** Once what is wrong with these orders is corrected they are pushed again, and the push closes their dead letters. */
async function keepDeadLetters(db: Db, deadLetters: readonly NewDeadLetter[]): Promise<void> {
  for (const deadLetter of deadLetters) await putDeadLetter(db, deadLetter);
  await forgetFingerprints(
    db,
    deadLetters.flatMap((deadLetter) => deadLetter.order_code ?? []),
  );
}

/** Orders to read again that no slice of the same run has pushed since the run was planned. */
function notPushedSince(
  at: Date,
  orders: readonly DesiredOrder[],
  links: ReadonlyMap<string, OrderLink>,
): readonly DesiredOrder[] {
  return orders.filter(({ prepared }) => (links.get(prepared.order.code)?.pushedAt ?? 0) < at);
}

type Partition = {
  /** To be pushed, or deleted at the service. */
  changed: DesiredOrder[];
  unchanged: DesiredOrder[];
  /** Deleted in the shop; they stay at the service, or were never there. */
  deletedKept: DesiredOrder[];
};

function partition(
  { deletes }: SliceDeps,
  orders: readonly DesiredOrder[],
  links: ReadonlyMap<string, OrderLink>,
  policy: PushPolicy,
): Partition {
  const parts: Partition = { changed: [], unchanged: [], deletedKept: [] };
  for (const desired of orders) {
    const link = links.get(desired.prepared.order.code);
    if (isDeletedAndKept(desired, link, deletes)) parts.deletedKept.push(desired);
    else parts[isUnchanged(desired, link, policy) ? 'unchanged' : 'changed'].push(desired);
  }
  return parts;
}

/** Unchanged orders, and those that are deleted in the shop and stay at the service, have nothing left to correct. */
async function closeUnchanged(db: Db, { unchanged, deletedKept }: Partition): Promise<void> {
  await resolveUnchanged(
    db,
    unchanged.map(({ prepared, fingerprint }) => ({ order_code: prepared.order.code, fingerprint })),
  );
  const deleted = deletedKept.map(({ prepared }) => prepared.order.code);
  await resolveOrderDeadLetters(db, deleted);
  await forgetWaiting(db, deleted);
}

/** Orders that were asked for by code and that the shop does not have any more: nothing of them can fail or wait. */
async function forgetVanished(
  db: Db,
  codes: readonly string[],
  there: readonly (string | null | undefined)[],
): Promise<void> {
  const found = new Set(there);
  const vanished = codes.filter((code) => !found.has(code));
  await resolveOrderDeadLetters(db, vanished);
  await forgetWaiting(db, vanished);
}
