import { isSameCode, isUsableCode } from '../../base/codes.ts';
import type { OrderBody, OrderDetail } from '../../review-api/index.ts';
import { type ContactField, contactFields } from '../contact-rule.ts';
import type { DesiredOrder, OptionalField } from './desired-order.ts';
import { type OrderMemory, sentBefore } from './order-memory.ts';
import {
  centsText,
  type FieldDifference,
  fieldDifference,
  isSameSecond,
  isSameText,
  isShownAs,
  type MoneyUnit,
  moneyUnitOf,
  plainText,
} from './same-value.ts';
import { isPending, type LineLink, type SubOrderDifference, subOrderDifference } from './sub-orders.ts';

/** The differences of one order between shop and service. */
export type OrderDifference = {
  /** The service's id; undefined: the service does not have the order. */
  orderId: number | undefined;
  /** The order is to be deleted at the service; nothing else is sent. */
  isDeletion: boolean;
  /** Fields of the order in which both ends differ. Contact that the rule withholds is left out. */
  fields: FieldDifference[];
  linesNotSent: { lineCode: string; reason: string; isWaiting?: true }[];
  fieldsNotSent: { field: OptionalField; reason: string }[];
  subOrders: SubOrderDifference;
};

/**
 * Compares an order in the shop with the order as the service shows it. Lines that failed are left as they are.
 *
 * @param contact the fields whose value the shop and the service should share (promise 7).
 */
export function compareOrder(
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
 * Otherwise the sub-orders tell it, whose prices are remembered as they were sent: an order that was pushed in another unit
 * by mistake is then no agreement. The total of an order that was not just sent tells nothing: it may have been another.
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

/**
 * The fields in which both ends differ, of those that the detail of an order shows (docs/interface.md). A field of which the
 * shop says nothing does not count: its query does not select the column, and review-sync never sent it. Another integration
 * may have written it, and it stays.
 */
function fieldsOfShop(
  order: DesiredOrder,
  shown: OrderDetail,
  sent: readonly string[],
  expected: readonly ContactField[],
  unit: MoneyUnit | undefined,
): FieldDifference[] {
  const { body, raw } = order;
  // The service need not have contact that the rule withholds. If it shows another value, that value stays.
  const contact = (field: ContactField) => {
    const ours = body[field];
    const theirs = shownContact(shown)[field];
    if (ours === undefined) return fieldDifference(field, ours, theirs);
    const isSame = () => isSameText(reachedBy(field, theirs), reachedBy(field, ours));
    return expected.includes(field) ? fieldDifference(field, ours, unmasked(theirs), isSame) : undefined;
  };
  const total = shown.total_price;
  const all: (FieldDifference | undefined)[] = [
    fieldDifference('code', body.code, shown.code, (theirs, ours) => isSameCode(theirs ?? '', ours ?? '')),
    fieldDifference('created_at', body.created_at, shown.created_at ?? undefined, isSameSecond),
    fieldDifference('total_price', body.total_price, total === null ? undefined : centsText(total), () =>
      isShownAs(total, body.total_price, unit),
    ),
    fieldDifference('user_code', body.user_code, shown.user_code),
    fieldDifference('user_name', body.user_name, nameOf(body, shown)),
    ...contactFields.map(contact),
  ];
  const isOfShop = (field: string) => field in raw.order || sent.includes(field);
  return all.filter((one) => one !== undefined).filter(({ field, shop }) => shop !== null || isOfShop(field));
}

/** Contact as the service shows it; undefined: the response lacks it. */
export const shownContact = ({ user_email, phone: user_phone }: OrderDetail) => ({ user_email, user_phone });

/** A service may write an e-mail address in lower case, and a phone number without its hyphens, or full-width digits as usual ones. */
function reachedBy(field: ContactField, value: string | null | undefined): string | null {
  const plain = value && plainText(value).toLowerCase();
  return (field === 'user_phone' && plain?.replace(/\D/g, '')) || plain || null;
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

/** Of the customer's name, e-mail address and phone number: only whether there is a value (promise 9). */
export const masked = <T>(field: string, value: T) => (personal.includes(field) && value ? 'a value' : value);

export const withoutPersonalData = (difference: OrderDifference): OrderDifference => ({
  ...difference,
  fields: difference.fields.map((one) => {
    return { ...one, shop: masked(one.field, one.shop), service: masked(one.field, one.service) };
  }),
});
