import type { OpenSpan } from '../base/time/day-range.ts';
import { secondOf } from '../base/time/span.ts';
import type { ContactDecision } from '../warehouse/orders/order-links.ts';
import type { RunRights, Trigger } from '../warehouse/runs/runs.ts';
import { dayMs } from './limits.ts';

/**
 * The fields that let somebody reach a customer (promise 7). The rule below decides when they are sent: a field that is
 * not on this list is always sent. `orderBody` (plan/desired-order.ts) says which fields are ever sent.
 */
export const contactFields = ['user_email', 'user_phone'] as const;
export type ContactField = (typeof contactFields)[number];

export const isContactField = (field: string): field is ContactField => contactFields.some((one) => one === field);

/**
 * Which orders may carry contact. `young`: orders younger than ORDER_CONTACT_MAX_AGE_DAYS that no earlier push has withheld.
 * `never`: none. `always`: the orders of the days that a person named.
 */
type ContactPolicy = 'young' | 'never' | 'always';

/** By the reason of the push. This table is the only place that decides it: callers name their trigger. */
const contactOf: Readonly<Record<Trigger, ContactPolicy>> = {
  sync: 'young',
  rescan: 'young',
  backfill: 'never',
  'backfill with e-mail': 'always',
  repair: 'never',
  retry: 'young',
  // Nobody has said yet that customers may be mailed.
  'retry before the first sync': 'never',
  // A preview shows what the next `sync orders` would send.
  show: 'young',
};

/**
 * What a push may do: the stricter of the run's rights and the process's settings. `createdIn`: the days of creation
 * that a person named for a backfill or a repair; otherwise all days.
 */
export type PushRights = Readonly<
  Pick<RunRights, 'trigger' | 'allowRemovals' | 'contactMaxAgeDays' | 'deletes'> & { createdIn: OpenSpan }
>;

/** With ORDER_CONTACT_MAX_AGE_DAYS=0 a process sends no contact for any trigger. This setting alone stops mails. */
export const contactPolicy = (rights: Pick<PushRights, 'trigger' | 'contactMaxAgeDays'>): ContactPolicy =>
  rights.contactMaxAgeDays <= 0 ? 'never' : contactOf[rights.trigger];

/** `decision`: null if no push of the order has begun yet. */
export type ContactQuestion = { decision: ContactDecision; createdAt: Date; now: Date };

/**
 * Whether a request about the order may carry the customer's e-mail address and phone number (promise 7). The service
 * may send a review request to an address that it learns, which costs money and cannot be recalled.
 */
export function mayCarryContact({ decision, createdAt, now }: ContactQuestion, rights: PushRights): boolean {
  if (decision === 'forgotten') return false;
  const policy = contactPolicy(rights);
  const { start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY } = rights.createdIn;
  const at = secondOf(createdAt);
  switch (policy) {
    case 'never':
      return false;
    case 'always':
      // A queue step may name any order. Orders of days that the person did not name are sent without contact.
      return at >= start && at < end;
    case 'young': {
      // The real age of an order that is dated ahead is unknown. Clocks and zones of two machines differ by less than a day.
      const ageMs = now.getTime() - createdAt.getTime();
      return decision !== 'withheld' && ageMs >= -dayMs && ageMs <= rights.contactMaxAgeDays * dayMs;
    }
    default:
      return policy satisfies never;
  }
}

/**
 * The decision that the first lease of an order records. It stays as long as the order is remembered, unless
 * `isDecidedForGood` or `forget` replaces it.
 */
export const firstDecision = (order: Omit<ContactQuestion, 'decision'>, rights: PushRights): 'allowed' | 'withheld' =>
  mayCarryContact({ ...order, decision: null }, rights) ? 'allowed' : 'withheld';

/**
 * Whether `withheld` replaces an earlier `allowed` as long as no push is recorded. A person may have stopped a sync
 * that mails, and then runs a backfill or sets ORDER_CONTACT_MAX_AGE_DAYS=0 so that nobody else is mailed.
 */
export const isDecidedForGood = ({ trigger, contactMaxAgeDays }: PushRights): boolean =>
  trigger === 'backfill' || contactMaxAgeDays <= 0;

/** Whether contact is sent at any age and after any decision. If so, an unchanged order is pushed to send it. */
export const isContactAskedFor = (order: ContactQuestion, rights: PushRights): boolean =>
  contactPolicy(rights) === 'always' && mayCarryContact(order, rights);

/** Whether this push leaves contact out that the next `sync orders` may send. */
export const isContactLeftToSync = (order: ContactQuestion, rights: PushRights): boolean =>
  contactPolicy(rights) === 'never' && mayCarryContact(order, { ...rights, trigger: 'sync' });

/**
 * The clock that measures the age of orders: this machine's or the warehouse's, the later one. A clock that was set
 * back must not make old orders young (promise 7).
 */
export function ageClock(now: () => Date, warehouseNow: Date): () => Date {
  const behindMs = Math.max(0, warehouseNow.getTime() - now().getTime());
  return () => new Date(now().getTime() + behindMs);
}
