import {
  NotFoundError,
  type OrderDetail,
  RefusedError,
  type SubOrder,
  type SubOrderPatch,
  UnknownOutcomeError,
} from '../../review-api/index.ts';
import { LeaseLostError } from '../../warehouse/leases.ts';
import { subOrderFields } from '../compare/compare-order.ts';
import type { SubOrderDiff } from '../order/diff-sub-orders.ts';
import { type Line, type LineLink, matchSubOrders } from '../order/match-sub-orders.ts';
import type { SubOrderContent } from '../order/order-body.ts';
import { type RequestLimits, refusalKind } from '../service-health.ts';
import { type IsDone, orderAtService, sendAndConfirm } from './order-requests.ts';
import { count, dropLink, failLine, type PushAttempt, setLink } from './push-attempt.ts';
import type { OrderDeps } from './push-order.ts';

/** Attempts at one line, with a look at the service's sub-orders after each. Then the line is a dead letter. */
const lineAttempts = 3;

type Sent = 'done' | 'failed' | 'refused' | 'again';

/** The push of one order whose sub-orders are brought in line; `order` as the response to its POST showed it. */
type Push = { deps: OrderDeps; attempt: PushAttempt; order: OrderDetail };

/**
 * Sends what one order's difference asks for (spec, "Sub-orders"):
 *
 * 1. Change sub-orders, and look whether the service has cleared what the shop cleared.
 * 2. Remove the sub-orders of lines that the shop does not have any more, and those that were shown only after their line had another one.
 * 3. Create the missing sub-orders.
 *
 * Each result goes into the attempt at once. A line that the service refuses or fails on becomes a dead letter, and the
 * other lines go on.
 *
 * @returns `again` when the order has to be read from the service first: a response was lost, or a record does not exist.
 * @throws the client's errors when the service as a whole fails.
 */
export async function applySubOrders(push: Push, diff: SubOrderDiff): Promise<'done' | 'again'> {
  const { deps, attempt, order } = push;
  for (const change of diff.change) {
    if ((await changeSubOrder(push, change)) === 'again') return 'again';
  }
  for (const surplus of diff.remove) {
    const outcome = await removeSubOrder(push, surplus);
    if (outcome === 'again') return 'again';
    if (outcome === 'done') dropLink(attempt, surplus.lineCode);
  }
  for (const duplicate of diff.removeDuplicates) {
    if ((await removeSubOrder(push, duplicate)) === 'again') return 'again';
  }
  for (const { lineCode, subOrderId, why } of diff.kept) {
    if (attempt.hidden.has(subOrderId)) {
      const reason = `the shop has removed the line, but the service does not show whether its sub-order ${subOrderId} has reviews`;
      failLine(attempt, { lineCode }, `${reason}; the next run looks again`, 'transient');
    }
    deps.log.warn(
      { order: order.code, line: lineCode, subOrderId, why },
      'did not remove a sub-order that the shop lacks',
    );
  }
  if (diff.kept.length > 0) attempt.counts.sub_orders_kept = diff.kept.length;
  for (const line of diff.create) {
    if ((await createSubOrder(push, line)) === 'again') return 'again';
  }
  return 'done';
}

async function createSubOrder(push: Push, line: Line): Promise<Sent> {
  const { deps, attempt, order } = push;
  const { lineCode } = line;
  const idsBefore = [...order.sub_orders.map((one) => one.id), ...attempt.hidden];
  const create = async (limits: RequestLimits) => {
    const created = await deps.api.subOrders.create(order.id, line.content, limits);
    setLink(attempt, { ...line, subOrderId: created.id, idsBefore });
  };
  const isCreated = (theirs: readonly SubOrder[]) => {
    const { links, unseen } = attempt;
    const { ofLines } = matchSubOrders(theirs, attempt.desired.prepared.lines, [...links.values()], new Set(), unseen);
    return ofLines.get(lineCode)?.kind === 'linked';
  };
  const outcome = await send(push, line, create, isCreated);
  // The order shows the sub-order, but no response said its id.
  if (outcome === 'shown') return 'again';
  if (outcome === 'done') count(attempt, 'sub_orders_added');
  // A refused creation created nothing: no sub-order that appears later is this line's.
  if (outcome === 'refused') dropLink(attempt, lineCode);
  return outcome;
}

async function changeSubOrder(push: Push, { patch, ...link }: SubOrderDiff['change'][number]): Promise<Sent> {
  const { deps, attempt, order } = push;
  const contentBefore = attempt.links.get(link.lineCode)?.content;
  const change = async (fields: SubOrderPatch): Promise<Sent> => {
    const differing = (theirs: readonly SubOrder[]) => {
      const subOrder = theirs.find((one) => one.id === link.subOrderId);
      const all = subOrder && subOrderFields(link.content, subOrder, true);
      return all?.flatMap(({ field, outcome }) => (field in fields && outcome === 'different' ? [field] : []));
    };
    const before = differing(order.sub_orders);
    const isEmptied = (field: string) => fields[field as keyof SubOrderPatch] === null;
    // A field that the service does not show is taken for changed. Values that it keeps although they were sent empty are reported
    // below, where another field shows that the change was carried out, or where the push before, whose lease has ended, sent them too.
    const isChanged: IsDone = (theirs, isLastLook) => {
      const left = differing(theirs);
      if (left?.length === 0) return true;
      if (!left?.every(isEmptied) || !isLastLook) return false;
      return before?.some((field) => !isEmptied(field)) === true || attempt.leased.link.failures > 0;
    };
    const update = (limits: RequestLimits) => deps.api.subOrders.update(order.id, link.subOrderId, fields, limits);
    const outcome = await send(push, link, update, isChanged);
    return outcome === 'shown' ? 'done' : outcome;
  };
  const cleared = fieldsCleared(patch);
  const others = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null));
  let outcome = await change(patch);
  let notCleared: ClearedField[] = [];
  if (outcome === 'refused' && cleared.length > 0 && Object.keys(others).length > 0) {
    // The service may refuse only the empty values: then the rest of the line is sent without them. It stays a dead letter.
    outcome = await change(others);
    notCleared = cleared;
  } else if (outcome === 'done' && cleared.length > 0) {
    notCleared = await fieldsNotCleared(push, link, cleared);
  }
  if (outcome !== 'done') return outcome;
  setLink(attempt, { ...link, content: withFieldsOf(contentBefore, link.content, notCleared) });
  count(attempt, 'sub_orders_changed');
  return 'done';
}

async function removeSubOrder(push: Push, surplus: { lineCode: string; subOrderId: number }): Promise<Sent> {
  const { deps, attempt, order } = push;
  const { lineCode, subOrderId } = surplus;
  const remove = (limits: RequestLimits) => deps.api.subOrders.remove(order.id, subOrderId, limits);
  const isRemoved = (theirs: readonly SubOrder[]) => theirs.every((one) => one.id !== subOrderId);
  const outcome = await send(push, { lineCode }, remove, isRemoved);
  if (outcome !== 'done' && outcome !== 'shown') return outcome;
  deps.log.info({ order: order.code, line: lineCode, subOrderId }, 'removed a sub-order that the shop lacks');
  count(attempt, 'sub_orders_removed');
  return 'done';
}

async function send(
  { deps, attempt, order }: Push,
  line: { lineCode: string; content?: unknown },
  request: (limits: RequestLimits) => Promise<void>,
  isDone: IsDone,
): Promise<Sent | 'shown'> {
  deps.signal.throwIfAborted();
  try {
    const outcome = await sendAndConfirm(deps, attempt.leased, order.id, request, isDone);
    if (outcome === 'absent') return 'again';
    if (typeof outcome === 'string') return outcome;
    failLine(attempt, line, outcome.failed, 'transient');
    return 'failed';
  } catch (error) {
    // Nothing was sent. The order is looked at again once the lease is renewed.
    if (error instanceof LeaseLostError) return 'again';
    if (error instanceof RefusedError) {
      failLine(attempt, line, error.message, refusalKind(error));
      return 'refused';
    }
    if (!(error instanceof UnknownOutcomeError || error instanceof NotFoundError)) throw error;
    const tries = (attempt.tries.get(line.lineCode) ?? 0) + 1;
    attempt.tries.set(line.lineCode, tries);
    if (tries === lineAttempts || !deps.requests.hasBudgetLeft()) {
      failLine(attempt, line, `${error.message} (${tries} attempts)`, 'transient');
    }
    await deps.requests.wait(deps.settleMs * tries);
    return 'again';
  }
}

type ClearedField = keyof SubOrderPatch & keyof SubOrder;

const fieldsCleared = (patch: SubOrderPatch): ClearedField[] =>
  Object.entries(patch).flatMap(([field, value]) => (value === null ? [field as ClearedField] : []));

/**
 * Which of the fields the service still shows with a value, and makes the line a dead letter for them: the spec shows no way
 * to clear a field of a sub-order, so that only reading the order shows whether an empty value cleared it.
 */
async function fieldsNotCleared(
  { deps, attempt, order }: Push,
  line: LineLink & { subOrderId: number },
  fields: readonly ClearedField[],
): Promise<ClearedField[]> {
  const looked = await orderAtService(deps, order.id);
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
