import { hash } from 'node:crypto';
import type { OrderBody } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import {
  isTooLong,
  isUsableCode,
  type Order,
  type RawRow,
  readOrder,
  readOrderLine,
  tooLong,
} from '../../shop/rows.ts';
import { keyOf, type NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';
import { type ContactPolicy, contactFields } from './contact-rule.ts';
import { fingerprint } from './fingerprint.ts';
import { optionalFields, orderBody, subOrderBody } from './order-body.ts';
import type { Line } from './sub-orders.ts';

/** What a push is allowed to do. `allowRemovals`: remove beyond the day's allowance, and all lines of an order. */
export type PushPolicy = { contact: ContactPolicy; allowRemovals: boolean };

/** An order of the shop, checked against the contract, as it should be at the service. */
export type DesiredOrder = {
  code: string;
  order: Order;
  /** The whole body, contact included; without contact where the shop has deleted the order. */
  body: OrderBody;
  /** Lines that can be pushed now. */
  lines: Line[];
  /** Lines whose product the service is not known to have yet. */
  waiting: { lineCode: string; productCode: string }[];
  /** Lines that break the contract. Their sub-orders are not changed. */
  faulty: (NewDeadLetter & { lineCode: string })[];
  /**
   * The shop's member grade, where the service is not known to have it: it is no part of the body or the fingerprint.
   */
  unlinkedGrade: string | undefined;
  /** Hash of all that is wanted. Of e-mail address and phone number it covers 16 bits, too few to give one back. */
  fingerprint: string;
};

/** `products`, `grades`: the service's ids of the shop's codes, as far as they are known. `deletes`: ORDER_DELETES. */
export type WishFacts = {
  products: ReadonlyMap<string, number>;
  grades: ReadonlyMap<string, number>;
  deletes: 'off' | 'send';
};

/**
 * Checks what the shop gave against the contract, and makes of it what the service should have.
 *
 * @returns a dead letter where the order itself cannot be read.
 */
export function desiredOrder(raw: RawOrder, facts: WishFacts): DesiredOrder | NewDeadLetter {
  if (raw.fault !== undefined) return orderDeadLetter(raw.order, raw.fault);
  if (isTooLong(raw.order.code)) return orderDeadLetter(raw.order, tooLong('code', raw.order.code));
  const read = readOrder(raw.order);
  if ('fault' in read) return orderDeadLetter(raw.order, read.fault);
  const order = read.row;
  const grade = order.userGradeCode;
  const whole = orderBody(order, grade === undefined ? undefined : facts.grades.get(grade));
  // An order that the shop has deleted has no contact any more.
  const { user_email: _, user_phone: __, ...withoutContact } = whole;
  const body: OrderBody = order.deletedAt ? withoutContact : whole;
  const parts = readLines(order, raw.lines, facts);
  const { lines, waiting, faulty } = parts;
  return {
    code: order.code,
    order,
    body,
    ...parts,
    unlinkedGrade: whole.user_grade_id === undefined ? grade : undefined,
    fingerprint: fingerprint({
      body: { ...body, user_email: undefined, user_phone: undefined },
      contact: contactFields.map((field) => sixteenBits(order.code, body[field])),
      lines,
      waiting,
      faulty: faulty.map(({ key, reason }) => ({ key, reason })),
      deleted: order.deletedAt ? facts.deletes : undefined,
    }),
  };
}

/** Shows a change of the value but for one in 65,536, and fits 65,536 times too many phone numbers to give one back. */
const sixteenBits = (code: string, value: string | null | undefined) =>
  value == null ? null : hash('sha256', JSON.stringify([code, value]), 'hex').slice(0, 4);

function readLines(
  order: Order,
  rows: readonly RawRow[],
  facts: WishFacts,
): Pick<DesiredOrder, 'lines' | 'waiting' | 'faulty'> {
  const parts: Pick<DesiredOrder, 'lines' | 'waiting' | 'faulty'> = { lines: [], waiting: [], faulty: [] };
  const codes = new Set(rows.map((row) => row.line_code));
  const used = new Set<string>();
  for (const row of inStableOrder(rows, codes.size)) {
    const code = isUsableCode(row.line_code) ? row.line_code : keyOf(row);
    const lineCode = used.has(code) ? unusedCode(code, used, codes) : code;
    used.add(lineCode);
    const read = lineCode === code ? readLine(row) : { fault: repeatedLine };
    if ('fault' in read) parts.faulty.push(lineDeadLetter(order, row, lineCode, read.fault));
    else {
      const { productId, productCode = '' } = read.row;
      const known = productId ?? facts.products.get(productCode);
      if (known === undefined) parts.waiting.push({ lineCode, productCode });
      else parts.lines.push({ lineCode, content: subOrderBody(read.row, known) });
    }
  }
  return parts;
}

const repeatedLine = 'line_code is there twice in its order, expected a code that is unique in the order';

function unusedCode(code: string, used: ReadonlySet<string>, codes: ReadonlySet<string | null | undefined>): string {
  for (let number = 2; ; number += 1) {
    const numbered = `${code}#${number}`;
    if (!used.has(numbered) && !codes.has(numbered)) return numbered;
  }
}

function readLine(row: RawRow): ReturnType<typeof readOrderLine> {
  const long = (['line_code', 'product_code'] as const).find((column) => isTooLong(row[column]));
  return long === undefined ? readOrderLine(row) : { fault: tooLong(long, row[long] ?? '') };
}

/** Of two lines with one code the same one is pushed each time, whatever order the database gives them in. */
function inStableOrder(rows: readonly RawRow[], codes: number): readonly RawRow[] {
  if (codes === rows.length) return rows;
  const textOf = (row: RawRow) => JSON.stringify(row);
  return rows.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

/** The dead letter of an order that cannot be read. One without a usable code is closed by the nightly check alone. */
export function orderDeadLetter(raw: RawRow, reason: string): NewDeadLetter {
  const code = isUsableCode(raw.code) ? raw.code : undefined;
  return { kind: 'order', key: code ?? keyOf(raw), order_code: code, reason, payload: raw };
}

export const lineKey = (orderCode: string, lineCode: string) => `${orderCode}/${lineCode}`;

function lineDeadLetter({ code }: Order, row: RawRow, lineCode: string, reason: string) {
  const key = lineKey(code, lineCode);
  return { kind: 'order_line' as const, key, order_code: code, reason, payload: row, lineCode };
}

/** Whether a push would change nothing: the order was last pushed as it is in the shop now, and it is not due. */
export function isUnchanged(desired: DesiredOrder, link: OrderLink | undefined, policy: PushPolicy): boolean {
  const { unlinkedGrade, body } = desired;
  if (!link || link.fingerprint !== desired.fingerprint || link.isDue) return false;
  if (policy.allowRemovals && link.dueAt !== null) return false;
  // A push records the code of the grade: once the grade is linked, the order is due.
  if (unlinkedGrade !== undefined && unlinkedGrade !== link.userGradeCode) return false;
  if (policy.contact !== 'always') return true;
  return contactFields.every((field) => body[field] === undefined || link.sentFields.includes(field));
}

/** Whether the shop has deleted the order before any push of it began: the service need not hear of it. */
export const isNotForService = ({ order }: DesiredOrder, link: OrderLink | undefined): boolean =>
  order.deletedAt !== undefined && (link === undefined || link.contact === null);

/**
 * The body of `POST /v1/orders`: all fields that the shop has, and null for those that the service was sent before and
 * that the shop does not have any more. A member grade that is not linked yet keeps what was sent before.
 */
export function requestBody(desired: DesiredOrder, sentFields: readonly string[], withContact: boolean): OrderBody {
  const sent: Record<string, unknown> = { ...desired.body };
  for (const field of optionalFields) {
    const waits = field === 'user_grade_id' && desired.unlinkedGrade !== undefined;
    if (sent[field] === undefined && sentFields.includes(field) && !waits) sent[field] = null;
  }
  if (!withContact) for (const field of contactFields) if (sent[field] !== null) delete sent[field];
  return sent as OrderBody;
}

/** Which optional fields the service holds after this request, as far as we know. */
export function sentFieldsAfter(before: readonly string[], sent: OrderBody): string[] {
  return optionalFields.filter((field) => (sent[field] === undefined ? before.includes(field) : sent[field] !== null));
}
