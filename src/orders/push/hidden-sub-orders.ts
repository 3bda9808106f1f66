import {
  NotFoundError,
  type OrderDetail,
  RefusedError,
  type SubOrder,
  UnknownOutcomeError,
} from '../../review-api/index.ts';
import type { LineLink } from '../order/match-sub-orders.ts';
import { centsOf } from '../order/same-content.ts';
import { refusalKind } from '../service-health.ts';
import { sendWrite } from './order-requests.ts';
import { failLine, type PushAttempt } from './push-attempt.ts';
import type { OrderDeps } from './push-order.ts';

/**
 * The sub-orders of an order that the service has: those that the response to the order's POST shows, and linked ones that it does
 * not show. A response may come from a copy of the database that lags behind, or may cut a long list. A sub-order that is made again
 * because a response lacked it would stand there twice.
 *
 * A linked sub-order that is not shown counts as deleted only where the service answers 404 to a change of it. The change sends its
 * product, which it has. A line whose sub-order cannot be asked about becomes a dead letter, and nothing more is sent about it.
 *
 * @throws the client's errors when the service as a whole fails.
 */
export async function subOrdersAtService(
  deps: OrderDeps,
  attempt: PushAttempt,
  order: OrderDetail,
): Promise<readonly SubOrder[]> {
  // An order that the service has made again under another id has no sub-order of the earlier one. The id is not known where a push
  // wrote links and died.
  const isSameOrder = attempt.orderId === null || attempt.orderId === order.id;
  attempt.orderId = order.id;
  attempt.hidden.clear();
  if (!isSameOrder) return order.sub_orders;
  const shown = new Set(order.sub_orders.map((one) => one.id));
  const hidden: SubOrder[] = [];
  for (const link of attempt.links.values()) {
    if (link.subOrderId === null || shown.has(link.subOrderId) || attempt.failedLines.has(link.lineCode)) continue;
    if (await isThere(deps, attempt, order.id, { ...link, subOrderId: link.subOrderId })) {
      attempt.hidden.add(link.subOrderId);
      hidden.push(asLastSent(link.subOrderId, link));
    }
  }
  return [...order.sub_orders, ...hidden];
}

async function isThere(
  deps: OrderDeps,
  attempt: PushAttempt,
  orderId: number,
  link: LineLink & { subOrderId: number },
): Promise<boolean> {
  const notShown = `the response to the order does not show sub-order ${link.subOrderId} of the line`;
  try {
    const { product_id } = link.content;
    const asked = await sendWrite(deps, attempt.leased, (limits) =>
      deps.api.subOrders.update(orderId, link.subOrderId, { product_id }, limits),
    );
    // Where links are unsure, the sub-order may hold something older than what is remembered.
    if (!('failed' in asked) && !attempt.leased.link.areLinesUnsure) return true;
    failLine(attempt, link, 'failed' in asked ? `${notShown}; ${asked.failed}` : notShown, 'transient');
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    if (!(error instanceof RefusedError || error instanceof UnknownOutcomeError)) throw error;
    const kind = error instanceof RefusedError ? refusalKind(error) : 'transient';
    failLine(attempt, link, `${notShown}; ${error.message}`, kind);
  }
  return false;
}

/** Without a number of reviews: a sub-order that may have reviews is not removed. */
const asLastSent = (id: number, { content }: LineLink): SubOrder => ({
  id,
  product_id: content.product_id,
  product_options: { ...content.product_options },
  price: { cents: centsOf(content.price), currency_iso: '' },
  reviews_count: null,
});
