import { isUsableCode } from '../../base/is-storable.ts';
import { type OrderBody, type OrderDetail, type SubOrderPatch, sentAmount } from '../../review-api/index.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';
import { contactFields } from '../contact-rule.ts';
import { type DesiredOrder, requestBody } from './desired-order.ts';
import { centsText, isShownAs, type MoneyUnit, moneyUnitOf } from './money.ts';
import type { OptionalField } from './order-body.ts';
import { isSameCode, isSameSecond } from './same-value.ts';
import {
  type FieldDifference,
  fieldDifference,
  type LineLink,
  type SubOrderDifference,
  subOrderDifference,
} from './sub-orders.ts';

/** What is remembered of an order and its lines. */
export type Remembered = { link: OrderLink | undefined; lines: readonly LineLink[] };

/** What a push of one order would send, and why. */
export type OrderDifference = {
  /** The service's id; undefined: the service does not have the order. */
  orderId: number | undefined;
  /** The order is to be deleted at the service; nothing else is sent. */
  isDeletion: boolean;
  /** The body of `POST /v1/orders`. */
  body: OrderBody;
  /** Fields that only the response to a first POST shows: they were never sent, and a second POST clears them. */
  clearedLast: OptionalField[];
  /** Fields of the order in which both ends differ, but for contact that the rule withholds. */
  fields: FieldDifference[];
  /** Lines of which nothing is sent, and why. */
  linesNotSent: { lineCode: string; reason: string }[];
  /** Fields of the order that are left as they are at the service, and why. */
  fieldsNotSent: { field: OptionalField; reason: string }[];
  subOrders: SubOrderDifference;
};

/**
 * @param withContact whether a request about the order may carry contact, see mayCarryContact. @param deletes
 * whether an order that the shop has deleted is deleted at the service.
 * @param isPosted whether `shown` is the response to the POST of this order.
 */
export type DifferenceRules = { withContact: boolean; deletes: 'off' | 'send'; isPosted: boolean };

/**
 * The one comparison of an order in the shop with the order as the service shows it. A push sends what it asks for;
 * `preview`, `explain`, `verify` and the dry runs show it. Pure.
 *
 * @param shown the response to the order's POST, or its detail; undefined: the service does not have the order.
 * @param untouched codes of further lines that are left as they are.
 */
export function orderDifference(
  desired: DesiredOrder,
  shown: OrderDetail | undefined,
  remembered: Remembered,
  { withContact, deletes, isPosted }: DifferenceRules,
  untouched: Iterable<string> = [],
): OrderDifference {
  const { waiting, faulty, lines } = desired;
  const notPushed = new Set([...[...waiting, ...faulty].map(({ lineCode }) => lineCode), ...untouched]);
  const pushed = lines.filter(({ lineCode }) => !notPushed.has(lineCode));
  const isSelected = (column: string) => column in (desired.raw.lines[0] ?? {});
  const links = linksOf(remembered, shown);
  const unit = shown && unitOf(desired, shown, links, isPosted);
  const found = subOrderDifference(shown?.sub_orders ?? [], pushed, links, notPushed, isSelected, unit);
  // The lines of a deleted order often go with it. The order itself is deleted, or ORDER_DELETES says that it stays.
  // A line without a usable code may be the line of any sub-order.
  const keepsAll =
    desired.order.deletedAt !== undefined || desired.raw.lines.some((row) => !isUsableCode(row.line_code));
  const subOrders = keepsAll ? { ...found, remove: [] } : found;
  const isDeleted = desired.order.deletedAt !== undefined && deletes === 'send' && shown !== undefined;
  const sentBefore = remembered.link?.sentFields ?? [];
  const clearedLast = (shown ? shownWithoutShop(desired, shown, sentBefore) : []).filter(
    (field) => !sentBefore.includes(field),
  );
  return {
    orderId: shown?.id,
    // A number of reviews that the service does not show may be any.
    isDeletion: isDeleted && shown.sub_orders.every(({ reviews_count }) => reviews_count === 0),
    body: requestBody(desired, [...sentBefore, ...clearedLast], withContact),
    clearedLast,
    fields: shown
      ? orderFieldDifferences(desired, shown, withContact, unit).filter(
          ({ field, shop }) => shop !== null || isOfShop(desired, field, sentBefore),
        )
      : [],
    linesNotSent: [
      ...waiting.map(({ lineCode, productCode }) => {
        return { lineCode, reason: `it waits until the service is known to have product ${productCode}` };
      }),
      ...faulty.map(({ lineCode, reason }) => ({ lineCode, reason: `it would be a dead letter: ${reason}` })),
    ],
    fieldsNotSent: gradeNotSent(desired),
    subOrders,
  };
}

/**
 * The unit in which the service counts the money of this order. The response to a POST shows the total that was just sent.
 * Otherwise the sub-orders tell it, whose prices are remembered as they were sent: an order that was pushed in another unit
 * by mistake is then no agreement. The total of an order that was not just sent tells nothing: it may have been another.
 */
function unitOf({ body }: DesiredOrder, shown: OrderDetail, links: readonly LineLink[], isPosted: boolean) {
  const lines = links.flatMap(({ subOrderId, content }) => {
    const subOrder = shown.sub_orders.find(({ id }) => id === subOrderId);
    return subOrder ? [{ amount: content.price, shown: subOrder.price }] : [];
  });
  const total = isPosted ? moneyUnitOf([{ amount: body.total_price, shown: shown.total_price }]) : undefined;
  return total ?? moneyUnitOf(lines);
}

const gradeNotSent = ({ unlinkedGrade: grade }: DesiredOrder): OrderDifference['fieldsNotSent'] => {
  const reason = `the grade ${grade} is not at the service yet; the order keeps the grade that was sent before, if any`;
  return grade === undefined ? [] : [{ field: 'user_grade_id', reason }];
};

/**
 * Of an order that the service has lost, or has under another id by now, only creations are left: a push may have died
 * while it made the order again.
 */
function linksOf({ link, lines }: Remembered, shown: OrderDetail | undefined): readonly LineLink[] {
  const isSameOrder = shown !== undefined && (link?.orderId == null || link.orderId === shown.id);
  return isSameOrder ? lines : lines.filter(({ subOrderId }) => subOrderId === null);
}

/** Whether a push would change something that the service shows. */
export function isDifferent({ orderId, isDeletion, fields, subOrders }: Omit<OrderDifference, 'body'>): boolean {
  const { matched, create, remove } = subOrders;
  const isShownDifferent = (all: readonly FieldDifference[]) => all.some(({ isShown }) => isShown);
  if (orderId === undefined || isDeletion || create.length + remove.length > 0 || isShownDifferent(fields)) return true;
  return matched.some((line) => line.isHidden || isShownDifferent(line.fields));
}

/** The fields of the shop that the service does not show, so that nobody can compare them: `mileage`, `lines: status`. */
export function fieldsNotShown({ fields, subOrders }: Pick<OrderDifference, 'fields' | 'subOrders'>): string[] {
  const ofLines = subOrders.matched.flatMap((line) => line.fields.filter(({ isShown }) => !isShown));
  const ofOrder = fields.filter(({ isShown }) => !isShown);
  return [...new Set([...ofOrder.map(({ field }) => field), ...ofLines.map(({ field }) => `lines: ${field}`)])];
}

/** A request as a push sends it. */
export type OrderRequest = { method: 'POST' | 'PUT' | 'DELETE'; path: string; body: object | undefined };

/** The requests of a push that may remove as many sub-orders as it has to, in their order. */
export function requestsOf(difference: OrderDifference): OrderRequest[] {
  const { orderId, isDeletion, body, clearedLast, linesNotSent, subOrders } = difference;
  if (isDeletion) return [{ method: 'DELETE', path: `/v1/orders/${orderId}`, body: undefined }];
  const path = `/v1/orders/${orderId ?? ':order_id'}/sub_orders`;
  const { matched, create } = subOrders;
  const changed = matched.filter(({ patch }) => Object.keys(patch).length > 0);
  // An order that loses all its lines at once loses none.
  const isEmptied = matched.length + create.length + linesNotSent.length === 0;
  const remove = isEmptied ? [] : subOrders.remove;
  const sent: OrderBody = { ...body, total_price: sentAmount(body.total_price, 'total_price') };
  const upsert = (sentBody: object): OrderRequest => ({ method: 'POST', path: '/v1/orders', body: sentBody });
  const isLastOnly = ([field]: [string, unknown]) => clearedLast.some((one) => one === field);
  const first = upsert(Object.fromEntries(Object.entries(sent).filter((entry) => !isLastOnly(entry))));
  // Only reading a sub-order shows whether an empty value cleared its field.
  const isReadAgain = changed.some(({ isHidden, patch }) => !isHidden && Object.values(patch).includes(null));
  return [
    first,
    ...(clearedLast.length > 0 ? [upsert(sent)] : []),
    ...changed.map((one) => ({
      method: 'PUT' as const,
      path: `${path}/${one.subOrderId}`,
      body: withSentPrice(one.patch),
    })),
    ...remove.map((one) => ({ method: 'DELETE' as const, path: `${path}/${one.subOrderId}`, body: undefined })),
    ...create.map((one) => ({ method: 'POST' as const, path, body: withSentPrice(one.content) })),
    ...(isReadAgain ? [first] : []),
  ];
}

/** The client shortens amounts when it sends them. */
const withSentPrice = <Body extends SubOrderPatch>(body: Body): Body =>
  body.price === undefined ? body : { ...body, price: sentAmount(body.price, 'price') };

/** Fields of `POST /v1/orders` that the detail of an order does not show at most services. */
const rarelyShown = ['user_grade_id', 'store_name', 'order_device', 'mileage'] as const;

function orderFieldDifferences(
  { body, unlinkedGrade }: DesiredOrder,
  shown: OrderDetail,
  withContact: boolean,
  unit: MoneyUnit | undefined,
): FieldDifference[] {
  const beyond = shown as OrderDetail & Record<string, unknown>;
  // What the rule withholds is not expected at the service; what the service shows in its place stays there.
  const contact = (field: 'user_email' | 'user_phone', theirs: string | null | undefined) =>
    withContact || body[field] === undefined ? fieldDifference(field, body[field], theirs) : undefined;
  const total = shown.total_price;
  const all: (FieldDifference | undefined)[] = [
    fieldDifference('code', body.code, shown.code, (theirs, ours) => isSameCode(theirs ?? '', ours ?? '')),
    fieldDifference('created_at', body.created_at, shown.created_at ?? undefined, isSameSecond),
    fieldDifference('total_price', body.total_price, total === null ? undefined : centsText(total), () =>
      isShownAs(total, body.total_price, unit),
    ),
    fieldDifference('user_code', body.user_code, shown.user_code),
    fieldDifference('user_name', body.user_name, nameOf(body, shown)),
    contact('user_email', shown.user_email),
    contact('user_phone', shown.phone),
    ...rarelyShown.map((field) => {
      // A grade that is not linked yet keeps what was sent before.
      if (field === 'user_grade_id' && unlinkedGrade !== undefined) return undefined;
      const theirs = beyond[field];
      return fieldDifference(field, textOf(body[field]), theirs === undefined ? undefined : textOf(theirs));
    }),
  ];
  return all.filter((one) => one !== undefined);
}

/** Some services show the account where there is no name. */
const nameOf = ({ user_name }: OrderBody, { username, user_code }: OrderDetail) =>
  user_name === undefined && username !== undefined && username === user_code ? null : username;

const textOf = (value: unknown): string | null =>
  value === undefined || value === null || value === '' ? null : String(value);

/**
 * Whether the shop says anything about the field: its query selects the column, or review-sync has sent the field. What
 * else the service has, another integration wrote: it stays.
 */
const isOfShop = ({ raw }: DesiredOrder, field: string, sentBefore: readonly string[]) =>
  (field === 'user_grade_id' ? 'user_grade_code' : field) in raw.order || sentBefore.includes(field);

/** Fields that the service shows with a value although the shop has none; a mileage of 0 may be the service's own. */
export const shownWithoutShop = (desired: DesiredOrder, shown: OrderDetail, sentBefore: readonly string[]) =>
  orderFieldDifferences(desired, shown, true, undefined)
    .filter(({ shop, service }) => shop === null && service !== null)
    .map(({ field }) => field as OptionalField)
    .filter((field) => !rarelyShown.some((one) => one === field) && isOfShop(desired, field, sentBefore));

/** The difference without values of the customer's name, e-mail address and phone number: only whether there is one. */
export function withoutPersonalData(difference: OrderDifference): Omit<OrderDifference, 'body'> {
  const { body: _, ...rest } = difference;
  const hidden = (value: string | null) => (value === null ? null : 'a value');
  const isPersonal = (field: string) => field === 'user_name' || contactFields.some((contact) => contact === field);
  const fields = rest.fields.map((one) =>
    isPersonal(one.field) ? { ...one, shop: hidden(one.shop), service: hidden(one.service) } : one,
  );
  return { ...rest, fields };
}
