import { isoOf, type Second } from '../../base/time/span.ts';
import type { Shop } from '../../shop/index.ts';
import type { Db } from '../../warehouse/index.ts';
import { countKnownOrdersByDay } from '../../warehouse/orders/absent-orders.ts';
import { readCursor } from '../../warehouse/runs/cursors.ts';
import { recordShopQueries } from '../../warehouse/shop-queries.ts';

/**
 * A part of a rescan.
 *
 * - `created`: reads the orders created in the span again. Without an end: all from its start on.
 * - `absent`: reads those orders again that were absent before and are older than the rescan reads.
 * - `keyless`: looks for rows that no walk reads.
 * - `push`: the last batch, see planRemovals.
 */
export type RescanStep =
  | { kind: 'created'; start: Second; end?: Second }
  | { kind: 'absent'; before: Second }
  | { kind: 'keyless' }
  | { kind: 'push'; codes: string[]; plannedAt?: string };

/** `start`: the oldest creation that the rescan reads; undefined: it reads no orders. */
export type RescanPlan = { start: Second | undefined; steps: RescanStep[] };

const daySeconds = 86_400;

/**
 * Known orders that a step of several days reads at most. A step costs 3 ms of processor time without any order, so 60 steps of
 * a small shop cost as much as the rest of a reconcile (docs/benchmarks.md).
 */
const ordersOfStep = 500;

/**
 * The steps of a rescan: each for one or more days of creation (UTC) of the last `days` days, then what was absent before, then
 * the check for rows without key. None before the first `sync orders` has ended: nothing was missed yet, and where orders
 * are not synced on purpose, no rescan may push them.
 *
 * @param days ORDER_RESCAN_DAYS. 0: the orders are not read again.
 */
export async function planRescan({ shop, db }: { shop: Shop; db: Db }, days: number): Promise<RescanPlan> {
  if ((await readCursor(db, 'orders')) === undefined) return { start: undefined, steps: [] };
  await recordShopQueries(db, await shop.queryHashes());
  const keyless: RescanStep = { kind: 'keyless' };
  if (days === 0) return { start: undefined, steps: [keyless] };
  const today = Math.floor(Date.parse(await shop.now()) / 1000 / daySeconds) * daySeconds;
  const start = today - Math.ceil(days) * daySeconds;
  const first = await shop.orderCodes({ axis: 'created', after: { at: isoOf(start), code: '' }, size: 1 });
  // Where the database cannot compute some date, each span costs a walk over all orders.
  const end = first.isByDate ? today : start;
  const created = groupDays(await countKnownOrdersByDay(db, start), start, end);
  const last: RescanStep = { kind: 'created', start: end };
  return { start, steps: [...created, last, { kind: 'absent', before: start }, keyless] };
}

/** Steps for the days of `[start, end)`. Days that follow each other share a step while they hold few known orders. */
function groupDays(ordersOn: ReadonlyMap<Second, number>, start: Second, end: Second): RescanStep[] {
  const groups: { start: Second; end: Second; orders: number }[] = [];
  for (let day = start; day < end; day += daySeconds) {
    const orders = ordersOn.get(day) ?? 0;
    const group = groups.at(-1);
    if (group && group.orders + orders <= ordersOfStep) {
      group.end = day + daySeconds;
      group.orders += orders;
    } else groups.push({ start: day, end: day + daySeconds, orders });
  }
  return groups.map((group): RescanStep => ({ kind: 'created', start: group.start, end: group.end }));
}
