import type { Counts } from '../../base/counts.ts';
import { isoOf } from '../../base/time/span.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { knownOrders } from '../../warehouse/orders/known-orders.ts';
import { makeDue } from '../../warehouse/orders/order-links.ts';
import { fieldsNotShown, isDifferent, type OrderDifference, withoutPersonalData } from '../order/order-difference.ts';
import { missingInShop } from '../order/read-orders.ts';
import type { OrderDeps } from '../order-deps.ts';
import { pushOrders } from '../push/push-slice.ts';
import { type CreationRange, ordersByCreation } from '../which/orders-by-day.ts';
import { type OrderLook, openLookup, shopOrders } from './look-at-order.ts';

/**
 * An order that is not the same at both ends.
 *
 * - `missing`: the service does not have it.
 * - `differs`: the difference shows in what.
 */
export type DifferingOrder = {
  code: string;
  kind: 'missing' | 'differs';
  /** Without the customer's name, e-mail address and phone number. */
  difference: ReturnType<typeof withoutPersonalData> | undefined;
};

export type OrderVerification = {
  /** Orders of the shop that were read. */
  orders: number;
  /** How many of them are the same in every field that the service shows. */
  equal: number;
  /** How many of them are not. */
  differing: number;
  /** Pushed orders that the shop does not show any more, and the first of their codes. */
  extra: number;
  extraCodes: string[];
  /**
   * Nobody knows: the service could not be asked about them, or the row of the order or of one of its lines cannot be
   * read.
   */
  notCompared: number;
  /** The shop marks them as deleted, and the service does not have them. */
  deleted: number;
  /** The first of those that differ, and the first that were not compared. */
  differences: DifferingOrder[];
  unknown: { code: string; reason: string }[];
  /**
   * Sub-orders that match no line of the shop and that no push removes: another system created them, or they have
   * reviews. A copy may be among them. `codes`: the first of their orders.
   */
  unmatched: { subOrders: number; orders: number; codes: string[] };
  /** Fields of the shop that the service does not show, with the number of orders: `mileage`, `lines: status`. */
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

export type VerifyDeps = OrderDeps & { onProgress(orders: number, note: string): void };

/** Orders listed one by one; all are counted. */
const listedAtMost = 20;

/** Orders compared again at a time. */
const comparedAgainAtOnce = 500;

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
  { repair: mustRepair }: { repair: boolean },
): Promise<OrderVerification> {
  const { db, shop, signal, slots } = deps;
  const lookup = await openLookup(deps);
  const report = emptyReport();
  const repair: OrderRepair | undefined = mustRepair ? { repaired: 0, left: 0, leftCodes: [], counts: {} } : undefined;
  const toRepair: string[] = [];
  const known: string[] = [];
  // A repair carries no contact, so contact that the service lacks is no difference.
  const looks = async (raws: readonly RawOrder[]) =>
    Promise.all((await shopOrders(deps, raws)).map((one) => slots(() => lookup.look(one, 'never'))));

  for await (const raws of ordersByCreation(shop, range)) {
    signal.throwIfAborted();
    for (const look of await looks(raws)) {
      const verdict = judge(look);
      enter(report, look, verdict);
      if (verdict.kind !== 'missing' && verdict.kind !== 'differs') continue;
      toRepair.push(look.shop.code);
      if (look.shop.remembered.link) known.push(look.shop.code);
    }
    deps.onProgress(report.orders, `${report.differing} differ`);
  }
  if (repair && toRepair.length > 0) {
    // Not those that were never pushed: where the repair breaks off, no other run is to push them with contact (promise
    // 7).
    await makeDue(db, known);
    repair.counts = await pushOrders(deps, toRepair, { contact: 'never', allowRemovals: false });
    for (let at = 0; at < toRepair.length; at += comparedAgainAtOnce) {
      const codes = toRepair.slice(at, at + comparedAgainAtOnce);
      const again = await looks(await shop.orders(codes));
      const repaired = new Set(again.filter((look) => isFine(judge(look))).map((look) => look.shop.code));
      const left = codes.filter((code) => !repaired.has(code));
      repair.repaired += codes.length - left.length;
      repair.left += left.length;
      repair.leftCodes.push(...left.slice(0, listedAtMost - repair.leftCodes.length));
    }
  }
  const { start, end } = range;
  const bounds = { ...(start !== undefined && { from: isoOf(start) }), ...(end !== undefined && { to: isoOf(end) }) };
  for await (const known of knownOrders(db, bounds)) {
    signal.throwIfAborted();
    for (const code of await missingInShop(shop, known)) {
      report.extra += 1;
      if (report.extraCodes.length < listedAtMost) report.extraCodes.push(code);
    }
  }
  return { ...report, requests: lookup.requests, repair };
}

type Verdict =
  | { kind: 'equal' | 'deleted' | 'missing' }
  | { kind: 'differs'; difference: OrderDifference }
  | { kind: 'unknown'; reason: string };

function judge({ shop, shown, difference }: OrderLook): Verdict {
  const { desired, fault } = shop;
  if (!desired) return { kind: 'unknown', reason: fault ?? '' };
  if (shown.kind === 'failed' || !difference)
    return { kind: 'unknown', reason: shown.kind === 'failed' ? shown.reason : '' };
  if (shown.kind === 'absent') return { kind: desired.order.deletedAt ? 'deleted' : 'missing' };
  if (isDifferent(difference)) return { kind: 'differs', difference };
  // A line that waits for its product id can be compared later.
  const [line] = desired.faulty;
  return line ? { kind: 'unknown', reason: `line ${line.lineCode}: ${line.reason}` } : { kind: 'equal' };
}

const isFine = ({ kind }: Verdict) => kind === 'equal' || kind === 'deleted';

const emptyReport = (): Omit<OrderVerification, 'requests' | 'repair'> => ({
  orders: 0,
  equal: 0,
  differing: 0,
  extra: 0,
  extraCodes: [],
  notCompared: 0,
  deleted: 0,
  differences: [],
  unknown: [],
  unmatched: { subOrders: 0, orders: 0, codes: [] },
  fieldsNotCompared: {},
});

type Report = ReturnType<typeof emptyReport>;

function enter(report: Report, { shop: { code }, shown, difference }: OrderLook, verdict: Verdict): void {
  report.orders += 1;
  if (verdict.kind === 'equal' || verdict.kind === 'deleted') report[verdict.kind] += 1;
  else if (verdict.kind === 'unknown') {
    report.notCompared += 1;
    if (report.unknown.length < listedAtMost) report.unknown.push({ code, reason: verdict.reason });
  } else {
    const shownDifference = verdict.kind === 'differs' ? withoutPersonalData(verdict.difference) : undefined;
    differ(report, { code, kind: verdict.kind, difference: shownDifference });
  }
  if (difference && shown.kind === 'found') count(report, code, difference);
}

function differ(report: Report, one: DifferingOrder): void {
  report.differing += 1;
  if (report.differences.length < listedAtMost) report.differences.push(one);
}

/** Counts what could not be compared, and sub-orders that no line has. */
function count({ fieldsNotCompared, unmatched }: Report, code: string, difference: OrderDifference): void {
  const { subOrders } = difference;
  for (const name of fieldsNotShown(difference)) fieldsNotCompared[name] = (fieldsNotCompared[name] ?? 0) + 1;
  if (subOrders.keep.length === 0) return;
  unmatched.subOrders += subOrders.keep.length;
  unmatched.orders += 1;
  if (unmatched.codes.length < listedAtMost) unmatched.codes.push(code);
}
