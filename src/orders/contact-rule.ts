/** `young`: the regular sync; `never`: a backfill; `always`: a backfill `--with-email`. */
export type ContactPolicy = 'young' | 'never' | 'always';

export type ContactFacts = {
  /** Hashes of the e-mail address and the phone number that the shop has, with a dot between; null: it has neither. */
  hash: string | null;
  /** Hash of those that the shop had at the last push; null: it had neither, or the order is new, or it is not known. */
  lastHash: string | null;
  /** Whether those were sent to the service. */
  lastWasSent: boolean;
  createdAt: Date;
  now: Date;
  /** ORDER_CONTACT_MAX_AGE_DAYS. */
  maxAgeDays: number;
  policy: ContactPolicy;
};

/**
 * Whether this request may carry the order's e-mail address and phone number (promise 7). The service may send a review
 * request to an address that it learns, which costs money and cannot be recalled. The rule therefore decides at each request
 * by what the request would disclose:
 *
 * - `send`: the order is young and this contact was not withheld before, or `--with-email` was given.
 * - `repeat`: the order is old, but the service was sent the same contact before. It may be sent again only if the service
 *   still has the order: to an order that was deleted there the contact would be new.
 * - `withhold`: the order is old, or this is a backfill, and the contact would be new to the service. What a backfill
 *   withheld stays withheld when the order changes later, until the contact itself changes.
 */
export function decideContact(facts: ContactFacts): 'send' | 'repeat' | 'withhold' {
  const { hash, lastHash, lastWasSent, createdAt, now, maxAgeDays, policy } = facts;
  if (hash === null || policy === 'always') return 'send';
  const isYoung = now.getTime() - createdAt.getTime() <= maxAgeDays * 86_400_000;
  const wasWithheld = !lastWasSent && (lastHash === withheldBefore || bringsNothingNew(hash, lastHash));
  if (policy === 'young' && isYoung && !wasWithheld) return 'send';
  return lastWasSent && hash === lastHash ? 'repeat' : 'withhold';
}

/** Whether the shop had each value at the last push already: an e-mail address that was cleared does not make the phone new. */
function bringsNothingNew(hash: string, lastHash: string | null): boolean {
  const before = lastHash?.split('.') ?? [];
  return hash.split('.').every((value, at) => value === '' || value === before[at]);
}

/** In place of the hash for orders that version 0.1 sent without contact: it did not store the hash. */
const withheldBefore = 'withheld by 0.1';
