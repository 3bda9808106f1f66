import { addCounts, type Counts } from '../../base/counts.ts';
import type { Second } from '../../base/time/span.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import type { Order } from '../../shop/rows.ts';
import { warehouseNow } from '../../warehouse/clock.ts';
import type { Db } from '../../warehouse/index.ts';
import {
  absentOrders,
  forgetAbsentOrders,
  type KnownOrder,
  knownOrders,
  noteAbsentOrders,
} from '../../warehouse/orders/absent-orders.ts';
import { noteMissedOrders, ordersPushedForOtherReasons } from '../../warehouse/orders/missed-orders.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';
import { readCursor } from '../../warehouse/runs/cursors.ts';
import { changedShopQueries } from '../../warehouse/shop-queries.ts';
import { isDeletedAndKept, isUnchanged, type PushPolicy } from '../order/desired-order.ts';
import { missingInShop } from '../order/find-in-shop.ts';
import { readDesiredOrders, readLinksOf } from '../order/read-desired-orders.ts';
import { readFromShop } from '../order/read-from-shop.ts';
import { pushStep, type SliceDeps } from '../push/push-slice.ts';
import { type CreationRange, ordersByCreation } from './orders-by-day.ts';
import { whereToStart } from './where-to-start.ts';

export type RescanDeps = SliceDeps & {
  runId: string;
  /** ORDER_OVERLAP_MINUTES. */
  lookbackMinutes: number;
  removals: PushPolicy['removals'];
};

/**
 * Reads the orders created in a span again.
 *
 * 1. Read a page of orders, and what is remembered of them. An unchanged order costs no request.
 * 2. Take note of the changed ones that the incremental runs have passed over.
 * 3. Push the changed ones.
 * 4. After the last page, take note of pushed orders of the span that the shop does not show, and forget the absence of
 *    those that it shows again.
 *
 * May be run again after a crash, and twice at once.
 */
export async function rescanSpan(deps: RescanDeps, range: CreationRange): Promise<Counts> {
  const { shop, signal } = deps;
  const seen = new Set<string>();
  const counts: Counts[] = [];
  const orders = async (codes: readonly string[]) => {
    const { raws, postponed } = await readFromShop(deps, codes);
    for (const code of postponed) seen.add(code);
    return raws;
  };
  for await (const raws of ordersByCreation({ ...shop, orders }, range)) {
    signal.throwIfAborted();
    for (const { order } of raws) if (order.code) seen.add(order.code);
    counts.push(await rescanPage(deps, raws));
  }
  counts.push(await lookForAbsent(deps, range, seen));
  return addCounts(counts);
}

async function rescanPage(deps: RescanDeps, raws: readonly RawOrder[]): Promise<Counts> {
  const { db } = deps;
  const policy: PushPolicy = { contact: 'young', removals: deps.removals };
  const plannedAt = (await warehouseNow(db)).toISOString();
  const { orders, deadLetters } = await readDesiredOrders(db, raws);
  const links = await readLinksOf(db, orders);
  const changed = orders.filter((desired) => {
    const link = links.get(desired.prepared.order.code);
    return !isDeletedAndKept(desired, link, deps.deletes) && !isUnchanged(desired, link, policy);
  });
  const due = changed.map(({ prepared }) => prepared.order);
  const read: Counts = { orders: raws.length, orders_unchanged: orders.length - due.length };
  const codes = [...due.map(({ code }) => code), ...deadLetters.flatMap((one) => one.order_code ?? [])];
  if (codes.length === 0) return read;
  const missed = await missedOrders(deps, due, links);
  await noteMissedOrders(db, deps.runId, missed);
  const { orders_revisited: _, ...pushed } = await pushStep(deps, { codes, plannedAt, ...policy });
  return addCounts([read, { orders_missed: missed.length }, pushed]);
}

/**
 * Of the orders to push, those whose change the incremental runs have passed over. Left out: orders that are pushed for
 * another reason, orders last read by another version of the shop queries, and changes that the next incremental run finds.
 */
async function missedOrders(
  deps: RescanDeps,
  due: readonly Order[],
  links: ReadonlyMap<string, OrderLink>,
): Promise<string[]> {
  const { db } = deps;
  const otherwise = await ordersPushedForOtherReasons(
    db,
    due.map(({ code }) => code),
  );
  const changes = (await changedShopQueries(db)).map(({ changedAt }) => changedAt.getTime());
  const queriesChangedAt = Math.max(0, ...changes);
  const candidates = due.filter((order) => {
    const link = links.get(order.code);
    if (otherwise.has(order.code)) return false;
    if (link === undefined) return true;
    const pushedAt = link.pushedAt?.getTime() ?? 0;
    // A deletion that was tried before and could not be carried out was not missed.
    if (order.deletedAt) return pushedAt < order.deletedAt.getTime();
    return link.fingerprint !== null && !link.isRetryDue && pushedAt > queriesChangedAt;
  });
  const codes = candidates.map(({ code }) => code);
  const stillToCome = await foundByNextRun(deps, codes);
  return codes.filter((code) => !stillToCome.has(code));
}

/** Changes read in one statement, and how many of such pages at most. */
const [changesAtOnce, pagesAtMost] = [5000, 20];

/** Those of the orders that the next incremental run finds changed. */
async function foundByNextRun(
  { db, shop, lookbackMinutes }: RescanDeps,
  codes: readonly string[],
): Promise<ReadonlySet<string>> {
  const cursor = await readCursor(db, 'orders');
  if (!cursor || codes.length === 0) return new Set(codes);
  const wanted = new Set(codes);
  const found = new Set<string>();
  const clocks = { now: await warehouseNow(db), shopNow: await shop.now() };
  let page = await shop.changedSince(whereToStart(cursor, clocks, lookbackMinutes), changesAtOnce);
  for (let pages = 1; ; pages += 1) {
    for (const { code } of page.keys) if (wanted.has(code)) found.add(code);
    if (page.next === undefined || found.size === wanted.size) return found;
    // The incremental runs are far behind: nobody knows what they would find.
    if (pages === pagesAtMost) return wanted;
    page = await shop.changedSince(page.next, changesAtOnce);
  }
}

async function lookForAbsent(
  { db, shop, runId, signal }: RescanDeps,
  range: CreationRange,
  seen: ReadonlySet<string>,
): Promise<Counts> {
  let absent = 0;
  for await (const known of knownOrders(db, range)) {
    signal.throwIfAborted();
    const missing = await missingInShop(
      shop,
      known.filter(({ code }) => !seen.has(code)),
    );
    await noteAbsentOrders(db, runId, missing);
    absent += missing.length;
  }
  await forgetReturned({ db, shop }, await absentOrders(db, range), seen);
  return { orders_absent: absent };
}

/** Orders looked up in the shop at a time. */
const lookedUpAtOnce = 1000;

/** Reads orders again that were absent before and are older than the rescan reads. */
export async function rescanAbsent({ db, shop, runId }: RescanDeps, before: Second): Promise<Counts> {
  const absent = await absentOrders(db, { start: undefined, end: before });
  const still = await forgetReturned({ db, shop }, absent, new Set());
  await noteAbsentOrders(db, runId, still);
  return { orders_absent: still.length };
}

/** Forgets the absence of orders that the shop shows again. Gives those that are still absent. */
async function forgetReturned(
  { db, shop }: { db: Db; shop: Pick<Shop, 'orders'> },
  absent: readonly KnownOrder[],
  seen: ReadonlySet<string>,
): Promise<KnownOrder[]> {
  const still: KnownOrder[] = [];
  for (let at = 0; at < absent.length; at += lookedUpAtOnce) {
    const some = absent.slice(at, at + lookedUpAtOnce);
    const missing = await missingInShop(
      shop,
      some.filter(({ code }) => !seen.has(code)),
    );
    const codes = new Set(missing.map(({ code }) => code));
    await forgetAbsentOrders(
      db,
      some.map(({ code }) => code).filter((code) => !codes.has(code)),
    );
    still.push(...missing);
  }
  return still;
}
