import {
  NotFoundError,
  type OrderDetail,
  RefusedError,
  type SubOrder,
  type SubOrderPatch,
  UnknownOutcomeError,
} from '../review-api/index.ts';
import { LeaseLostError } from '../warehouse/leases.ts';
import type { LeasedOrder } from '../warehouse/order-store.ts';
import type { SubOrderDiff } from './diff-sub-orders.ts';
import { type LineLink, matchSubOrders } from './match-sub-orders.ts';
import type { SubOrderContent } from './order-body.ts';
import { mayBeUnderWay, orderAtService, sendWrite } from './post-order.ts';
import { count, dropLink, failLine, type PushAttempt, setLink } from './push-attempt.ts';
import type { OrderDeps } from './push-order.ts';
import { type RequestLimits, refusalKind } from './service-health.ts';

/** Attempts at one line, with a look at the service's sub-orders after each. Then the line is a dead letter. */
const lineAttempts = 3;

type SentLine = { lineCode: string; content?: unknown };
type Sent = 'done' | 'failed' | 'refused' | 'again';

/**
 * Sends what one order's difference asks for (spec, "Sub-orders"):
 *
 * 1. Change sub-orders, and look whether the service has cleared what the shop cleared.
 * 2. Remove the sub-orders of lines that the shop does not have any more, and second ones of a line that was sent twice.
 * 3. Create the missing sub-orders.
 *
 * Each result goes into the attempt at once. A line that the service refuses or fails on becomes a dead letter, and the
 * other lines go on.
 *
 * @returns `again` when the order has to be read from the service first: a response was lost, or a record does not exist.
 * @throws the client's errors when the service as a whole fails.
 */
export async function applySubOrders(
  deps: OrderDeps,
  leased: LeasedOrder,
  attempt: PushAttempt,
  order: OrderDetail,
  diff: SubOrderDiff,
): Promise<'done' | 'again'> {
  for (const change of diff.change) {
    if ((await changeSubOrder(deps, leased, attempt, order.id, change)) === 'again') return 'again';
  }
  for (const { lineCode, subOrderId } of diff.remove) {
    const outcome = await removeSubOrder(deps, leased, attempt, order, { lineCode, subOrderId });
    if (outcome === 'again') return 'again';
    if (outcome === 'done') dropLink(attempt, lineCode);
  }
  for (const double of diff.removeDoubles) {
    if ((await removeSubOrder(deps, leased, attempt, order, double)) === 'again') return 'again';
  }
  for (const { lineCode, subOrderId, why } of diff.kept) {
    deps.log.warn(
      { order: order.code, line: lineCode, subOrderId, why },
      'did not remove a sub-order that the shop lacks',
    );
  }
  if (diff.kept.length > 0) attempt.counts.sub_orders_kept = diff.kept.length;

  const idsBefore = order.sub_orders.map((one) => one.id);
  for (const line of diff.create) {
    const create = async (limits: RequestLimits) => {
      const created = await deps.api.subOrders.create(order.id, line.content, limits);
      const wasSentAgain = attempt.links.get(line.lineCode)?.wasSentAgain ?? false;
      setLink(attempt, { ...line, subOrderId: created.id, idsBefore, wasSentAgain });
    };
    const outcome = await send(deps, leased, attempt, order.id, line, create);
    if (outcome === 'again') return 'again';
    if (outcome === 'done') count(attempt, 'sub_orders_added');
    // A refused creation created nothing: no sub-order that appears later is this line's.
    else if (outcome === 'refused') dropLink(attempt, line.lineCode);
  }
  return 'done';
}

async function changeSubOrder(
  deps: OrderDeps,
  leased: LeasedOrder,
  attempt: PushAttempt,
  orderId: number,
  { patch, ...link }: SubOrderDiff['change'][number],
): Promise<Sent> {
  const before = attempt.links.get(link.lineCode)?.content;
  const change = (fields: SubOrderPatch) =>
    send(deps, leased, attempt, orderId, link, (limits) =>
      deps.api.subOrders.update(orderId, link.subOrderId, fields, limits),
    );
  const cleared = fieldsCleared(patch);
  const others = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null));
  let outcome = await change(patch);
  let notCleared: ClearedField[] = [];
  if (outcome === 'refused' && cleared.length > 0 && Object.keys(others).length > 0) {
    // The service may refuse only the empty values: then the rest of the line is sent without them. It stays a dead letter.
    outcome = await change(others);
    notCleared = cleared;
  } else if (outcome === 'done' && cleared.length > 0) {
    notCleared = await fieldsNotCleared(deps, attempt, orderId, link, cleared);
  }
  if (outcome !== 'done') return outcome;
  setLink(attempt, { ...link, content: withFieldsOf(before, link.content, notCleared) });
  count(attempt, 'sub_orders_changed');
  return 'done';
}

async function removeSubOrder(
  deps: OrderDeps,
  leased: LeasedOrder,
  attempt: PushAttempt,
  order: OrderDetail,
  { lineCode, subOrderId }: { lineCode: string; subOrderId: number },
): Promise<Sent> {
  const remove = (limits: RequestLimits) => deps.api.subOrders.remove(order.id, subOrderId, limits);
  const outcome = await send(deps, leased, attempt, order.id, { lineCode }, remove);
  if (outcome !== 'done') return outcome;
  deps.log.info({ order: order.code, line: lineCode, subOrderId }, 'removed a sub-order that the shop lacks');
  count(attempt, 'sub_orders_removed');
  return 'done';
}

async function send(
  deps: OrderDeps,
  leased: LeasedOrder,
  attempt: PushAttempt,
  orderId: number,
  line: SentLine,
  request: (limits: RequestLimits) => Promise<void>,
): Promise<Sent> {
  deps.signal.throwIfAborted();
  const wasWriteUnderWay = leased.isWriteUnderWay;
  try {
    const attempted = await sendWrite(deps, leased, request);
    if (!('failed' in attempted)) return 'done';
    failLine(attempt, line, attempted.failed, 'transient');
    return 'failed';
  } catch (error) {
    // Nothing was sent. The order is looked at again once the lease is renewed.
    if (error instanceof LeaseLostError) return 'again';
    if (error instanceof RefusedError) {
      failLine(attempt, line, error.message, refusalKind(error));
      return 'refused';
    }
    if (!(error instanceof UnknownOutcomeError || error instanceof NotFoundError)) throw error;
    if (error instanceof UnknownOutcomeError && mayBeUnderWay(error)) {
      if (await isShown(deps, attempt, orderId, line.lineCode)) {
        leased.isWriteUnderWay = wasWriteUnderWay;
        return 'again';
      }
      failLine(attempt, line, `${error.message}; the next run looks again before it sends the line again`, 'transient');
      return 'failed';
    }
    const tries = (attempt.tries.get(line.lineCode) ?? 0) + 1;
    attempt.tries.set(line.lineCode, tries);
    if (tries === lineAttempts || !deps.requests.hasPatience()) {
      failLine(attempt, line, `${error.message} (${tries} attempts)`, 'transient');
    }
    await deps.requests.wait(deps.settleMs * tries);
    return 'again';
  }
}

/** Waits between looks for what a request without response may have created, in units of `settleMs`. */
const waitsBetweenLooks = [1, 2, 4, 8];

/**
 * Whether the service shows the sub-order of a line whose creation brought no response. The service may create it seconds
 * later: sent again meanwhile, the line would be there twice.
 */
async function isShown(
  deps: OrderDeps,
  { desired, links }: PushAttempt,
  orderId: number,
  lineCode: string,
): Promise<boolean> {
  if (!deps.requests.hasPatience()) return false;
  for (const wait of waitsBetweenLooks) {
    await deps.requests.wait(deps.settleMs * wait);
    const looked = await orderAtService(deps, orderId);
    if ('failed' in looked) return false;
    if (!looked.value) return true;
    const matches = matchSubOrders(looked.value.sub_orders, desired.prepared.lines, [...links.values()], new Set());
    if (matches.ofLines.get(lineCode)?.kind === 'linked') return true;
  }
  return false;
}

type ClearedField = keyof SubOrderPatch & keyof SubOrder;

const fieldsCleared = (patch: SubOrderPatch): ClearedField[] =>
  Object.entries(patch).flatMap(([field, value]) => (value === null ? [field as ClearedField] : []));

/**
 * Which of the fields the service still shows with a value, and makes the line a dead letter for them: the spec shows no way
 * to clear a field of a sub-order, so that only reading the order shows whether an empty value cleared it.
 */
async function fieldsNotCleared(
  deps: OrderDeps,
  attempt: PushAttempt,
  orderId: number,
  line: LineLink & { subOrderId: number },
  fields: readonly ClearedField[],
): Promise<ClearedField[]> {
  const looked = await orderAtService(deps, orderId);
  if ('failed' in looked) {
    failLine(attempt, line, looked.failed, 'transient');
    return [...fields];
  }
  const shown = looked.value?.sub_orders.find((one) => one.id === line.subOrderId);
  const notCleared = fields.filter((field) => shown && !isEmpty(shown[field]));
  if (notCleared.length > 0) {
    const reason = `the service keeps ${notCleared.join(', ')} of sub-order ${line.subOrderId} although the shop has none and an empty value was sent; clear it there by hand`;
    failLine(attempt, line, reason, 'permanent');
  }
  return notCleared;
}

const isEmpty = (value: unknown): boolean =>
  value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** What to remember of a changed sub-order: fields that were not cleared are cleared again by the next push. */
function withFieldsOf(
  before: SubOrderContent | undefined,
  now: SubOrderContent,
  notCleared: readonly ClearedField[],
): SubOrderContent {
  const uncleared = notCleared.flatMap((field) => (before && field in before ? [[field, before[field as never]]] : []));
  return { ...now, ...Object.fromEntries(uncleared) };
}
