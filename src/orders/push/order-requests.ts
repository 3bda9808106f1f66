import {
  NotFoundError,
  type OrderDetail,
  ReviewApiError,
  type SubOrder,
  UnknownOutcomeError,
} from '../../review-api/index.ts';
import { LeaseLostError } from '../../warehouse/leases.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';
import type { LeasedOrder } from '../../warehouse/orders/order-store.ts';
import type { Attempted, RecordRequests, RequestLimits } from '../service-health.ts';
import type { PushDeps } from './push-order.ts';

/** What requests about one order need. */
export type RequestDeps = Pick<PushDeps, 'api' | 'store' | 'settleMs' | 'signal'> & { requests: RecordRequests };

/**
 * Sends a write about the order. The lease is checked right before each attempt. Where the outcome stays unknown the lease is
 * kept: a process that is being stopped gives up waiting for a response, but the service may still carry the write out.
 *
 * @throws UnknownOutcomeError and the client's other errors.
 */
export async function sendWrite<T>(
  { store, requests }: RequestDeps,
  leased: LeasedOrder,
  request: (limits: RequestLimits) => Promise<T>,
): Promise<Attempted<T>> {
  try {
    return await requests.attempt(() => store.assertLease(leased), request);
  } catch (error) {
    const isCutOff = !(
      error instanceof ReviewApiError ||
      error instanceof LeaseLostError ||
      error instanceof TypeError
    );
    if (isCutOff || mayBeUnderWay(error)) leased.isWriteUnderWay = true;
    throw error;
  }
}

/** Unlike 500 and 503, a 202, a gateway's 504 or a broken connection does not say whether the service is still at work. */
export const mayBeUnderWay = (error: unknown): error is UnknownOutcomeError =>
  error instanceof UnknownOutcomeError && error.status !== 500 && error.status !== 503;

/** Whether these sub-orders show that a write was carried out. `isLastLook`: no other follows. */
export type IsDone = (theirs: readonly SubOrder[], isLastLook: boolean) => boolean;

/**
 * Sends a write about the order, and where its outcome is unknown looks whether the service shows that it was carried out.
 *
 * @returns `shown`: carried out, although its response did not say so; `absent`: the same, and the service has no order of this id;
 *   `failed`: not carried out, or nobody knows.
 * @throws the client's errors.
 */
export async function sendAndConfirm(
  deps: RequestDeps,
  leased: LeasedOrder,
  orderId: number,
  request: (limits: RequestLimits) => Promise<void>,
  isDone: IsDone,
): Promise<'done' | 'shown' | 'absent' | { failed: string }> {
  const wasWriteUnderWay = leased.isWriteUnderWay;
  try {
    const attempted = await sendWrite(deps, leased, request);
    return 'failed' in attempted ? attempted : 'done';
  } catch (error) {
    if (!mayBeUnderWay(error)) throw error;
    const seen = await awaitShown(deps, orderId, isDone);
    if (seen === undefined) return { failed: `${error.message}; the next run looks again before it sends it again` };
    leased.isWriteUnderWay = wasWriteUnderWay;
    return seen;
  }
}

/** Waits between looks for what a write of unknown outcome does, in units of `settleMs`. */
const waitsBetweenLooks = [1, 2, 4, 8];

/** Looks at the order for 15 times `settleMs`: the service may carry a write out seconds after its response was lost. */
async function awaitShown(deps: RequestDeps, orderId: number, isDone: IsDone): Promise<'shown' | 'absent' | undefined> {
  // A process that is stopped records nothing: the next one looks.
  deps.signal.throwIfAborted();
  if (!deps.requests.hasBudgetLeft()) return undefined;
  for (const [index, wait] of waitsBetweenLooks.entries()) {
    await deps.requests.wait(deps.settleMs * wait);
    const looked = await orderAtService(deps, orderId);
    if ('failed' in looked) return undefined;
    if (!looked.value) return 'absent';
    if (isDone(looked.value.sub_orders, index === waitsBetweenLooks.length - 1)) return 'shown';
  }
  return undefined;
}

/** The order, or undefined where the service has none of this id; `failed` where the service fails on this order alone. */
export async function orderAtService(
  { api, requests }: RequestDeps,
  id: number,
): Promise<Attempted<OrderDetail | undefined>> {
  return unlessAbsent(requests.attempt(undefined, (limits) => api.orders.get(id, limits)));
}

/**
 * The order as `orderAtService` returns it; by its code where its id is not known, because the response to a push was lost.
 * No order is created to learn its id.
 */
export async function findOrder(
  deps: RequestDeps,
  { orderId, orderCode }: Pick<OrderLink, 'orderId' | 'orderCode'>,
): Promise<Attempted<OrderDetail | undefined>> {
  if (orderId !== null) return orderAtService(deps, orderId);
  return unlessAbsent(deps.requests.attempt(undefined, (limits) => deps.api.orders.getByCode(orderCode, limits)));
}

async function unlessAbsent<T>(found: Promise<Attempted<T>>): Promise<Attempted<T | undefined>> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof NotFoundError) return { value: undefined };
    throw error;
  }
}
