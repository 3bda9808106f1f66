import { type OrderBody, type OrderDetail, RefusedError } from '../../review-api/index.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';
import type { LeasedOrder } from '../../warehouse/orders/order-store.ts';
import { type ContactField, contactFields } from '../order/contact-rule.ts';
import { contactDecisions, type DesiredOrder, fieldsToClear, requestBody } from '../order/desired-order.ts';
import type { OptionalField } from '../order/order-body.ts';
import { isSameCode } from '../order/same-content.ts';
import { refusalKind } from '../service-health.ts';
import { orderAtService, sendWrite } from './order-requests.ts';
import type { PushAttempt } from './push-attempt.ts';
import type { OrderDeps } from './push-order.ts';
import type { FailureKind } from './retry-delay.ts';

/** `notCleared`: fields that the shop cleared and that the service cannot be made to clear. */
export type Accepted = { kind: 'accepted'; detail: OrderDetail; sent: OrderBody; notCleared: string[] };

export type Posted =
  | Accepted
  /** The service refuses the order, or is up but fails on this order. */
  | { kind: 'failed'; reason: string; failure: FailureKind };

/**
 * Creates or updates the order at the service (spec, "Create or update an order").
 *
 * 1. Decide which of the contact this request may carry (promise 7).
 * 2. POST all fields that the shop has, and an empty value for those that it had before.
 * 3. Where the service still shows a value that the shop does not have, clear that field too, and look again.
 *
 * @throws the client's errors when the service as a whole fails.
 */
export async function postOrder(deps: OrderDeps, { desired, leased }: PushAttempt): Promise<Posted> {
  const { link } = leased;
  const contact = await contactToSend(deps, desired, link);
  const clear = fieldsToClear(desired, link.sentFields ?? []);
  const first = await post(deps, leased, requestBody(desired, { contact, clear }));
  if (first.kind === 'accepted') return clearShown(deps, desired, leased, { ...first, notCleared: [] });
  if (first.failure === 'transient' || clear.length === 0) return first;
  // The service may refuse only the empty values: then the rest of the order is sent without them.
  const second = await post(deps, leased, requestBody(desired, { contact, clear: [] }));
  return second.kind === 'accepted' ? { ...second, notCleared: clear } : first;
}

async function post(deps: OrderDeps, leased: LeasedOrder, sent: OrderBody): Promise<Posted> {
  deps.signal.throwIfAborted();
  try {
    const attempted = await sendWrite(deps, leased, (limits) => deps.api.orders.upsert(sent, limits));
    if ('failed' in attempted) return { kind: 'failed', reason: attempted.failed, failure: 'transient' };
    return { kind: 'accepted', detail: attempted.value, sent, notCleared: [] };
  } catch (error) {
    if (error instanceof RefusedError) return { kind: 'failed', reason: error.message, failure: refusalKind(error) };
    throw error;
  }
}

async function contactToSend(deps: OrderDeps, desired: DesiredOrder, link: OrderLink): Promise<ContactField[]> {
  const decisions = contactDecisions(deps, desired, link, deps.policy.contact);
  const isRepeated = contactFields.some((field) => decisions[field] === 'repeat');
  const there = isRepeated ? await linkedOrder(deps, link) : undefined;
  const mayRepeat = (field: ContactField) => there !== undefined && isContactThere(there, field, desired.body);
  return contactFields.filter(
    (field) => decisions[field] === 'send' || (decisions[field] === 'repeat' && mayRepeat(field)),
  );
}

/** The linked order as the service shows it; undefined where it does not have it, or cannot be asked. */
async function linkedOrder(deps: OrderDeps, link: OrderLink): Promise<OrderDetail | undefined> {
  const there = link.orderId === null ? undefined : await orderAtService(deps, link.orderId);
  const detail = there && 'value' in there ? there.value : undefined;
  return detail && isSameCode(detail.code, link.orderCode) ? detail : undefined;
}

/**
 * Whether the service still has the contact that it was sent. It may have erased the addresses of old orders, or somebody has
 * corrected one there: sent again, the value would be new to it. A service that does not show the field is believed to have it.
 */
export function isContactThere(
  detail: Pick<OrderDetail, 'user_email' | 'phone'>,
  field: ContactField,
  body: Pick<OrderBody, ContactField>,
): boolean {
  const shown = field === 'user_email' ? detail.user_email : detail.phone;
  return shown === undefined || plainContact(shown) === plainContact(body[field]);
}

/** A service may change the case of an address, and the spaces and dashes of a number. */
const plainContact = (value: string | null | undefined) => value?.toLowerCase().replace(/[^\p{L}\p{N}@]/gu, '');

async function clearShown(
  deps: OrderDeps,
  desired: DesiredOrder,
  leased: LeasedOrder,
  accepted: Accepted,
): Promise<Posted> {
  const { link } = leased;
  const before = shownWithoutShop(desired, accepted.detail);
  const untried = before.filter((field) => accepted.sent[field] !== null);
  if (untried.length === 0) return { ...accepted, notCleared: worthReporting(before, link) };
  const cleared = Object.fromEntries(untried.map((field) => [field, null]));
  const second = await post(deps, leased, { ...accepted.sent, ...cleared });
  if (second.kind !== 'accepted') return { ...accepted, notCleared: worthReporting(before, link) };
  return { ...second, notCleared: worthReporting(shownWithoutShop(desired, second.detail), link) };
}

/** Fields that the service shows with a value although the shop has none. */
export function shownWithoutShop({ body }: DesiredOrder, detail: OrderDetail): OptionalField[] {
  // Some services show the account where there is no name.
  const name = detail.username === detail.user_code ? null : detail.username;
  const shown = [
    ['user_code', detail.user_code],
    ['user_name', name],
    ['user_phone', detail.phone],
    ['user_email', detail.user_email],
  ] as const;
  return shown.flatMap(([field, value]) => (value && body[field] === undefined ? [field] : []));
}

/** A value that we did not send, and that reaches nobody, may be the service's own way to mark a guest. */
function worthReporting(fields: readonly OptionalField[], link: OrderLink): string[] {
  return fields.filter(
    (field) => link.sentFields?.includes(field) || contactFields.some((contact) => contact === field),
  );
}
