import type { OrderBody, OrderDetail } from '../../review-api/index.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';
import { contactFields } from '../contact-rule.ts';
import type { FailureKind } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type DesiredOrder, requestBody } from '../plan/desired-order.ts';
import { shownWithoutShop } from '../plan/order-difference.ts';
import type { Requests } from '../requests.ts';

export type Posted =
  /** `notCleared`: fields that the shop cleared and that the service cannot be made to clear. */
  | { kind: 'accepted'; detail: OrderDetail; sent: OrderBody; notCleared: string[] }
  /** The service refuses the order, or is up but fails on this order. */
  | { kind: 'failed'; reason: string; failure: FailureKind };

/**
 * Creates or updates the order at the service (docs/interface.md, "Create or update an order").
 *
 * 1. POST all fields that the shop has, and an empty value for those that the service was sent before. Each request
 *    carries contact only if that is allowed at this moment (promise 7).
 * 2. Where the service refuses empty values, POST the rest without them.
 * 3. Where the service still shows a value that the shop does not have, clear that field too, once.
 *
 * @param mayCarry whether a request that is sent now may carry contact.
 */
export async function postOrder(
  { api }: OrderDeps,
  { write }: Requests,
  desired: DesiredOrder,
  { sentFields }: OrderLink,
  mayCarry: () => boolean,
): Promise<Posted> {
  const post = async (toClear: readonly string[]): Promise<Posted> => {
    const sent = requestBody(desired, toClear, mayCarry());
    // The client has repeated it: an upsert may be repeated.
    const answer = await write((options) => api.orders.upsert(sent, options));
    if (answer.kind === 'done') return { kind: 'accepted', detail: answer.value, sent, notCleared: [] };
    if (answer.kind === 'failed') return answer;
    const reason = answer.kind === 'unknown' ? answer.reason : 'the service answers 404 to POST /v1/orders';
    return { kind: 'failed', reason, failure: 'transient' };
  };
  const isCleared = (body: OrderBody, field: string) => body[field as keyof OrderBody] === null;
  const clearing = Object.entries(requestBody(desired, sentFields, false)).filter(([, value]) => value === null);

  const first = await post(sentFields);
  if (first.kind === 'failed') {
    if (first.failure === 'transient' || clearing.length === 0) return first;
    const rest = await post([]);
    return rest.kind === 'accepted' ? { ...rest, notCleared: clearing.map(([field]) => field) } : first;
  }
  const kept = shownWithoutShop(desired, first.detail, sentFields);
  if (kept.length === 0) return first;
  const again = kept.every((field) => isCleared(first.sent, field)) ? first : await post([...sentFields, ...kept]);
  const last = again.kind === 'accepted' ? again : first;
  // A value that we did not send, and that reaches nobody, may be the service's own way to mark a guest.
  const isWorthNaming = (field: string) => sentFields.includes(field) || contactFields.some((one) => one === field);
  return { ...last, notCleared: shownWithoutShop(desired, last.detail, sentFields).filter(isWorthNaming) };
}
