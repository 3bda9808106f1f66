import { createHash } from 'node:crypto';
import type { OrderBody } from '../../review-api/index.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';
import { type ContactField, type ContactPolicy, contactFields, decideContact, isContactSent } from './contact-rule.ts';
import { fingerprint } from './fingerprint.ts';
import { optionalFields, orderBody } from './order-body.ts';
import type { PreparedOrder } from './prepare-order.ts';

/** What a push is allowed to do. */
export type PushPolicy = {
  contact: ContactPolicy;
  /**
   * `usual`: nothing is removed, and the push takes note of what is to be removed; `approved`: what was noted is removed, because
   * the run would not remove more than usual; `all`: everything is removed, because `--allow-removals` was given.
   */
  removals: 'usual' | 'approved' | 'all';
};

/** An order as the shop wants it to be at the service. */
export type DesiredOrder = {
  prepared: PreparedOrder;
  /** The whole body, contact included: what of it is sent is decided for each request. */
  body: OrderBody;
  /** Hashes of e-mail address and phone number, see decideContact; null where the shop has neither. */
  contactHash: string | null;
  /** Hash of all that is wanted. It does not depend on what the contact rule lets through today. */
  fingerprint: string;
  /** The shop's member grade, where the service is not known to have it: it is no part of the body or the fingerprint. */
  unlinkedGrade: string | undefined;
};

/** @param gradeIds the service's ids of the shop's member grades. */
export function desiredOrder(prepared: PreparedOrder, gradeIds: ReadonlyMap<string, number>): DesiredOrder {
  const { order, lines, waiting, faulty } = prepared;
  const body = orderBody(order, order.userGradeCode === undefined ? undefined : gradeIds.get(order.userGradeCode));
  const unlinkedGrade = body.user_grade_id === undefined ? order.userGradeCode : undefined;
  return {
    unlinkedGrade,
    prepared,
    body,
    contactHash: contactHash(body),
    fingerprint: fingerprint({
      body,
      lines,
      waiting,
      faulty: faulty.map(({ key, reason }) => ({ key, reason })),
      deleted: order.deletedAt ? true : undefined,
    }),
  };
}

/**
 * Whether a push would change nothing: the order was last pushed as it is in the shop now, and if that failed, the time to
 * try again has not come. Then it costs no request.
 */
export function isUnchanged(
  desired: Pick<DesiredOrder, 'fingerprint' | 'contactHash' | 'unlinkedGrade'>,
  link: OrderLink | undefined,
  policy: PushPolicy,
): boolean {
  if (!link || link.fingerprint !== desired.fingerprint || link.isRetryDue) return false;
  // A push records the code: once the grade is linked, ordersToRevisit finds the order by it.
  if (desired.unlinkedGrade !== undefined && desired.unlinkedGrade !== link.userGradeCode) return false;
  if (policy.contact === 'always' && !isContactSent(desired.contactHash, link)) return false;
  if (policy.removals === 'approved') return link.removalsWanted === 0;
  return policy.removals === 'usual' || link.failures === 0;
}

/** Whether the order is deleted in the shop, and stays at the service or was never there. @param deletes ORDER_DELETES. */
export const isDeletedAndKept = (
  { prepared }: DesiredOrder,
  link: OrderLink | undefined,
  deletes: 'off' | 'send',
): boolean => prepared.order.deletedAt !== undefined && (deletes === 'off' || link === undefined);

/** What the contact rule says about each contact field of an order. @param link what is remembered of it. */
export function contactDecisions(
  { now, contactMaxAgeDays: maxAgeDays }: { now: () => Date; contactMaxAgeDays: number },
  { contactHash: hash, prepared }: DesiredOrder,
  link: OrderLink | undefined,
  policy: ContactPolicy,
): ReturnType<typeof decideContact> {
  const last = link ?? { contactHash: null, contactSent: false };
  return decideContact({ hash, last, createdAt: prepared.order.createdAt, now: now(), maxAgeDays, policy });
}

/**
 * The body of one request.
 *
 * @param options.contact which contact fields the request may carry.
 * @param options.clear fields to send as an empty value, so that the service forgets what it has.
 */
export function requestBody(
  { body }: DesiredOrder,
  options: { contact: readonly ContactField[]; clear: readonly string[] },
): OrderBody {
  const sent: Record<string, unknown> = { ...body };
  for (const field of contactFields) if (!options.contact.includes(field)) delete sent[field];
  for (const field of options.clear) sent[field] = null;
  return sent as OrderBody;
}

/** Fields that were sent with a value before and have none in the shop any more. */
export function fieldsToClear({ body, unlinkedGrade }: DesiredOrder, sentFields: readonly string[]): string[] {
  // A grade that is not linked yet has no id, but the shop has one.
  const isWaitingForGrade = unlinkedGrade !== undefined;
  return optionalFields.filter(
    (field) =>
      sentFields.includes(field) && body[field] === undefined && !(field === 'user_grade_id' && isWaitingForGrade),
  );
}

/** Which optional fields the service holds after this request, as far as we know. */
export function sentFieldsAfter(before: readonly string[], sent: OrderBody): string[] {
  return optionalFields.filter((field) => (sent[field] === undefined ? before.includes(field) : sent[field] !== null));
}

/**
 * Hashes of e-mail address and phone number, with a dot between; an empty one where the shop has none. Salted with the order's
 * code, so that the same address of two orders does not look the same.
 */
function contactHash(body: OrderBody): string | null {
  if (body.user_email === undefined && body.user_phone === undefined) return null;
  const hashOf = (value: string | null | undefined) =>
    value == null
      ? ''
      : createHash('sha256')
          .update(JSON.stringify([body.code, value]))
          .digest('base64url');
  return `${hashOf(body.user_email)}.${hashOf(body.user_phone)}`;
}
