import { describeError } from '../../base/errors.ts';
import { UnavailableError } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { orderLines } from '../../warehouse/orders/order-links.ts';
import { ageClock, type PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import type { DesiredOrder } from '../plan/desired-order.ts';
import { isDifferent, type OrderDifference, withoutPersonalData } from '../plan/order-difference.ts';
import { memoryOf, type OrderMemory, type Shown } from '../plan/order-memory.ts';
import { type OrderPlan, planOrder } from '../plan/plan-order.ts';
import { type ReadOrder, readOrders } from '../plan/read-orders.ts';
import { findOrder } from '../push/send.ts';
import { openRequests } from '../requests.ts';

/** An order of the shop with what is remembered of it, as the service shows it, and what a push would send. */
export type PlannedOrder = ReadOrder & {
  memory: OrderMemory;
  shown: Shown;
  /** Why it is not known what the service has. */
  lookupFault?: string;
  /** Undefined: its rows cannot be sent. */
  plan: OrderPlan | undefined;
};

/** Looks an order up at the service. @throws the client's errors where the service as a whole fails. */
export async function lookUp(
  deps: OrderDeps,
  code: string,
  orderId: number | null | undefined,
): Promise<Pick<PlannedOrder, 'shown' | 'lookupFault'>> {
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
function comparedOrder(planned: PlannedOrder, deletes: PushRights['deletes']): ComparedOrder {
  const { code, order, deadLetter, lookupFault, shown, plan } = planned;
  const difference = plan?.difference && withoutPersonalData(plan.difference);
  const as = (kind: ComparedOrder['kind'], reason?: string): ComparedOrder => ({ code, kind, reason, difference });
  if (!order || !plan) return as('dead letter', deadLetter?.reason);
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

/** Plans orders as a push with these rights would that followed now. Sends nothing but GET. */
export async function openPlans(deps: OrderDeps, rights: PushRights) {
  const { db } = deps;
  const now = ageClock(deps.now, await warehouseNow(db));
  const planOf = (order: DesiredOrder | undefined, shown: Shown, memory: OrderMemory) =>
    order && planOrder(order, shown, memory, rights, now());
  const look = async (ours: PlannedOrder): Promise<PlannedOrder> => {
    const { code, order, memory } = ours;
    const seen = await lookUp(deps, code, memory.orderId);
    return { ...ours, ...seen, plan: planOf(order, seen.shown, memory) };
  };
  return {
    now,
    /** With the requests that a run would send first. Asks the service nothing. */
    async read(raws: readonly RawOrder[]): Promise<PlannedOrder[]> {
      const read = await readOrders(deps, raws, rights);
      const codes = read.map(({ code }) => code);
      const lines = await orderLines(db, codes);
      return read.map((one) => {
        const memory = memoryOf(one.link, lines.get(one.code));
        return { ...one, memory, shown: 'unknown', plan: planOf(one.order, 'unknown', memory) };
      });
    },
    look,
    /** Side by side. Asks the service nothing about orders that cannot be read. */
    async compare(some: readonly PlannedOrder[]): Promise<ComparedOrder[]> {
      const looked = some.map((one) => deps.slots(async () => (one.order ? look(one) : one)));
      return (await Promise.all(looked)).map((one) => comparedOrder(one, rights.deletes));
    },
  };
}
