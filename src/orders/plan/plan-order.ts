import { isSameCode } from '../../base/codes.ts';
import { type OrderBody, type OrderDetail, sentAmount } from '../../review-api/index.ts';
import {
  type ContactField,
  contactFields,
  isContactAskedFor,
  isContactLeftToSync,
  mayCarryContact,
  type PushRights,
} from '../contact-rule.ts';
import { alikeFault, contactStopped, type DesiredOrder, requestBody } from './desired-order.ts';
import { compareOrder, type OrderDifference, shownContact, shownOnly } from './order-difference.ts';
import { asShown, isNeverPushed, mayHaveContact, type OrderMemory, type Shown, sentBefore } from './order-memory.ts';
import { type LineRequest, mayHaveReviews, type SubOrderDifference } from './sub-orders.ts';

/** By what orders are planned. `readAt`: the warehouse's clock just before they were read. `now`: the clock of ages. */
export type Planning = { rights: PushRights; readAt: Date; now: () => Date };

/** `find` looks the order up. A command that only shows a plan has looked before. */
export type OrderRequest =
  | { kind: 'find' }
  | { kind: 'delete order' }
  | { kind: 'post order'; body: OrderBody }
  | LineRequest;

/** The requests in the order in which they are sent. The lines of `memory` are written down before they are sent. */
export type PlannedRequests = { requests: readonly OrderRequest[]; memory: OrderMemory };

export type OrderPlan = PlannedRequests & {
  /** Why a run that reads the order sends nothing, although the requests would bring the order in line. */
  nothing: 'unchanged' | 'deleted in the shop' | undefined;
  /** Undefined: nobody has looked at the service, or it shows another order of the shop. */
  difference: OrderDifference | undefined;
  /** Contact of the shop that the rule leaves out (promise 7). */
  withheld: ContactField[];
  /** The code of another order: what is left follows once the service has shown that this one is not the same. */
  looksFirstFor?: string;
};

/**
 * Plans one order: which requests to send, in which order, what is left out, and why. Pure, and the only place that decides
 * it: a push sends this list, and `preview`, `explain`, `verify` and the dry runs show it.
 *
 * 1. Send nothing about an order that is unchanged, or that the shop has deleted before it was pushed. Send nothing more if
 *    the service shows another order for this one.
 * 2. Look up an order that the shop has deleted, and delete it if the rights say so. If it must stay, or its deletion was
 *    refused or held back, go on without contact (promises 6 and 7).
 * 3. If the service may hold the code for that of another order, POST it without customer and lines.
 * 4. POST the order: all fields that the shop has, and empty values for those that the service was sent before. If the
 *    service shows more that the shop does not have, POST it once more with empty values for these.
 * 5. Change, remove and create sub-orders.
 *
 * Before anybody has looked, the request that shows the order is the whole list.
 */
export function planOrder(
  order: DesiredOrder,
  shown: Shown,
  given: OrderMemory,
  { rights, now }: Pick<Planning, 'rights' | 'now'>,
): OrderPlan {
  const memory = asShown(given, shown);
  const detail = typeof shown === 'string' ? undefined : shown;
  const { createdAt, deletedAt } = order.order;
  const question = { decision: memory.link?.contact ?? null, createdAt, now: now() };
  const withContact = mayCarryContact(question, rights);
  const isLeftToSync = rights.trigger === 'repair' && isContactLeftToSync(question, rights);
  const expected = withContact ? contactFields : isLeftToSync && detail ? contactOfRepair(memory, detail) : [];
  const difference = shown === 'unknown' ? undefined : compareOrder(order, shown, memory, expected);
  const plan: OrderPlan = {
    nothing: whyNothing(order, shown, memory, rights),
    requests: [],
    memory,
    difference,
    withheld: withContact ? [] : contactFields.filter((field) => order.body[field] !== undefined),
  };

  const isLeftOut = plan.nothing === 'deleted in the shop' || (plan.nothing && shown === 'unknown');
  if (memory.stop || isLeftOut) return plan;
  const other = detail && otherCode(order, detail);
  if (detail && other !== undefined) {
    const stop = { reason: alikeFault(other), failure: 'permanent', other } as const;
    // Nothing is compared with another order of the shop; a code that was changed at the service is a difference.
    const isOfShop = isSameCode(detail.code, order.code);
    return { ...plan, difference: isOfShop ? undefined : difference, memory: { ...given, stop } };
  }

  const deletion = deletedAt && planDeletion(shown, memory, rights, mayHaveContact(memory));
  if (deletion) {
    const isDeletion = deletion.requests.some(({ kind }) => kind === 'delete order');
    return { ...plan, ...deletion, difference: difference && { ...difference, isDeletion } };
  }

  const [alike] = detail ? [] : order.alike;
  if (alike) return { ...plan, requests: [firstLook(order)], looksFirstFor: alike.code };

  // Fields that are sent empty: those that the service was sent before, and those that it shows; not those that it refused.
  const bodyEmptying = (shownFields: readonly string[]) => {
    const fields = [...sentBefore(memory), ...shownFields].filter((field) => !memory.refused.includes(field));
    return requestBody(order, fields, withContact);
  };
  const first = bodyEmptying([]);
  if (!difference) return { ...plan, requests: [{ kind: 'post order', body: first }] };
  const bodies = detail ? [first, bodyEmptying(shownOnly(order, detail, memory))] : [first];

  // An order that loses all its lines at once loses none: that looks like a fault of the query.
  const mayRemove = !memory.areRemovalsHeld && (rights.allowRemovals || !isEmptied(order));
  const { matched, create, remove, links } = difference.subOrders;
  const removals = mayRemove ? remove : [];
  return {
    ...plan,
    requests: [...postsOf(bodies, memory), ...matched.flatMap(inParts), ...removals, ...create],
    memory: { ...memory, lines: links, held: remove.length - removals.length },
  };
}

/**
 * Contact that shop and service should share although this push carries none: a repair names contact that was sent before,
 * unless the service hides it, and leaves it to the next sync.
 */
function contactOfRepair(memory: OrderMemory, detail: OrderDetail): ContactField[] {
  const sent = sentBefore(memory);
  const theirs = shownContact(detail);
  return contactFields.filter((field) => sent.includes(field) && theirs[field]);
}

/** The code of the other order that the service shows for this one. */
const otherCode = ({ code, alike }: DesiredOrder, shown: OrderDetail): string | undefined =>
  isSameCode(shown.code, code) ? alike.find(({ orderId }) => orderId === shown.id)?.code : shown.code;

function firstLook({ body: { code, created_at, total_price } }: DesiredOrder): OrderRequest {
  return { kind: 'post order', body: { code, created_at, total_price: sentAmount(total_price, 'total_price') } };
}

function whyNothing(order: DesiredOrder, shown: Shown, memory: OrderMemory, rights: PushRights): OrderPlan['nothing'] {
  const { link } = memory;
  const { createdAt, deletedAt } = order.order;
  if (deletedAt && (isNeverPushed(link) || shown === 'absent')) return 'deleted in the shop';
  if (!link || link.isDue) return undefined;
  const isStopped = rights.contactMaxAgeDays <= 0 && link.fingerprint === contactStopped(order);
  if (link.fingerprint !== order.fingerprint && !isStopped) return undefined;
  if (rights.allowRemovals && link.failedPushes > 0) return undefined;
  // If contact goes at any age, the clock does not matter.
  const isContactMissing =
    isContactAskedFor({ decision: link.contact, createdAt, now: createdAt }, rights) &&
    contactFields.some((field) => order.body[field] !== undefined && !link.sentFields.includes(field));
  return isContactMissing ? undefined : 'unchanged';
}

/**
 * The deletion of an order that the shop does not have any more, sent once. An order with reviews is not deleted (promise 6).
 *
 * @param isClearable whether something is left to do about an order whose deletion failed.
 * @returns undefined: the order stays at the service.
 */
export function planDeletion(
  shown: Shown,
  given: OrderMemory,
  { deletes }: Pick<PushRights, 'deletes'>,
  isClearable: boolean,
): PlannedRequests | undefined {
  // The id that the service shows is the one to delete: ours was never recorded, or is another order's by now.
  const memory = asShown(given, shown);
  const { failedDeletion, stop } = memory;
  if (shown === 'absent' || stop) return { requests: [], memory };
  if (shown === 'unknown') return { requests: [{ kind: 'find' }], memory };
  // The service may carry the deletion out later: any other request could create the order again.
  if (failedDeletion?.isUnknown) return { requests: [], memory: { ...memory, stop: failedDeletion } };
  if (failedDeletion) return isClearable ? undefined : { requests: [], memory };
  if (deletes === 'off' || shown.sub_orders.some(mayHaveReviews)) return undefined;
  return { requests: [{ kind: 'delete order' }], memory };
}

/** One request for each body that says more than what the service accepted last. */
function postsOf(bodies: readonly OrderBody[], { accepted }: OrderMemory): OrderRequest[] {
  let known = accepted?.body;
  return bodies.flatMap((body) => {
    const isNew = Object.entries(body).some(([field, value]) => known?.[field as keyof OrderBody] !== value);
    if (!isNew) return [];
    known = body;
    return [{ kind: 'post order', body }];
  });
}

/** The shop shows no line of the order any more. */
export const isEmptied = ({ lines, waiting, faulty }: DesiredOrder): boolean =>
  lines.length + waiting.length + faulty.length === 0;

/** First the values, then what is to be emptied: a service that refuses an empty value holds nothing else back. */
function inParts(change: SubOrderDifference['matched'][number]) {
  const parts = Map.groupBy(Object.entries(change.body), ([, value]) => value === null);
  return [parts.get(false), parts.get(true)].flatMap((some) =>
    some ? [{ ...change, body: Object.fromEntries(some) as typeof change.body }] : [],
  );
}

/** The fields that a request is to empty. */
export const emptyFields = (body: object) =>
  Object.entries(body).flatMap(([field, value]) => (value === null ? [field] : []));

export const isRemoval = ({ kind }: OrderRequest) => kind === 'remove' || kind === 'delete order';

/** The memory once the day's allowance is too small for the removals of a plan: the next plan goes without them. */
export function holdRemovals(memory: OrderMemory, { requests }: PlannedRequests): OrderMemory {
  if (requests.every(({ kind }) => kind !== 'delete order')) return { ...memory, areRemovalsHeld: true };
  const reason = `the shop has deleted the order; it stays at the service, because ${usedUp}. ${toAllow}`;
  return { ...memory, failedDeletion: { reason, failure: 'transient', held: 1 } };
}

/** The next step if removals are held back. */
export const toAllow = 'If that is right, use --allow-removals: review-sync sync orders, or the backfill that found it';
export const usedUp = 'the removals of 24 hours are used up';
