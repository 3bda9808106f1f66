import { isSameCode, isUsableCode } from '../../base/codes.ts';
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
import { asShown, isNeverPushed, mayHaveContact, type OrderMemory, type Shown, sentBefore } from './order-memory.ts';
import {
  differencesOfShop,
  type FieldDifference,
  fieldDifference,
  isSameSecond,
  type MoneyUnit,
  moneyDifference,
  moneyUnitOf,
  plainText,
} from './same-value.ts';
import {
  isPending,
  type LineLink,
  type LineRequest,
  mayHaveReviews,
  type SubOrderDifference,
  subOrderDifference,
} from './sub-orders.ts';

/** `readAt`: the warehouse's clock just before the orders were read. `now`: the clock for their age (`ageClock`). */
export type Planning = { rights: PushRights; readAt: Date; now: () => Date };

/** `find` looks the order up. A command that only shows a plan has looked before. */
export type OrderRequest =
  | { kind: 'find' }
  | { kind: 'delete order' }
  | { kind: 'post order'; body: OrderBody }
  | LineRequest;

/** The requests in the order in which they are sent. Before the first one, the lines of `memory` are written down. */
export type PlannedRequests = { requests: readonly OrderRequest[]; memory: OrderMemory };

/** The differences of one order between shop and service. */
export type OrderDifference = {
  /** The service's id; undefined: the service does not have the order. */
  orderId: number | undefined;
  /** The order is to be deleted at the service; nothing else is sent. */
  isDeletion: boolean;
  /** Fields of the order in which both ends differ. Contact that the rule withholds is left out. */
  fields: FieldDifference[];
  linesNotSent: { lineCode: string; reason: string; isWaiting?: true }[];
  fieldsNotSent: { field: string; reason: string }[];
  subOrders: SubOrderDifference;
};

export type OrderPlan = PlannedRequests & {
  /** Why a run that reads the order sends nothing, although the requests would bring the order in line. */
  nothing: 'unchanged' | 'deleted in the shop' | undefined;
  /** Undefined: nobody has looked at the service, or it shows another order of the shop. */
  difference: OrderDifference | undefined;
  /** Contact of the shop that the rule leaves out (promise 7). */
  withheld: ContactField[];
  /** If the list is only step 3: the code of the other order. The rest is planned once the service tells the two apart. */
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
    requests: [...postsOf(bodies, memory), ...matched.flatMap(valuesFirst), ...removals, ...create],
    memory: { ...memory, lines: links, held: remove.length - removals.length },
  };
}

/** Contact that a repair compares although it carries none: what was sent before and is shown. The next sync sends it. */
const contactOfRepair = (memory: OrderMemory, detail: OrderDetail): ContactField[] =>
  contactFields.filter((field) => sentBefore(memory).includes(field) && shownContact(detail)[field]);

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

/** One request with the values, another one that empties fields: a service may refuse empty values only. */
function valuesFirst(change: SubOrderDifference['matched'][number]) {
  const parts = Map.groupBy(Object.entries(change.body), ([, value]) => value === null);
  return [parts.get(false), parts.get(true)].flatMap((some) =>
    some ? [{ ...change, body: Object.fromEntries(some) as typeof change.body }] : [],
  );
}

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

/**
 * Compares an order in the shop with the order as the service shows it. Lines that failed are left as they are.
 *
 * @param contact the fields whose value the shop and the service should share (promise 7).
 */
function compareOrder(
  order: DesiredOrder,
  shown: OrderDetail | 'absent',
  memory: OrderMemory,
  contact: readonly ContactField[],
): OrderDifference {
  const { waiting, faulty, raw, unlinkedGrade: grade } = order;
  const detail = shown === 'absent' ? undefined : shown;
  const links = detail ? memory.lines : memory.lines.filter(isPending);
  const unit = detail && unitOf(order, detail, links, memory.accepted !== undefined);
  const notPushed = new Set([...waiting, ...faulty, ...memory.failures].flatMap(({ lineCode }) => lineCode ?? []));
  const { deletedAt } = order.order;
  // An order that the shop has deleted, and that stays at the service, gets no more lines.
  const isAdded = (lineCode: string) => !deletedAt || links.some((link) => link.lineCode === lineCode);
  const pushed = order.lines.filter(({ lineCode }) => !notPushed.has(lineCode) && isAdded(lineCode));
  const isSelected = (column: string) => column in (raw.lines[0] ?? {});
  const by = { untouched: notPushed, isSelected, unit };
  const found = subOrderDifference(detail?.sub_orders ?? [], pushed, links, by);
  // The lines of a deleted order often go with it. The order itself is deleted, or ORDER_DELETES says that it stays.
  // A line without a usable code may be the line of any sub-order.
  const keepsAll = deletedAt !== undefined || raw.lines.some((row) => !isUsableCode(row.line_code));
  const keptGrade = `the grade ${grade} is not at the service yet; the order keeps the grade that was sent before, if any`;
  return {
    orderId: detail?.id,
    isDeletion: false,
    fields: detail ? fieldsOfShop(order, detail, sentBefore(memory), contact, unit) : [],
    linesNotSent: [
      ...waiting.map(({ lineCode, productCode }) => {
        const reason = `it waits until the service is known to have product ${productCode}`;
        return { lineCode, reason, isWaiting: true as const };
      }),
      ...faulty.map(({ lineCode, reason }) => ({ lineCode, reason: `it would be a dead letter: ${reason}` })),
    ],
    fieldsNotSent: grade === undefined ? [] : [{ field: 'user_grade_id', reason: keptGrade }],
    subOrders: keepsAll ? { ...found, remove: [] } : found,
  };
}

/**
 * The unit in which the service counts the money of this order. The response to a POST shows the total that was just sent.
 * Otherwise the prices that were last sent are compared with those of the sub-orders. The shop's total of today is not: if
 * the order was pushed in a wrong unit, the total would agree with what is shown in a unit that the service does not use.
 */
function unitOf({ body }: DesiredOrder, shown: OrderDetail, links: readonly LineLink[], isPosted: boolean) {
  const total = isPosted ? moneyUnitOf([{ amount: body.total_price, shown: shown.total_price }]) : undefined;
  const prices = links.flatMap(({ subOrderId, content }) => {
    const subOrder = shown.sub_orders.find(({ id }) => id === subOrderId);
    return subOrder ? [{ amount: content.price, shown: subOrder.price }] : [];
  });
  return total ?? moneyUnitOf(prices);
}

/** Whether a push would change something that the service shows. */
export function isDifferent({ orderId, isDeletion, fields, subOrders }: OrderDifference): boolean {
  const { matched, create, remove } = subOrders;
  const isShownDifferent = (all: readonly FieldDifference[]) => all.some(({ isShown }) => isShown);
  if (orderId === undefined || isDeletion || create.length + remove.length > 0 || isShownDifferent(fields)) return true;
  return matched.some((line) => line.isHidden || isShownDifferent(line.fields));
}

/** The fields in which both ends differ, of those that the detail of an order shows (docs/interface.md). */
function fieldsOfShop(
  order: DesiredOrder,
  shown: OrderDetail,
  sent: readonly string[],
  expected: readonly ContactField[],
  unit: MoneyUnit,
): FieldDifference[] {
  const { body, raw } = order;
  // The service need not have contact that the rule withholds. If it shows another value, that value stays.
  const contact = (field: ContactField) => {
    const ours = body[field];
    const theirs = shownContact(shown)[field];
    if (ours === undefined) return fieldDifference(field, ours, theirs);
    const isSame = () => isSameContact(field, theirs ?? '', ours ?? '');
    return expected.includes(field) ? fieldDifference(field, ours, unmasked(theirs), isSame) : undefined;
  };
  const all = [
    fieldDifference('code', body.code, shown.code, (theirs, ours) => isSameCode(theirs ?? '', ours ?? '')),
    fieldDifference('created_at', body.created_at, shown.created_at ?? undefined, isSameSecond),
    moneyDifference('total_price', body.total_price, shown.total_price, unit),
    fieldDifference('user_code', body.user_code, shown.user_code),
    fieldDifference('user_name', body.user_name, nameOf(body, shown)),
    ...contactFields.map(contact),
  ];
  return differencesOfShop(all, (field) => field in raw.order || sent.includes(field));
}

/** Contact as the service shows it; undefined: the response lacks it. */
const shownContact = ({ user_email, phone: user_phone }: OrderDetail) => ({ user_email, user_phone });

/** A service may write an address in lower case, and a phone number without hyphens or with the prefix of its country. */
function isSameContact(field: ContactField, theirs: string, ours: string): boolean {
  const [one = '', other = ''] = [theirs, ours].map((text) => plainText(text).toLowerCase());
  const [shown, wanted] = [one, other].map((text) => text.replace(/\D/g, '').replace(/^0+/, ''));
  if (field !== 'user_phone' || !shown || !wanted) return one === other;
  return shown === wanted || (/^(?:\+|00)/.test(one) && shown.endsWith(wanted) && shown.length - wanted.length <= 3);
}

/** Some services show the account if there is no name. Any other name is still there, masked or not, if the shop has none. */
function nameOf({ user_name }: OrderBody, { username, user_code }: OrderDetail) {
  if (user_name !== undefined) return unmasked(username);
  return username !== undefined && username === user_code ? null : username;
}

/** A service may show parts of a customer's data only, such as `k**@example.com`: then nobody knows what it has. */
const unmasked = (theirs: string | null | undefined) => (theirs?.includes('*') ? undefined : theirs);

/** Fields that the service shows with a value although the shop has none. */
export const shownOnly = (order: DesiredOrder, shown: OrderDetail, memory: OrderMemory): string[] =>
  fieldsOfShop(order, shown, sentBefore(memory), contactFields, undefined)
    .filter(({ shop, service }) => shop === null && service !== null)
    .map(({ field }) => field);

const personal = ['user_email', 'user_phone', 'user_name', 'username', 'phone'];

/** Shows only whether a field with the customer's name, e-mail address or phone number has a value (promise 9). */
export const masked = <T>(field: string, value: T) => (personal.includes(field) && value ? 'a value' : value);

export const withoutPersonalData = (difference: OrderDifference): OrderDifference => ({
  ...difference,
  fields: difference.fields.map((one) => {
    return { ...one, shop: masked(one.field, one.shop), service: masked(one.field, one.service) };
  }),
});
