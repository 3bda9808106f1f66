import type { Counts } from '../../base/counts.ts';
import { knownOrders } from '../../warehouse/orders/known-orders.ts';
import { makeDue } from '../../warehouse/orders/order-links.ts';
import type { PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { beginPlanning, missingInShop, readOrders } from '../plan/read-orders.ts';
import { pushOrders } from '../push/push-slice.ts';
import { boundsOf, inPages, ordersByCreation } from '../select/orders-by-day.ts';
import { type ComparedOrder, compareOrders } from './look-at-order.ts';

/**
 * Numbers of orders. `orders`: those of the shop that were read. `equal`: of these, the same in every field that the service
 * shows. `differing`: not the same. `notCompared`: nobody knows, since the service could not be asked about them, or shows another
 * order for them, or the row of the order or of one of its lines cannot be read. `deleted`: the shop marks them as deleted, and they
 * were never pushed, or the service does not have them. `waiting`: a line waits for its product id, or the order for its member
 * grade. `extra`: pushed orders that the shop does not show any more.
 */
const nothingCompared = () => ({
  orders: 0,
  equal: 0,
  differing: 0,
  extra: 0,
  notCompared: 0,
  deleted: 0,
  waiting: 0,
  /** The first of the extra ones. */
  extraCodes: [] as string[],
  /** The first of those that differ, and the first that were not compared. */
  differences: [] as ComparedOrder[],
  unknown: [] as { code: string; reason: string }[],
  /**
   * Sub-orders that match no line of the shop and that no push removes: another system created them, or they have
   * reviews. A copy may be among them. `codes`: the first of their orders.
   */
  unmatched: { subOrders: 0, orders: 0, codes: [] as string[] },
  /** Undefined without `--repair`. */
  repair: undefined as OrderRepair | undefined,
});

export type OrderVerification = ReturnType<typeof nothingCompared>;

export type OrderRepair = {
  /** Orders that are the same at both ends after they were pushed again. */
  repaired: number;
  /** Orders that still differ, and the first of their codes. */
  left: number;
  leftCodes: string[];
  /** What the pushes did. */
  counts: Counts;
};

/**
 * Compares shop and service order by order over the orders created in the range, one request an order; then looks for
 * pushed orders that the shop no longer shows. Memory does not grow with the range, but for the codes to repair.
 *
 * @param options.repair pushes again what is missing or differs. @param options.rights of the trigger `repair`, which
 *   carries no contact: contact that was never sent, or may not be sent now, is no difference.
 * @throws the errors of the shop and of the client when one of them fails as a whole.
 */
export async function verifyOrders(
  deps: OrderDeps & { onProgress(orders: number, note: string): void },
  { repair: mustRepair, rights }: { repair: boolean; rights: PushRights },
): Promise<OrderVerification> {
  const { db, shop, signal } = deps;
  const planning = await beginPlanning(deps, rights);
  const report = nothingCompared();
  const toRepair: string[] = [];
  for await (const raws of ordersByCreation(shop, rights.createdIn)) {
    signal.throwIfAborted();
    for (const one of await compareOrders(deps, await readOrders(deps, raws, planning), planning)) {
      enter(report, one);
      if (isToRepair(one)) toRepair.push(one.code);
    }
    deps.onProgress(report.orders, `${report.differing} differ`);
  }
  if (mustRepair) report.repair = await repair(deps, toRepair, rights);
  for await (const known of knownOrders(db, boundsOf(rights.createdIn))) {
    signal.throwIfAborted();
    const extra = await missingInShop(shop, known);
    report.extra += extra.length;
    list(report.extraCodes, ...extra);
  }
  return report;
}

/** Pushes orders again, and compares them once more. */
async function repair(deps: OrderDeps, codes: readonly string[], rights: PushRights): Promise<OrderRepair> {
  // Not those that were never pushed: if the repair breaks off, no other run is to push them with contact (promise 7).
  await makeDue(deps.db, codes);
  const counts = await pushOrders(deps, codes, rights);
  const planning = await beginPlanning(deps, rights);
  const left = new Set(codes);
  for await (const raws of inPages(deps.shop, codes))
    for (const { code, kind } of await compareOrders(deps, await readOrders(deps, raws, planning), planning))
      if (kind === 'equal' || kind === 'deleted') left.delete(code);
  const leftCodes = [...left].slice(0, listedAtMost);
  return { repaired: codes.length - left.size, left: left.size, leftCodes, counts };
}

/** Enters an order into the report. */
function enter(report: OrderVerification, one: ComparedOrder): void {
  const { code, kind, reason = '', difference } = one;
  report.orders += 1;
  if (kind === 'equal' || kind === 'deleted') report[kind] += 1;
  else if (isToRepair(one)) {
    report.differing += 1;
    list(report.differences, one);
  } else {
    report.notCompared += 1;
    list(report.unknown, { code, reason });
  }
  if (difference?.orderId === undefined) return;
  const { fieldsNotSent, linesNotSent } = difference;
  if (fieldsNotSent.length > 0 || linesNotSent.some((line) => line.isWaiting)) report.waiting += 1;
  const { unmatched } = report;
  const kept = difference.subOrders.keep.length;
  if (kept === 0) return;
  unmatched.subOrders += kept;
  unmatched.orders += 1;
  list(unmatched.codes, code);
}

const isToRepair = ({ kind }: ComparedOrder) => kind === 'missing' || kind === 'differs';

/** Orders listed one by one; all are counted. */
const listedAtMost = 20;

const list = <T>(listed: T[], ...more: T[]) => listed.push(...more.slice(0, listedAtMost - listed.length));
