import pLimit, { type LimitFunction } from 'p-limit';
import type { Counts } from '../../base/counts.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { knownOrders } from '../../warehouse/orders/absent-orders.ts';
import { missingInShop } from '../order/find-in-shop.ts';
import type { SliceDeps } from '../push/push-slice.ts';
import { type CreationRange, ordersByCreation } from '../which/orders-by-day.ts';
import { isDifferent, notComparable, type OrderComparison, withoutPersonalData } from './compare-order.ts';
import { type LookDeps, type OrderLook, openLookup, rememberedOf } from './look-at-order.ts';
import { repairOrders } from './repair-orders.ts';

/**
 * An order that is not the same at both ends.
 *
 * - `missing`: the service does not have it.
 * - `differs`: the comparison shows in what.
 * - `extra`: the shop does not show it any more.
 */
export type DifferingOrder = {
  code: string;
  kind: 'missing' | 'differs' | 'extra';
  /** Without the customer's name, e-mail address and phone number. */
  comparison: OrderComparison | undefined;
};

export type OrderVerification = {
  /** Orders of the shop that were read. */
  orders: number;
  /** How many of them are the same in every field that the service shows. */
  equal: number;
  /** Not the same at both ends, `extra` ones included. */
  differing: number;
  /** How many of the differing orders are `extra`. */
  extra: number;
  /** Nobody knows: the service could not be asked about them, or the row of the order or of one of its lines cannot be read. */
  notCompared: number;
  /** The shop marks them as deleted. They are not compared. */
  deleted: number;
  /** The first of those that differ, and the first that were not compared. */
  differences: DifferingOrder[];
  unknown: { code: string; reason: string }[];
  /**
   * Sub-orders that match no line of the shop and that no push removes: another system created them, or they have reviews. A
   * duplicate may be among them. `codes`: the first of their orders.
   */
  unmatched: { subOrders: number; orders: number; codes: string[] };
  /** Fields that could not be compared, with the number of orders: `mileage`, `lines: status`. */
  fieldsNotCompared: Record<string, number>;
  /** Requests to the service, all of them GET, but for those of a repair. */
  requests: number;
  /** Undefined without `--repair`. */
  repair: OrderRepair | undefined;
};

export type OrderRepair = {
  /** Orders that are the same at both ends after they were pushed again. */
  repaired: number;
  /** Orders that still differ, and the first of their codes. */
  left: number;
  leftCodes: string[];
  /** What the pushes did. */
  counts: Counts;
};

export type VerifyDeps = LookDeps &
  SliceDeps & { shop: Shop; concurrency: number; onProgress(orders: number, note: string): void };

/** Orders listed one by one; all are counted. */
const listedAtMost = 20;

/**
 * Compares shop and service order by order over the orders created in the range, one request an order; then looks for
 * pushed orders that the shop no longer shows. Memory does not grow with the range, but for the codes to repair.
 *
 * @param options.repair pushes again what is missing or differs, without e-mail address and phone number.
 * @throws the errors of the shop and of the client when one of them fails as a whole.
 */
export async function verifyOrders(
  deps: VerifyDeps,
  range: CreationRange,
  options: { repair: boolean },
): Promise<OrderVerification> {
  const work: Work = {
    deps,
    lookup: await openLookup(deps),
    slots: pLimit(deps.concurrency),
    report: emptyReport(options),
    toRepair: [],
  };
  for await (const raws of ordersByCreation(deps.shop, range)) {
    deps.signal.throwIfAborted();
    await verifyPage(work, raws);
    deps.onProgress(work.report.orders, `${work.report.differing} differ`);
  }
  if (work.report.repair) await repair(work, work.report.repair);
  for await (const known of knownOrders(deps.db, range)) {
    deps.signal.throwIfAborted();
    for (const { code } of await missingInShop(deps.shop, known)) {
      difference(work, { code, kind: 'extra', comparison: undefined });
      leave(work, code);
    }
  }
  return { ...work.report, requests: work.lookup.requests };
}

type Work = {
  deps: VerifyDeps;
  lookup: Awaited<ReturnType<typeof openLookup>>;
  slots: LimitFunction;
  report: OrderVerification;
  /** Codes of orders that are missing or differ. */
  toRepair: string[];
};

const emptyReport = ({ repair }: { repair: boolean }): OrderVerification => ({
  orders: 0,
  equal: 0,
  differing: 0,
  extra: 0,
  notCompared: 0,
  deleted: 0,
  differences: [],
  unknown: [],
  unmatched: { subOrders: 0, orders: 0, codes: [] },
  fieldsNotCompared: {},
  requests: 0,
  repair: repair ? { repaired: 0, left: 0, leftCodes: [], counts: {} } : undefined,
});

async function verifyPage(work: Work, raws: readonly RawOrder[]): Promise<void> {
  const { report } = work;
  report.orders += raws.length;
  for (const look of await looksOf(work, raws)) {
    const { shop, shown, comparison } = look;
    const fault = faultOf(look);
    if (shown.kind === 'failed') unknown(work, shop.code, shown.reason);
    else if (!comparison || isDifferent(comparison)) {
      const kind = comparison ? 'differs' : 'missing';
      difference(work, { code: shop.code, kind, comparison: comparison && withoutPersonalData(comparison) });
      if (report.repair) work.toRepair.push(shop.code);
    } else if (fault !== undefined) unknown(work, shop.code, fault);
    else report.equal += 1;
    countNotComparable(report, comparison);
    countUnmatched(report, comparison);
  }
}

/** Why a line of the order cannot be compared, not even later. A line that waits for its product id can. */
function faultOf({ shop }: OrderLook): string | undefined {
  const [line] = shop.desired?.prepared.faulty ?? [];
  return line && `line ${line.lineCode}: ${line.reason}`;
}

/** Looks at the orders that can be compared; counts the others. */
async function looksOf(work: Work, raws: readonly RawOrder[]): Promise<OrderLook[]> {
  const { deps, lookup, slots, report } = work;
  const looks: Promise<OrderLook>[] = [];
  for (const one of await rememberedOf(deps.db, raws)) {
    if (!one.desired) unknown(work, one.code, one.fault ?? '');
    else if (one.desired.prepared.order.deletedAt) report.deleted += 1;
    else looks.push(slots(() => lookup.look(one, 'never')));
  }
  return Promise.all(looks);
}

/** Pushes the orders that differ, removes what they have too much, and compares them again. */
async function repair(work: Work, done: OrderRepair): Promise<void> {
  const { deps, report, toRepair } = work;
  done.counts = await repairOrders(deps, toRepair, { read: report.orders });
  for (let at = 0; at < toRepair.length; at += comparedAgainAtOnce) {
    const codes = toRepair.slice(at, at + comparedAgainAtOnce);
    const again = await looksOf({ ...work, report: emptyReport({ repair: false }) }, await deps.shop.orders(codes));
    const isRepaired = (look: OrderLook) =>
      look.comparison !== undefined && !isDifferent(look.comparison) && faultOf(look) === undefined;
    const repaired = new Set(again.filter(isRepaired).map((look) => look.shop.code));
    for (const code of codes) {
      if (repaired.has(code)) done.repaired += 1;
      else leave(work, code);
    }
  }
}

const comparedAgainAtOnce = 500;

function leave({ report }: Work, code: string): void {
  if (!report.repair) return;
  report.repair.left += 1;
  if (report.repair.leftCodes.length < listedAtMost) report.repair.leftCodes.push(code);
}

function difference({ report }: Work, one: DifferingOrder): void {
  report.differing += 1;
  if (one.kind === 'extra') report.extra += 1;
  if (report.differences.length < listedAtMost) report.differences.push(one);
}

function unknown({ report }: Work, code: string, reason: string): void {
  report.notCompared += 1;
  if (report.unknown.length < listedAtMost) report.unknown.push({ code, reason });
}

function countNotComparable({ fieldsNotCompared }: OrderVerification, comparison: OrderComparison | undefined): void {
  if (!comparison) return;
  const names = notComparable(comparison).map(({ field, lineCode }) => (lineCode === null ? field : `lines: ${field}`));
  for (const name of new Set(names)) fieldsNotCompared[name] = (fieldsNotCompared[name] ?? 0) + 1;
}

function countUnmatched({ unmatched }: OrderVerification, comparison: OrderComparison | undefined): void {
  const subOrders = comparison?.lines.filter(({ kind }) => kind === 'unmanaged' || kind === 'kept').length ?? 0;
  if (!comparison || subOrders === 0) return;
  unmatched.subOrders += subOrders;
  unmatched.orders += 1;
  if (unmatched.codes.length < listedAtMost) unmatched.codes.push(comparison.code);
}
