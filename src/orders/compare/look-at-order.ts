import { describeError } from '../../base/errors.ts';
import { type OrderDetail, UnavailableError } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { orderLines } from '../../warehouse/orders/order-links.ts';
import {
  ageClock,
  type ContactField,
  contactFields,
  isYoungAt,
  mayCarryContact,
  type PushRights,
} from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import type { DesiredOrder } from '../plan/desired-order.ts';
import { findOrder } from '../plan/find-order.ts';
import { type OrderDifference, orderDifference, type Remembered } from '../plan/order-difference.ts';
import { desiredOrders } from '../plan/read-orders.ts';
import type { LineLink } from '../plan/sub-orders.ts';
import { openRequests } from '../requests.ts';

/** What the shop has of an order, and what review-sync remembers of it. */
export type ShopOrder = Remembered & {
  code: string;
  raw: RawOrder;
  /** Undefined where the order cannot be read, or must not be sent; `fault` says why. */
  desired: DesiredOrder | undefined;
  fault: string | undefined;
};

/** What the service shows of an order. `failed`: nobody knows, for this reason. */
export type Shown = { kind: 'found'; detail: OrderDetail } | { kind: 'absent' } | { kind: 'failed'; reason: string };

/** An order at both ends. */
export type OrderLook = ShopOrder & {
  shown: Shown;
  /** What a push would send. Undefined where the order cannot be read, or nobody knows what the service has. */
  difference: OrderDifference | undefined;
  /** Contact of the shop that a push leaves out (promise 7). */
  withheld: ContactField[];
  /** Undefined where the order cannot be read. */
  isYoung: boolean | undefined;
};

/** What the shop gave, with what is remembered of it. */
export async function shopOrders(deps: OrderDeps, raws: readonly RawOrder[], rights: PushRights): Promise<ShopOrder[]> {
  const codes = raws.map((raw) => raw.order.code ?? '');
  const lines = await orderLines(deps.db, codes);
  const { orders, deadLetters, links } = await desiredOrders(deps, raws, rights);
  const byCode = new Map(orders.map((one) => [one.code, one]));
  const faults = new Map(deadLetters.map(({ key, reason }) => [key, reason]));
  return raws.map((raw): ShopOrder => {
    const code = raw.order.code ?? '';
    const desired = byCode.get(code);
    const fault = desired ? undefined : (faults.get(code) ?? 'the order cannot be read');
    return { code, raw, link: links.get(code), lines: (lines.get(code) ?? []) as LineLink[], desired, fault };
  });
}

/**
 * Looks orders up at the service and compares. Sends nothing but GET. Its verbs throw the client's errors where the
 * service as a whole fails.
 */
export async function openLookup(deps: OrderDeps) {
  const now = ageClock(deps.now, await warehouseNow(deps.db));

  async function show(order: { code: string; orderId: number | null | undefined }): Promise<Shown> {
    const found = await findOrder(deps, order, openRequests(deps)).catch((error: unknown) => {
      // Without a connection, what the shop and the warehouse have is shown all the same.
      if (!(error instanceof UnavailableError && error.retryable)) throw error;
      return { kind: 'failed' as const, reason: describeError(error) };
    });
    if (found.kind === 'done') return { kind: 'found', detail: found.value };
    return found.kind === 'absent' ? found : { kind: 'failed', reason: found.reason };
  }

  return {
    show,
    /** @param rights of the push that would follow. */
    async look(order: ShopOrder, rights: PushRights): Promise<OrderLook> {
      const { code, desired, link } = order;
      const shown = await show({ code, orderId: link?.orderId });
      if (!desired) return { ...order, shown, difference: undefined, withheld: [], isYoung: undefined };
      const { createdAt } = desired.order;
      const isYoung = isYoungAt(now(), createdAt, rights.contactMaxAgeDays);
      const withContact = mayCarryContact({ decision: link?.contact ?? null, createdAt, now: now() }, rights);
      const withheld = withContact ? [] : contactFields.filter((field) => desired.body[field] !== undefined);
      const detail = shown.kind === 'found' ? shown.detail : undefined;
      const rules = { withContact, deletes: rights.deletes, isPosted: false };
      const difference = shown.kind === 'failed' ? undefined : orderDifference(desired, detail, order, rules);
      return { ...order, shown, difference, withheld, isYoung };
    },
  };
}
