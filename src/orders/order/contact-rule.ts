import type { ContactDecision } from '../../warehouse/orders/order-links.ts';

/**
 * The run that pushes: `young`, the regular sync; `never`, a backfill or a repair; `always`, a backfill `--with-email`.
 */
export type ContactPolicy = 'young' | 'never' | 'always';

/** The fields by which a customer can be reached (promise 7). */
export const contactFields = ['user_email', 'user_phone'] as const;
export type ContactField = (typeof contactFields)[number];

/** `future`: dated so far ahead that the date must be wrong. Its real age is not known. */
export type OrderAge = 'young' | 'old' | 'future';

/** Clocks and zones of two machines differ by less than a day. */
const aheadAtMostMs = 86_400_000;

/** @param maxAgeDays ORDER_CONTACT_MAX_AGE_DAYS. */
export function ageOf(createdAt: Date, now: Date, maxAgeDays: number): OrderAge {
  const ageMs = now.getTime() - createdAt.getTime();
  if (ageMs < -aheadAtMostMs) return 'future';
  return ageMs <= maxAgeDays * 86_400_000 ? 'young' : 'old';
}

/**
 * What is written down with the first lease of an order, for good. An order that is old then never goes with contact.
 */
export function firstDecision(age: OrderAge, policy: ContactPolicy): NonNullable<ContactDecision> {
  if (policy === 'always') return 'allowed';
  return policy === 'never' || age === 'old' ? 'withheld' : 'allowed';
}

/**
 * Whether a request about the order may carry the customer's e-mail address and phone number (promise 7). The service
 * may send a review request to an address that it learns, which costs money and cannot be recalled.
 *
 * @param decision written down when a push of the order first began; null: none has begun, and this run would decide.
 * @param age of the order at this moment.
 */
export function mayCarryContact(decision: ContactDecision, age: OrderAge, policy: ContactPolicy): boolean {
  if (policy !== 'young') return policy === 'always';
  return decision !== 'withheld' && age === 'young';
}

/**
 * The clock by which the age of orders is judged: the later one of this machine's and the warehouse's. A clock that was
 * set back must not make old orders young (promise 7).
 */
export function ageClock(now: () => Date, warehouseNow: Date): () => Date {
  const behindMs = Math.max(0, warehouseNow.getTime() - now().getTime());
  return () => new Date(now().getTime() + behindMs);
}
