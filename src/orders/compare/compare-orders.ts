import { describeError } from '../../base/errors.ts';
import { UnavailableError } from '../../review-api/index.ts';
import { knownOrders } from '../../warehouse/orders/known-orders.ts';
import { type LineLinkRow, makeDue, orderLines } from '../../warehouse/orders/order-links.ts';
import type { PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { memoryOf, type Shown } from '../plan/order-memory.ts';
import {
  isDifferent,
  type OrderDifference,
  type OrderPlan,
  type Planning,
  planOrder,
  withoutPersonalData,
} from '../plan/plan-order.ts';
import { beginPlanning, missingInShop, type ReadOrder, readOrders } from '../plan/read-orders.ts';
import { pushOrders } from '../push/push-orders.ts';
import { findOrder } from '../push/send.ts';
import { openRequests } from '../requests.ts';
import { boundsOf, inSlices, ordersByCreation } from '../select/orders-by-day.ts';

/** An order as the service shows it. `plan`: what a push right after this look would send. */
type SeenOrder = ReadOrder & {
  shown?: Shown;
  plan?: OrderPlan;
  lookupFault?: string | undefined;
};

/**
 * How an order of the shop compares with the service.
 *
 * - `equal`: the same in every field that the service shows.
 * - `deleted`: the shop marks it as deleted, and it was never pushed, or the service does not have it.
 * - `missing`: the service does not have it.
 * - `differs`: `difference` has the fields.
 * - `not compared`: the service could not be asked, or shows another order; or a line cannot be read.
 * - `dead letter`: its rows cannot be sent.
 */
export type ComparedOrder = {
  code: string;
  kind: 'equal' | 'deleted' | 'missing' | 'differs' | 'not compared' | 'dead letter';
  reason: string | undefined;
  /** Without the customer's name, e-mail address and phone number. */
  difference: OrderDifference | undefined;
};

function comparedOrder(seen: SeenOrder): ComparedOrder {
  const { code, order, deadLetter, lookupFault, shown, plan } = seen;
  const difference = plan?.difference && withoutPersonalData(plan.difference);
  const as = (kind: ComparedOrder['kind'], reason?: string): ComparedOrder => ({ code, kind, reason, difference });
  if (!order || !plan) return as('dead letter', deadLetter?.reason);
  if (plan.nothing === 'deleted in the shop') return as('deleted');
  if (!difference) return as('not compared', lookupFault ?? plan.memory.stop?.reason);
  if (shown === 'absent') return as('missing');
  if (isDifferent(difference)) return as('differs');
  // A line that waits for its product id can be compared later.
  const [line] = order.faulty;
  return line ? as('not compared', `line ${line.lineCode}: ${line.reason}`) : as('equal');
}

/**
 * Looks an order up, and plans it as a push right after this look would. Sends GET only.
 *
 * @param lines the links of its lines.
 * @throws the client's errors if the service as a whole fails.
 */
export async function look(
  deps: OrderDeps,
  ours: ReadOrder,
  lines: readonly LineLinkRow[] | undefined,
  planning: Planning,
): Promise<SeenOrder> {
  const { code, link } = ours;
  const found = await findOrder(deps, { code, orderId: link?.orderId }, openRequests(deps)).catch((error: unknown) => {
    // Without a connection, still show what the shop and the warehouse have.
    if (!(error instanceof UnavailableError && error.retryable)) throw error;
    return { kind: 'failed' as const, reason: describeError(error) };
  });
  const shown = found.kind === 'done' ? found.value : found.kind === 'absent' ? 'absent' : 'unknown';
  const lookupFault = found.kind === 'done' || shown === 'absent' ? undefined : found.reason;
  if (!ours.order) return { ...ours, shown, lookupFault };
  return { ...ours, shown, lookupFault, plan: planOrder(ours.order, shown, memoryOf(link, lines), planning) };
}

/** Compares orders side by side. Asks the service nothing about orders that cannot be read. */
export async function compareOrders(deps: OrderDeps, some: readonly ReadOrder[], planning: Planning) {
  const codes = some.map(({ code }) => code);
  const lines = await orderLines(deps.db, codes);
  const compare = async (one: ReadOrder) =>
    comparedOrder(one.order ? await look(deps, one, lines.get(one.code), planning) : one);
  return Promise.all(some.map((one) => deps.slots(() => compare(one))));
}

/**
 * `read`: orders read from the shop. `unchanged`: orders that need no request, because they are unchanged since their
 * push, or were deleted in the shop before it. `isCut`: `limit` ended the comparison; the range may have more.
 */
export type BackfillDiff = { read: number; unchanged: number; orders: ComparedOrder[]; isCut: boolean };

/**
 * Compares the orders that a backfill of these rights would send with what the service has, at most `limit` orders.
 * Sends GET only, at most three requests an order. Writes nothing.
 */
export async function diffBackfill(deps: OrderDeps, rights: PushRights, limit: number): Promise<BackfillDiff> {
  const planning = await beginPlanning(deps, rights);
  const diff: BackfillDiff = { read: 0, unchanged: 0, orders: [], isCut: false };
  for await (const raws of ordersByCreation(deps.shop, rights.createdIn)) {
    deps.signal.throwIfAborted();
    diff.read += raws.length;
    const toSend = (await readOrders(deps, raws, planning)).filter(({ nothing }) => !nothing);
    diff.unchanged += raws.length - toSend.length;
    diff.orders.push(...(await compareOrders(deps, toSend.slice(0, limit - diff.orders.length), planning)));
    diff.isCut = diff.orders.length >= limit;
    if (diff.isCut) break;
  }
  return diff;
}

/**
 * Numbers of orders. `orders`: orders that the shop showed. Each is one of `equal`, `deleted`, `differing` (`differs`
 * or `missing`), and `notCompared` (all other kinds). `waiting`: a line waits for its product id, or the order for its
 * member grade. `extra`: pushed orders that the shop no longer shows. Lists have the first orders only.
 */
const nothingCompared = () => ({
  orders: 0,
  equal: 0,
  differing: 0,
  extra: 0,
  notCompared: 0,
  deleted: 0,
  waiting: 0,
  extraCodes: [] as string[],
  differences: [] as ComparedOrder[],
  unknown: [] as ComparedOrder[],
  /**
   * Sub-orders that match no line of the shop and that no push removes, because another system created them or they
   * have reviews. A copy may be among them. `codes`: the codes of their orders.
   */
  unmatched: { subOrders: 0, orders: 0, codes: [] as string[] },
  repair: undefined as Awaited<ReturnType<typeof repair>> | undefined,
});

export type OrderVerification = ReturnType<typeof nothingCompared>;

/**
 * Compares the orders created in the range, one request an order. If asked to, pushes missing and differing orders
 * again. Then looks for pushed orders that the shop no longer shows. Memory does not grow with the range, except for
 * the codes to repair.
 *
 * @param options.rights rights of the trigger `repair`, which sends no contact. Contact that was never sent, or may not
 *   be sent now, is no difference.
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

/** Pushes orders again, and compares them again. @returns how many agree now, which do not, and the pushes' counts. */
async function repair(deps: OrderDeps, codes: readonly string[], rights: PushRights) {
  // Orders never pushed do not become due: if the repair breaks off, no other run pushes them with contact (promise 7).
  await makeDue(deps.db, codes);
  const counts = await pushOrders(deps, codes, rights);
  const planning = await beginPlanning(deps, rights);
  const left = new Set(codes);
  for await (const raws of inSlices(deps.shop, codes))
    for (const { code, kind } of await compareOrders(deps, await readOrders(deps, raws, planning), planning))
      if (kind === 'equal' || kind === 'deleted') left.delete(code);
  const leftCodes = [...left].slice(0, listedAtMost);
  return { repaired: codes.length - left.size, left: left.size, leftCodes, counts };
}

function enter(report: OrderVerification, one: ComparedOrder): void {
  const { code, kind, difference } = one;
  report.orders += 1;
  if (kind === 'equal' || kind === 'deleted') report[kind] += 1;
  else if (isToRepair(one)) {
    report.differing += 1;
    list(report.differences, one);
  } else {
    report.notCompared += 1;
    list(report.unknown, one);
  }
  if (difference?.orderId === undefined) return;
  const { fieldsNotSent, linesNotSent, subOrders } = difference;
  if (fieldsNotSent.length > 0 || linesNotSent.some((line) => line.isWaiting)) report.waiting += 1;
  if (subOrders.keep.length === 0) return;
  report.unmatched.subOrders += subOrders.keep.length;
  report.unmatched.orders += 1;
  list(report.unmatched.codes, code);
}

const isToRepair = ({ kind }: ComparedOrder) => kind === 'missing' || kind === 'differs';

/** Orders listed one by one; all are counted. */
const listedAtMost = 20;

const list = <T>(listed: T[], ...more: T[]) => listed.push(...more.slice(0, listedAtMost - listed.length));
