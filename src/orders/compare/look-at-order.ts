import { describeError } from '../../base/errors.ts';
import { UnavailableError } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { openBatch } from '../../warehouse/batch.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { orderLines, otherOrders } from '../../warehouse/orders/order-links.ts';
import { ageClock, type PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import type { DesiredOrder } from '../plan/desired-order.ts';
import { memoryOf, type OrderMemory, type Shown } from '../plan/order-memory.ts';
import { type OrderPlan, planOrder } from '../plan/plan-order.ts';
import { desiredOrders } from '../plan/read-orders.ts';
import { findOrder } from '../push/send.ts';
import { openRequests } from '../requests.ts';

/** What the shop has of an order, and what review-sync remembers of it. */
export type ShopOrder = {
  code: string;
  raw: RawOrder;
  memory: OrderMemory;
  /** Undefined if the order cannot be read, or must not be sent; `fault` says why. */
  order: DesiredOrder | undefined;
  fault: string | undefined;
};

/** An order as the service shows it. `lookupFault`: why it is not known what the service has. */
export type OrderLook = { shown: Shown; lookupFault: string | undefined };

/** What the shop gave, with what is remembered of it. */
export async function shopOrders(deps: OrderDeps, raws: readonly RawOrder[], rights: PushRights): Promise<ShopOrder[]> {
  const codes = raws.map((raw) => raw.order.code ?? '');
  const lines = await orderLines(deps.db, codes);
  const { orders, deadLetters, links } = await desiredOrders(deps, raws, rights);
  const byCode = new Map(orders.map((one) => [one.code, one]));
  const faults = new Map(deadLetters.map(({ key, reason }) => [key, reason]));
  return raws.map((raw): ShopOrder => {
    const code = raw.order.code ?? '';
    const memory = memoryOf(links.get(code), lines.get(code));
    const order = byCode.get(code);
    return { code, raw, memory, order, fault: order ? undefined : (faults.get(code) ?? 'the order cannot be read') };
  });
}

/** Looks an order up at the service. @throws the client's errors where the service as a whole fails. */
export async function lookUp(deps: OrderDeps, code: string, orderId: number | null | undefined): Promise<OrderLook> {
  const found = await findOrder(deps.api, { code, orderId }, openRequests(deps).read).catch((error: unknown) => {
    // Without a connection, what the shop and the warehouse have is shown all the same.
    if (!(error instanceof UnavailableError && error.retryable)) throw error;
    return { kind: 'failed' as const, reason: describeError(error) };
  });
  if (found.kind === 'done') return { shown: found.value, lookupFault: undefined };
  return 'reason' in found
    ? { shown: 'unknown', lookupFault: found.reason }
    : { shown: 'absent', lookupFault: undefined };
}

/** An order at both ends, and what a push would send. `plan` undefined: the order cannot be read. */
export type PlannedOrder = ShopOrder & OrderLook & { plan: OrderPlan | undefined };

/** Plans orders as a push with these rights would that followed now. Sends nothing but GET. */
export async function openPlans(deps: OrderDeps, rights: PushRights) {
  const now = ageClock(deps.now, await warehouseNow(deps.db));
  const othersOf = openBatch((asked: { orderId: number | null; orderCode: string }[]) => otherOrders(deps.db, asked));
  const plan = (order: DesiredOrder, shown: Shown, memory: OrderMemory) =>
    planOrder(order, shown, memory, rights, now());
  return {
    now,
    /** What a run would send first. Asks the service nothing. */
    unseen: ({ order, memory }: ShopOrder) => order && plan(order, 'unknown', memory),
    async look(ours: ShopOrder): Promise<PlannedOrder> {
      const { code, order, memory } = ours;
      const look = await lookUp(deps, code, memory.orderId);
      const orderId = typeof look.shown === 'string' ? null : look.shown.id;
      const others = await othersOf({ orderId, orderCode: code });
      const planned = order && plan(order, look.shown, { ...memory, others });
      return { ...ours, ...look, plan: planned, fault: ours.fault ?? planned?.memory.stop?.reason };
    },
  };
}
