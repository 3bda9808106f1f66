import { describeError } from '../../base/errors.ts';
import { UnavailableError } from '../../review-api/index.ts';
import { orderLines } from '../../warehouse/orders/order-links.ts';
import type { PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { isDifferent, type OrderDifference, withoutPersonalData } from '../plan/order-difference.ts';
import { memoryOf, type Shown } from '../plan/order-memory.ts';
import { planOrder } from '../plan/plan-order.ts';
import type { Planning, ReadOrder } from '../plan/read-orders.ts';
import { findOrder } from '../push/send.ts';
import { openRequests } from '../requests.ts';

/** An order as the service shows it. `plan`: what a push that followed now would send. */
export type SeenOrder = ReadOrder & {
  shown: Shown;
  /** Why it is not known what the service has. */
  lookupFault?: string;
};

/** Looks an order up at the service. @throws the client's errors where the service as a whole fails. */
export async function lookUp(
  deps: OrderDeps,
  code: string,
  orderId: number | null | undefined,
): Promise<Pick<SeenOrder, 'shown' | 'lookupFault'>> {
  const found = await findOrder(deps, { code, orderId }, openRequests(deps)).catch((error: unknown) => {
    // Without a connection, what the shop and the warehouse have is shown all the same.
    if (!(error instanceof UnavailableError && error.retryable)) throw error;
    return { kind: 'failed' as const, reason: describeError(error) };
  });
  if (found.kind === 'done') return { shown: found.value };
  return 'reason' in found ? { shown: 'unknown', lookupFault: found.reason } : { shown: 'absent' };
}

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

/** If an order that the shop has deleted stays at the service, lines that the service lacks are no difference. */
function comparedOrder(seen: SeenOrder, deletes: PushRights['deletes']): ComparedOrder {
  const { code, order, deadLetter, lookupFault, shown, plan } = seen;
  const difference = plan?.difference && withoutPersonalData(plan.difference);
  const as = (kind: ComparedOrder['kind'], reason?: string): ComparedOrder => ({ code, kind, reason, difference });
  if (!order) return as('dead letter', deadLetter?.reason);
  if (plan.nothing === 'deleted in the shop') return as('deleted');
  if (!difference) return as('not compared', lookupFault ?? plan.memory.stop?.reason);
  if (shown === 'absent') return as('missing');
  const { deletedAt } = order.order;
  const stays = deletedAt !== undefined && deletes === 'off';
  const subOrders = stays ? { ...difference.subOrders, create: [] } : difference.subOrders;
  if (isDifferent({ ...difference, subOrders })) return as('differs');
  // A line that waits for its product id can be compared later. Nobody corrects a line of a deleted order (record.ts).
  const [line] = deletedAt ? [] : order.faulty;
  return line ? as('not compared', `line ${line.lineCode}: ${line.reason}`) : as('equal');
}

/** Looks an order up, and plans it as a push would that followed now. Sends nothing but GET. */
export async function look(deps: OrderDeps, ours: ReadOrder, { rights, now }: Planning): Promise<SeenOrder> {
  const { code, order } = ours;
  const { link } = ours.memory;
  const memory = memoryOf(link, (await orderLines(deps.db, [code])).get(code));
  const seen = await lookUp(deps, code, memory.orderId);
  if (!order) return { ...ours, ...seen, memory };
  return { ...ours, ...seen, memory, plan: planOrder(order, seen.shown, memory, rights, now()) };
}

/** Compares orders side by side. Asks the service nothing about orders that cannot be read. */
export async function compareOrders(
  deps: OrderDeps,
  some: readonly ReadOrder[],
  planning: Planning,
): Promise<ComparedOrder[]> {
  const compare = async (one: ReadOrder) =>
    comparedOrder(one.order ? await look(deps, one, planning) : { ...one, shown: 'unknown' }, planning.rights.deletes);
  return Promise.all(some.map((one) => deps.slots(() => compare(one))));
}
