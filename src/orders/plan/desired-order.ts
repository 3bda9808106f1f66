import { hash } from 'node:crypto';
import { isUsableCode } from '../../base/codes.ts';
import { contentKey, sortedJson } from '../../base/json-text.ts';
import { type OrderBody, type SubOrderBody, type SubOrderPatch, sentAmount } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { type Order, type OrderLine, type RawRow, readOrder, readOrderLine } from '../../shop/rows.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { AlikeOrder } from '../../warehouse/orders/order-links.ts';
import { contactFields } from '../contact-rule.ts';

/** An order of the shop, checked against the contract, as it should be at the service. */
export type DesiredOrder = {
  code: string;
  order: Order;
  /** Its rows as the shop's queries give them. A row lacks a column that is not selected. */
  raw: RawOrder;
  /** The whole body, contact included; without contact if the shop has deleted the order. */
  body: OrderBody;
  /** Lines that can be pushed now. */
  lines: Line[];
  /** Lines that wait until the service's id of their product is known. */
  waiting: { lineCode: string; productCode: string }[];
  /** Lines that break the contract. Their sub-orders are not changed. Without a usable code, `lineCode` is a hash. */
  faulty: (NewDeadLetter & { lineCode: string })[];
  /** Other orders that the service may take for this one by the code. It must first show that it tells them apart. */
  alike: readonly AlikeOrder[];
  /** The shop's member grade if its id at the service is unknown. The body then has no grade. */
  unlinkedGrade: string | undefined;
  /** Hash of the desired order. It covers 16 bits of e-mail address and phone number, too few to recover them. */
  fingerprint: string;
};

export type Line = Readonly<{ lineCode: string; content: SubOrderContent }>;

/**
 * Checks the shop's rows against the contract, and builds the order that the service should have.
 *
 * @param products the known ids at the service by the shop's codes. `grades` likewise.
 * @param deletes from the rights of the push.
 * @returns a dead letter if the order itself cannot be read.
 */
export function desiredOrder(
  raw: RawOrder,
  products: ReadonlyMap<string, number>,
  grades: ReadonlyMap<string, number>,
  deletes: 'off' | 'send',
  alike: readonly AlikeOrder[] = [],
): DesiredOrder | NewDeadLetter {
  const checked = raw.fault === undefined ? readOrder(raw.order) : { fault: raw.fault };
  if ('fault' in checked) return orderDeadLetter(raw.order, checked.fault, shownFor(alike));
  const order = checked.row;
  const grade = order.userGradeCode;
  const whole = orderBody(order, grade === undefined ? undefined : grades.get(grade));
  // An order that the shop has deleted no longer has contact.
  const body = order.deletedAt ? withoutContact(whole) : whole;
  const unlinkedGrade = whole.user_grade_id === undefined ? grade : undefined;
  const read = readLines(order, raw.lines, products);
  const { lines } = read;
  // Nobody will correct a line of an order that the shop has deleted, or wait for its product.
  const { waiting, faulty } = order.deletedAt ? { waiting: [], faulty: [] } : read;
  return {
    code: order.code,
    order,
    raw,
    body,
    lines,
    waiting,
    faulty,
    alike,
    unlinkedGrade,
    fingerprint: fingerprint({
      body: withoutContact(body),
      contact: contactFields.map((field) => sixteenBits(order.code, body[field])),
      unlinkedGrade,
      lines: lines.map(({ lineCode, content }) => ({ lineCode, content: { ...content, product_code: undefined } })),
      waiting,
      faulty: faulty.map(({ key, reason }) => ({ key, reason })),
      deleted: order.deletedAt ? deletes : undefined,
    }),
  };
}

function withoutContact(body: OrderBody): OrderBody {
  const rest = { ...body };
  for (const field of contactFields) delete rest[field];
  return rest;
}

/** A 16-bit hash. It misses one change in 65,536. Too many values share each hash to recover a phone number from it. */
const sixteenBits = (code: string, value: string | null | undefined) =>
  value == null ? null : hash('sha256', JSON.stringify([code, value]), 'hex').slice(0, 4);

/** If two rows have the same line_code, nobody knows which is right: the code is one dead letter. */
function readLines(order: Order, rows: readonly RawRow[], products: ReadonlyMap<string, number>) {
  const parts: Pick<DesiredOrder, 'lines' | 'waiting' | 'faulty'> = { lines: [], waiting: [], faulty: [] };
  const codeOf = (row: RawRow) => (isUsableCode(row.line_code) ? row.line_code : contentKey(row));
  for (const [lineCode, same] of Map.groupBy(rows, codeOf)) {
    const [row = {}] = same;
    const isRepeated = same.length > 1;
    const read = isRepeated ? { fault: repeatedLine } : readOrderLine(row);
    if ('fault' in read) {
      const payload = isRepeated ? same : row;
      const key = lineKey(order.code, lineCode);
      parts.faulty.push({ kind: 'order_line', key, orderCode: order.code, reason: read.fault, payload, lineCode });
      continue;
    }
    const { productId, productCode = '' } = read.row;
    const known = productId ?? products.get(productCode);
    if (known === undefined) parts.waiting.push({ lineCode, productCode });
    else parts.lines.push({ lineCode, content: subOrderBody(read.row, known) });
  }
  return parts;
}

const repeatedLine = 'line_code is there twice in its order, expected a code that is unique in the order';

/**
 * The dead letter of an order that cannot be read, or must not be sent. If the service has shown another order for this
 * one, the dead letter keeps the other code (alike_orders.sql).
 */
export function orderDeadLetter(raw: RawRow, reason: string, shownCode?: string | null): NewDeadLetter {
  const code = raw.code ?? '';
  const payload = shownCode ? { order: raw, other_code: shownCode } : raw;
  return { kind: 'order', key: code, orderCode: code, reason, payload };
}

/** The code by which the service has shown another order for this one. */
export const shownFor = (alike: readonly AlikeOrder[]) => alike.find(({ shownCode }) => shownCode !== null)?.shownCode;

/** The key of a line's dead letter. It is unique even if a code has a slash. */
export const lineKey = (orderCode: string, lineCode: string) =>
  [orderCode, lineCode].map((code) => code.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/');

/**
 * The body of `POST /v1/orders`: all fields that the shop has, and null for fields that were sent before and that the
 * shop no longer has. While a member grade is not linked, the order keeps the grade that was sent before.
 */
export function requestBody(desired: DesiredOrder, sentFields: readonly string[], withContact: boolean): OrderBody {
  const total_price = sentAmount(desired.body.total_price, 'total_price');
  const sent: Record<string, unknown> = { ...desired.body, total_price };
  for (const field of optionalFields) {
    const waits = field === 'user_grade_id' && desired.unlinkedGrade !== undefined;
    if (sent[field] === undefined && sentFields.includes(field) && !waits) sent[field] = null;
  }
  if (!withContact) for (const field of contactFields) if (sent[field] !== null) delete sent[field];
  return sent as OrderBody;
}

/** Hash of what is pushed. Equal JSON values have equal hashes, with their keys in any order. */
export const fingerprint = (value: object): string => hash('sha256', sortedJson(value) ?? '', 'base64url');

/** The fingerprint after a push with ORDER_CONTACT_MAX_AGE_DAYS=0. Another setting causes one more push. */
export const contactStopped = (order: DesiredOrder): string => `${order.fingerprint} without contact`;

/** Fields of `POST /v1/orders` that an order may lack. */
export const optionalFields = [
  'user_code',
  'user_name',
  'user_phone',
  'user_email',
  'user_grade_id',
  'store_name',
  'order_device',
  'mileage',
] as const;

/** The body of `POST /v1/orders` (docs/interface.md, "Orders"): all fields that the shop has, contact included. */
function orderBody(order: Order, userGradeId: number | undefined): OrderBody {
  return compact({
    code: order.code,
    created_at: toTheSecond(order.createdAt),
    total_price: order.totalPrice,
    user_code: order.userCode,
    user_name: order.userName,
    user_email: order.userEmail,
    user_phone: order.userPhone,
    user_grade_id: userGradeId,
    store_name: order.storeName,
    order_device: order.orderDevice,
    mileage: order.mileage,
  });
}

/** `product_code`: the key to the product's id. It is remembered, and not sent. */
export type SubOrderContent = SubOrderBody & {
  product_options: Readonly<Record<string, string>>;
  product_code?: string | undefined;
};

/** The body of a sub-order (docs/interface.md, "Sub-orders"). Its link remembers the one that was last pushed. */
function subOrderBody(line: OrderLine, productId: number): SubOrderContent {
  return compact({
    product_id: productId,
    price: line.price,
    status: line.status,
    delivery_started_at: line.deliveryStartedAt && toTheSecond(line.deliveryStartedAt),
    delivered_at: line.deliveredAt && toTheSecond(line.deliveredAt),
    invoice: line.invoice,
    delivery_service: line.deliveryService,
    product_options: line.productOptions,
    product_code: line.productId === undefined ? line.productCode : undefined,
  });
}

/** The content of a sub-order as a request sends it. The client shortens amounts when it sends them. */
export function sentOf<Body extends SubOrderPatch>({ product_code: _, ...body }: Body & { product_code?: unknown }) {
  return body.price === undefined ? body : { ...body, price: sentAmount(body.price, 'price') };
}

/** ISO 8601 with a numeric offset and no milliseconds: "significant only to the second" (docs/interface.md). */
const toTheSecond = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, '+00:00');

/** Absent fields are left out, so that two bodies that say the same are equal as JSON. */
function compact<T extends object>(body: T): T {
  const filled: Partial<T> = {};
  for (const field of Object.keys(body) as (keyof T)[]) if (body[field] !== undefined) filled[field] = body[field];
  return filled as T;
}

/** The service may take two orders of the shop for one. The later order is not sent, whatever becomes of the other. */
export const alikeFault = (other: string) =>
  `the service may hold this code and ${JSON.stringify(other)} for one: nothing of this order is sent. ` +
  'Let orders.sql give this order a code that the service keeps as it is, and that differs from the other code in more ' +
  'than case, spaces, accents, dashes or leading zeros';
