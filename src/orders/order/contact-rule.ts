import type { ContactDecision } from '../../warehouse/orders/order-links.ts';

/**
 * The run that pushes: `young`, the regular sync; `never`, a backfill or a repair; `always`, a backfill `--with-email`.
 */
export type ContactPolicy = 'young' | 'never' | 'always';

/** The fields by which a customer can be reached (promise 7). */
export const contactFields = ['user_email', 'user_phone'] as const;
export type ContactField = (typeof contactFields)[number];

const dayMs = 86_400_000;

/**
 * Whether an order is young enough for contact. One that is dated more than a day ahead is not: its real age is unknown,
 * and clocks and zones of two machines differ by less.
 *
 * @param maxAgeDays ORDER_CONTACT_MAX_AGE_DAYS; 0: no order is young, wherever the clocks stand.
 */
export function isYoungAt(now: Date, createdAt: Date, maxAgeDays: number): boolean {
  const ageMs = now.getTime() - createdAt.getTime();
  return maxAgeDays > 0 && ageMs >= -dayMs && ageMs <= maxAgeDays * dayMs;
}

/**
 * What is written down with the first lease of an order, for as long as the warehouse remembers the order. One that is
 * not young then goes without contact for as long.
 */
export function firstDecision(isYoung: boolean, policy: ContactPolicy): 'allowed' | 'withheld' {
  return mayCarryContact(null, isYoung, policy) ? 'allowed' : 'withheld';
}

/**
 * Whether a request about the order may carry the customer's e-mail address and phone number (promise 7). The service
 * may send a review request to an address that it learns, which costs money and cannot be recalled.
 *
 * @param decision written down when a push of the order first began, or by `forget`; null: no push has begun, and this
 *   run would decide.
 * @param isYoung whether the order is young at this moment.
 */
export function mayCarryContact(decision: ContactDecision, isYoung: boolean, policy: ContactPolicy): boolean {
  if (decision === 'forgotten') return false;
  if (policy !== 'young') return policy === 'always';
  return decision !== 'withheld' && isYoung;
}

/**
 * The clock by which the age of orders is judged: the later one of this machine's and the warehouse's. A clock that was
 * set back must not make old orders young (promise 7).
 */
export function ageClock(now: () => Date, warehouseNow: Date): () => Date {
  const behindMs = Math.max(0, warehouseNow.getTime() - now().getTime());
  return () => new Date(now().getTime() + behindMs);
}
