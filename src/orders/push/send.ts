import { isSameCode } from '../../base/normal-text.ts';
import type { OrderDetail } from '../../review-api/index.ts';
import type { OrderDeps } from '../order-deps.ts';
import type { OrderMemory } from '../plan/order-memory.ts';
import { isRemoval, type OrderRequest, type PlannedRequests, wireOf } from '../plan/plan-order.ts';
import type { LineRequest } from '../plan/sub-orders.ts';
import type { Send, Sent } from '../requests.ts';

/** How a request ended. The value of a done `find` or `post order` is an OrderDetail, that of a `create` has its id. */
export type OrderResult = { request: Exclude<OrderRequest, LineRequest>; sent: Sent<unknown> };
export type LineResult = { request: LineRequest; sent: Sent<unknown> };
export type Result = OrderResult | LineResult;

/**
 * Sends requests about one order, one after the other. A line that the service refuses or fails on does not hold up the
 * others. What follows a request about the order itself is sent only if that one was done, and showed the order that the
 * list is for: the service may have lost it, and given its id to another one.
 *
 * @throws the client's errors when the service as a whole fails.
 */
export async function sendAll(
  { api, log }: Pick<OrderDeps, 'api' | 'log'>,
  code: string,
  { requests, memory }: PlannedRequests,
  sendOne: Send,
): Promise<Result[]> {
  const results: Result[] = [];
  const orderId = memory.orderId ?? 0;
  for (const request of requests) {
    const sent = await send(api, sendOne, code, memory, request);
    results.push({ request, sent } as Result);
    const isDone = sent.kind === 'done';
    const path = wireOf(request, orderId)?.path;
    if (isDone && isRemoval(request)) log.info({ order: code, path }, 'removed at the service what the shop lacks');
    if ('lineCode' in request) continue;
    const isOther =
      request.kind === 'post order' && isDone && orderId !== 0 && (sent.value as OrderDetail).id !== orderId;
    if (!isDone || isOther) break;
  }
  return results;
}

async function send(
  api: OrderDeps['api'],
  sendOne: Send,
  code: string,
  memory: OrderMemory,
  request: OrderRequest,
): Promise<Sent<unknown>> {
  const { orders, subOrders } = api;
  const orderId = memory.orderId ?? 0;
  switch (request.kind) {
    case 'find':
      return findOrder(api, { ...memory, code }, sendOne);
    case 'post order':
      return sendOne((options) => orders.upsert(request.body, options));
    case 'delete order':
      return sendOne((options) => orders.remove(orderId, options));
    case 'change':
      return sendOne((options) => subOrders.update(orderId, request.subOrderId, request.body, options));
    case 'remove':
      return sendOne((options) => subOrders.remove(orderId, request.subOrderId, options));
    case 'create':
      return sendOne((options) => subOrders.create(orderId, request.body, options));
    default:
      return request satisfies never;
  }
}

/**
 * The order as the service shows it: by its id, then by its code. The response to the push that made it may have been
 * lost; or the service has made it again under another id, and given the id to another order. A service need not look
 * orders up by code; then what its id says counts. No order is created to learn its id.
 *
 * @param known `orderId`: 0 or null if it is not known. `others`: an order with the code of one of these is that one.
 */
export async function findOrder(
  { orders }: Pick<OrderDeps['api'], 'orders'>,
  { code, orderId, others = [] }: { code: string; orderId: number | null | undefined; others?: OrderMemory['others'] },
  sendOne: Send,
): Promise<Sent<OrderDetail>> {
  const known = orderId ? await sendOne((options) => orders.get(orderId, options)) : undefined;
  const shownCode = known?.kind === 'done' ? known.value.code : undefined;
  const isOurs =
    shownCode !== undefined && isSameCode(shownCode, code) && others.every((other) => other.code !== shownCode);
  if (known && (isOurs || (known.kind !== 'done' && known.kind !== 'absent'))) return known;
  const found = await sendOne((options) => orders.getByCode(code, options));
  if (found.kind !== 'failed') return found;
  return known
    ? { kind: 'absent' }
    : { ...found, reason: `the service does not look orders up by code: ${found.reason}` };
}
