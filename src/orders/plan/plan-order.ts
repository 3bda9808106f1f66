import { isSameCode, isUsableCode } from '../../base/codes.ts';
import { type OrderBody, type OrderDetail, sentAmount } from '../../review-api/index.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';
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

/** The requests in sending order. The lines of `memory` are saved before the first request. */
export type PlannedRequests = { requests: readonly OrderRequest[]; memory: OrderMemory };

export type OrderDifference = {
  /** The service's id; undefined: the service does not have the order. */
  orderId: number | undefined;
  /** The order is to be deleted at the service; nothing else is sent. */
  isDeletion: boolean;
  /** Fields of the order that differ, without contact that the rule withholds. */
  fields: FieldDifference[];
  linesNotSent: { lineCode: string; reason: string; isWaiting?: true }[];
  fieldsNotSent: { field: string; reason: string }[];
  subOrders: SubOrderDifference;
};

export type OrderPlan = PlannedRequests & {
  /** If set, a run that reads the order sends none of `requests`, and this is why. */
  nothing: 'unchanged' | 'deleted in the shop' | undefined;
  /** Undefined: nobody has looked at the service, or the service shows another order of the shop. */
  difference: OrderDifference | undefined;
  /** Contact of the shop that the rule leaves out (promise 7). */
  withheld: ContactField[];
  /** The code of the other order if the list is only step 3. The rest follows once the service tells them apart. */
  looksFirstFor?: string;
};

/**
 * Plans one order: the requests in sending order, what is left out, and why. Pure, and the only place that decides
 * this. A push sends this list; `preview`, `explain`, `verify` and the dry runs show it.
 *
 * 1. If the order is unchanged, or the shop deleted it before its first push, send nothing. If the service shows
 *    another order for this one, send nothing more.
 * 2. If the shop has deleted the order, look it up, and delete it if the rights say so. If it must stay, or its
 *    deletion was refused or held back, go on without contact (promises 6 and 7).
 * 3. If the service may take the order for another one, POST it without customer and lines.
 * 4. POST the order: all fields that the shop has, and empty values for other fields that were sent before. If the
 *    service shows more fields that the shop does not have, POST the order again with empty values for them.
 * 5. Change, remove and create sub-orders.
 *
 * As long as nobody has looked at the service (`unknown`), the list is only the request that shows the order.
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
    nothing: whyNothing(order, shown, memory.link, rights),
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
    // Another order of the shop is not compared. A code that was changed at the service is a difference.
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

  // Send empty values for fields sent before and fields that the service shows, except fields it refused to empty.
  const bodyEmptying = (shownFields: readonly string[]) => {
    const fields = [...sentBefore(memory), ...shownFields].filter((field) => !memory.refused.includes(field));
    return requestBody(order, fields, withContact);
  };
  const first = bodyEmptying([]);
  if (!difference) return { ...plan, requests: [{ kind: 'post order', body: first }] };
  const bodies = detail ? [first, bodyEmptying(shownOnly(difference.fields))] : [first];

  // If an order loses all its lines at once, none is removed: this looks like a fault of the query.
  const mayRemove = !memory.areRemovalsHeld && (rights.allowRemovals || !isEmptied(order));
  const { matched, create, remove, links } = difference.subOrders;
  const removals = mayRemove ? remove : [];
  return {
    ...plan,
    requests: [...postsOf(bodies, memory), ...matched.flatMap(valuesFirst), ...removals, ...create],
    memory: { ...memory, lines: links, held: remove.length - removals.length },
  };
}

/** A repair sends no contact, but compares contact that was sent before and is shown. The next sync sends it. */
const contactOfRepair = (memory: OrderMemory, detail: OrderDetail): ContactField[] =>
  contactFields.filter((field) => sentBefore(memory).includes(field) && shownContact(detail)[field]);

/** The code of the other order that the service shows for this one. */
const otherCode = ({ code, alike }: DesiredOrder, shown: OrderDetail): string | undefined =>
  isSameCode(shown.code, code) ? alike.find(({ orderId }) => orderId === shown.id)?.code : shown.code;

function firstLook({ body: { code, created_at, total_price } }: DesiredOrder): OrderRequest {
  return { kind: 'post order', body: { code, created_at, total_price: sentAmount(total_price, 'total_price') } };
}

/** Why a run that reads the order sends nothing of it (step 1 of `planOrder`). Undefined: it sends something. */
export function whyNothing(
  order: DesiredOrder,
  shown: Shown,
  link: OrderLink | undefined,
  rights: PushRights,
): OrderPlan['nothing'] {
  const { createdAt, deletedAt } = order.order;
  if (deletedAt && (isNeverPushed(link) || shown === 'absent')) return 'deleted in the shop';
  if (!link || link.isDue) return undefined;
  const isStopped = rights.contactMaxAgeDays <= 0 && link.fingerprint === contactStopped(order);
  if (link.fingerprint !== order.fingerprint && !isStopped) return undefined;
  if (rights.allowRemovals && link.failedPushes > 0) return undefined;
  // If contact is sent at any age, the clock does not matter.
  const isContactMissing =
    isContactAskedFor({ decision: link.contact, createdAt, now: createdAt }, rights) &&
    contactFields.some((field) => order.body[field] !== undefined && !link.sentFields.includes(field));
  return isContactMissing ? undefined : 'unchanged';
}

/**
 * The deletion of an order that the shop no longer has, sent once. An order with reviews is not deleted (promise 6).
 *
 * @param isClearable whether something is left to do about the order if its deletion failed.
 * @returns undefined: the order stays at the service.
 */
export function planDeletion(
  shown: Shown,
  given: OrderMemory,
  { deletes }: Pick<PushRights, 'deletes'>,
  isClearable: boolean,
): PlannedRequests | undefined {
  // Delete the id that the service shows: ours may never have been recorded, or may now be another order's.
  const memory = asShown(given, shown);
  const { failedDeletion, stop } = memory;
  if (shown === 'absent' || stop) return { requests: [], memory };
  if (shown === 'unknown') return { requests: [{ kind: 'find' }], memory };
  // The service may carry the deletion out later. Any other request could then create the order again.
  if (failedDeletion?.isUnknown) return { requests: [], memory: { ...memory, stop: failedDeletion } };
  if (failedDeletion) return isClearable ? undefined : { requests: [], memory };
  if (deletes === 'off' || shown.sub_orders.some(mayHaveReviews)) return undefined;
  return { requests: [{ kind: 'delete order' }], memory };
}

/** One request for each body that differs from what the service accepted last. */
function postsOf(bodies: readonly OrderBody[], { accepted }: OrderMemory): OrderRequest[] {
  let known = accepted?.body;
  return bodies.flatMap((body) => {
    const fields = Object.keys(body) as (keyof OrderBody)[];
    const isNew = fields.some((field) => known?.[field] !== body[field]);
    if (!isNew) return [];
    known = body;
    return [{ kind: 'post order', body }];
  });
}

/** Whether the shop no longer shows any line of the order. */
export const isEmptied = ({ lines, waiting, faulty }: DesiredOrder): boolean =>
  lines.length + waiting.length + faulty.length === 0;

/** One request with the values, and another that empties fields: a service may refuse only empty values. */
function valuesFirst(change: SubOrderDifference['matched'][number]) {
  const parts = Map.groupBy(Object.entries(change.body), ([, value]) => value === null);
  return [parts.get(false), parts.get(true)].flatMap((some) =>
    some ? [{ ...change, body: Object.fromEntries(some) as typeof change.body }] : [],
  );
}

export const emptyFields = (body: object) =>
  Object.entries(body).flatMap(([field, value]) => (value === null ? [field] : []));

export const isRemoval = ({ kind }: OrderRequest) => kind === 'remove' || kind === 'delete order';

/** The memory once the day's allowance is too small for the removals of a plan. The next plan has no removals. */
export function holdRemovals(memory: OrderMemory, { requests }: PlannedRequests): OrderMemory {
  if (requests.every(({ kind }) => kind !== 'delete order')) return { ...memory, areRemovalsHeld: true };
  const reason = `the shop has deleted the order; it stays at the service, because ${usedUp}. ${toAllow}`;
  return { ...memory, failedDeletion: { reason, failure: 'transient', held: 1 } };
}

export const toAllow = 'If that is right, use --allow-removals: review-sync sync orders, or the backfill that found it';
export const usedUp = 'the removals of 24 hours are used up';

/**
 * Compares the shop's order with the order that the service shows. Lines that failed stay as they are.
 *
 * @param contact the contact fields that should be equal at both ends (promise 7).
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
  // If an order that the shop has deleted stays at the service, it gets no more lines.
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
 * The money unit of the service for this order. The response to a POST shows the total that was just sent. Otherwise
 * the prices that were last sent are compared with the sub-orders' prices. The shop's total of today is not compared:
 * after a push in a wrong unit, it would agree with the shown total in a unit that the service does not use.
 */
function unitOf({ body }: DesiredOrder, shown: OrderDetail, links: readonly LineLink[], isPosted: boolean) {
  const total = isPosted ? moneyUnitOf([{ amount: body.total_price, shown: shown.total_price }]) : undefined;
  if (total !== undefined) return total;
  const prices = links.flatMap(({ subOrderId, content }) => {
    const subOrder = shown.sub_orders.find(({ id }) => id === subOrderId);
    return subOrder ? [{ amount: content.price, shown: subOrder.price }] : [];
  });
  return moneyUnitOf(prices);
}

/** Whether a push would change something that the service shows. */
export function isDifferent({ orderId, isDeletion, fields, subOrders }: OrderDifference): boolean {
  const { matched, create, remove } = subOrders;
  const isShownDifferent = (all: readonly FieldDifference[]) => all.some(({ isShown }) => isShown);
  if (orderId === undefined || isDeletion || create.length + remove.length > 0 || isShownDifferent(fields)) return true;
  return matched.some((line) => line.isHidden || isShownDifferent(line.fields));
}

/** The fields that differ, among those that the detail of an order shows (docs/interface.md). */
export function fieldsOfShop(
  order: DesiredOrder,
  shown: OrderDetail,
  sent: readonly string[],
  expected: readonly ContactField[],
  unit: MoneyUnit,
): FieldDifference[] {
  const { body, raw } = order;
  // The service need not have contact that the rule withholds. Another value that it shows stays.
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

/** A service may show an e-mail in lower case, and a phone number without hyphens or with the prefix of its country. */
function isSameContact(field: ContactField, theirs: string, ours: string): boolean {
  const [one = '', other = ''] = [theirs, ours].map((text) => plainText(text).toLowerCase());
  if (field !== 'user_phone') return one === other;
  const digitsOf = (text: string) => text.replace(/\D/g, '') || text;
  const isPrefixed = (text: string, home: string) => {
    const [long = '', short = ''] = [text, home].map((number) => digitsOf(number).replace(/^0+/, ''));
    return /^(?:\+|00)/.test(text) && short !== '' && long.endsWith(short) && long.length <= short.length + 3;
  };
  return digitsOf(one) === digitsOf(other) || isPrefixed(one, other) || isPrefixed(other, one);
}

/** Some services show the account if there is no name. If the shop has none, any other name is still there. */
function nameOf({ user_name }: OrderBody, { username, user_code }: OrderDetail) {
  if (user_name !== undefined) return unmasked(username);
  return username !== undefined && username === user_code ? null : username;
}

/** If a service masks a customer's data, such as `k**@example.com`, nobody knows what it has. */
const unmasked = (theirs: string | null | undefined) => (theirs?.includes('*') ? undefined : theirs);

/** Fields that the service shows with a value although the shop has none. */
export const shownOnly = (fields: readonly FieldDifference[]): string[] =>
  fields.filter(({ shop, service }) => shop === null && service !== null).map(({ field }) => field);

const personal = ['user_email', 'user_phone', 'user_name', 'username', 'phone'];

/** Reduces the customer's name, e-mail address or phone number to whether it has a value (promise 9). */
export const masked = <T>(field: string, value: T) => (personal.includes(field) && value ? 'a value' : value);

export const withoutPersonalData = (difference: OrderDifference): OrderDifference => ({
  ...difference,
  fields: difference.fields.map((one) => {
    return { ...one, shop: masked(one.field, one.shop), service: masked(one.field, one.service) };
  }),
});
