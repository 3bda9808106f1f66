export type ContactFacts = {
  /** What was decided when the order was first pushed; undefined when this is the first time. */
  decided: boolean | undefined;
  createdAt: Date;
  now: Date;
  /** ORDER_CONTACT_MAX_AGE_DAYS. */
  maxAgeDays: number;
  /** `young`: a recent order may; `never`: a backfill; `always`: a backfill `--with-email`. */
  policy: ContactPolicy;
};

export type ContactPolicy = 'young' | 'never' | 'always';

/**
 * May this order carry e-mail and phone? The service mails whoever it has an address of, and a mail cannot be recalled
 * (promise 7): an order that is old when it is first pushed goes without, one that went with them keeps them.
 */
export function mayCarryContact({ decided, createdAt, now, maxAgeDays, policy }: ContactFacts): boolean {
  if (policy === 'always') return true;
  if (decided !== undefined) return decided;
  return policy === 'young' && now.getTime() - createdAt.getTime() <= maxAgeDays * 86_400_000;
}
