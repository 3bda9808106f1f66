/** `young`: the regular sync; `never`: a backfill; `always`: a backfill `--with-email`. */
export type ContactPolicy = 'young' | 'never' | 'always';

/** The fields by which a customer can be reached (promise 7). */
export const contactFields = ['user_email', 'user_phone'] as const;
export type ContactField = (typeof contactFields)[number];

/** What is remembered of the contact from the last push. */
export type LastContact = {
  /**
   * Hashes of the e-mail address and the phone number that the shop had, with a dot between; `~` before one that was withheld.
   * A withheld one stays while the shop has no value. Null: the order is new, or the shop had neither.
   */
  contactHash: string | null;
  /** Whether any of it was sent to the service. */
  contactSent: boolean;
};

export type ContactFacts = {
  /** Hashes of the e-mail address and the phone number that the shop has now, with a dot between; null: it has neither. */
  hash: string | null;
  last: LastContact;
  createdAt: Date;
  /** By the clock of ages. */
  now: Date;
  /** ORDER_CONTACT_MAX_AGE_DAYS. */
  maxAgeDays: number;
  policy: ContactPolicy;
};

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
 * The clock by which the age of orders is judged: the later one of this machine's and the warehouse's. A clock that was set
 * back must not make old orders young (promise 7).
 */
export function ageClock(now: () => Date, warehouseNow: Date): () => Date {
  const behindMs = Math.max(0, warehouseNow.getTime() - now().getTime());
  return () => new Date(now().getTime() + behindMs);
}

/**
 * Whether this request may carry the order's e-mail address, and whether its phone number (promise 7). The service may send a
 * review request to an address that it learns, which costs money and cannot be recalled. The rule therefore decides at each
 * request, for each of the two, by what the request would disclose:
 *
 * - `send`: the order is young and this value was not withheld before, or `--with-email` was given.
 * - `repeat`: the order is not young, but the service was sent the same value before. It may be sent again only if the service still
 *   has it: where the order was deleted there, or the service has erased old addresses, the value would be new.
 * - `withhold`: the order is not young, or this is a backfill, and the value would be new to the service. What a backfill withheld
 *   stays withheld when the order changes later, until this value itself is replaced by another.
 */
export function decideContact(facts: ContactFacts): Record<ContactField, 'send' | 'repeat' | 'withhold'> {
  const { createdAt, now, maxAgeDays, policy } = facts;
  const isYoung = ageOf(createdAt, now, maxAgeDays) === 'young';
  const decide = (field: ContactField) => {
    const hash = hashOf(facts.hash, field);
    const before = rememberedOf(facts.last, field);
    if (hash === '' || policy === 'always') return 'send';
    const isSame = before.hash === hash || before.hash === 'any';
    if (policy === 'young' && isYoung && !(before.was === 'withheld' && isSame)) return 'send';
    return before.was === 'sent' && isSame ? 'repeat' : 'withhold';
  };
  return { user_email: decide('user_email'), user_phone: decide('user_phone') };
}

/** What to remember after a request that carried the contact fields in `sent`. @param hash as in ContactFacts. */
export function contactAfter(hash: string | null, last: LastContact, sent: readonly ContactField[]): LastContact {
  const parts = contactFields.map((field) => {
    const now = hashOf(hash, field);
    const before = rememberedOf(last, field);
    if (now !== '') return sent.includes(field) ? now : `~${now}`;
    return before.was === 'withheld' ? `~${before.hash}` : '';
  });
  const isNothing = parts.every((part) => part === '');
  return { contactHash: isNothing ? null : parts.join('.'), contactSent: sent.length > 0 };
}

/** Whether the service was sent every value that the shop has. @param hash as in ContactFacts. */
export const isContactSent = (hash: string | null, last: LastContact): boolean =>
  contactFields.every((field) => {
    const [now, before] = [hashOf(hash, field), rememberedOf(last, field)];
    return now === '' || (before.was === 'sent' && before.hash === now);
  });

const hashOf = (hash: string | null, field: ContactField): string =>
  hash?.split('.')[contactFields.indexOf(field)] ?? '';

/** `any`: it is not known which value was withheld. */
function rememberedOf({ contactHash, contactSent }: LastContact, field: ContactField) {
  if (contactHash === withheldBefore) return { was: 'withheld', hash: 'any' } as const;
  const part = hashOf(contactHash, field);
  if (part === '') return { was: 'none', hash: '' } as const;
  const isWithheld = part.startsWith('~') || !contactSent;
  return { was: isWithheld ? ('withheld' as const) : ('sent' as const), hash: part.replace('~', '') };
}

/** In place of the hashes for orders that version 0.1 sent without contact: it did not store them. */
const withheldBefore = 'withheld by 0.1';
