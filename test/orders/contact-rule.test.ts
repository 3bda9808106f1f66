import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ageClock,
  type ContactField,
  contactAfter,
  contactFields,
  decideContact,
} from '../../src/orders/order/contact-rule.ts';

const now = new Date('2026-06-01T00:00:00Z');
const day = 86_400_000;
const never = { contactHash: null, contactSent: false };

type Push = { email: string; phone: string; ageDays: number; policy: 'young' | 'never' | 'always'; isThere: boolean };

/** What a row of pushes discloses to the service, beside what each push was allowed to. */
function disclosed(pushes: readonly Push[]) {
  let last: { contactHash: string | null; contactSent: boolean } = never;
  return pushes.map(({ email, phone, ageDays, policy, isThere }) => {
    const hash = email === '' && phone === '' ? null : `${email}.${phone}`;
    const createdAt = new Date(now.getTime() - ageDays * day);
    const decisions = decideContact({ hash, last, createdAt, now, maxAgeDays: 30, policy });
    const values: Record<ContactField, string> = { user_email: email, user_phone: phone };
    const sent = contactFields.filter(
      (field) => values[field] !== '' && (decisions[field] === 'send' || (decisions[field] === 'repeat' && isThere)),
    );
    last = contactAfter(hash, last, sent);
    return { sent, values, policy, ageDays };
  });
}

const push = fc.record<Push>({
  email: fc.constantFrom('', 'a', 'b'),
  phone: fc.constantFrom('', '1', '2'),
  ageDays: fc.constantFrom(0, 30, 31, 400),
  policy: fc.constantFrom('young', 'never', 'always'),
  isThere: fc.boolean(),
});

test('no push of an old order and no backfill discloses a value that the push before did not send, unless --with-email', () => {
  fc.assert(
    fc.property(fc.array(push, { maxLength: 6 }), (pushes) => {
      const done = disclosed(pushes);
      for (const [at, { sent, values, policy, ageDays }] of done.entries()) {
        if (policy === 'always' || (policy === 'young' && ageDays <= 30)) continue;
        const before = done[at - 1];
        for (const field of sent) {
          expect(before?.sent).toContain(field);
          expect(before?.values[field]).toBe(values[field]);
        }
      }
    }),
  );
});

test('a value that a backfill withheld is not sent by later syncs, whatever else of the order changes', () => {
  fc.assert(
    fc.property(fc.array(push, { maxLength: 5 }), fc.constantFrom(...contactFields), (pushes, field) => {
      const fixed = field === 'user_email' ? { email: 'a' } : { phone: '1' };
      const gone = field === 'user_email' ? { email: '' } : { phone: '' };
      const first: Push = { email: 'a', phone: '1', ageDays: 0, policy: 'never', isThere: true };
      // The value goes and returns, the other one changes.
      const later = pushes.map((one, at): Push => ({ ...one, policy: 'young', ...(at % 2 === 0 ? gone : fixed) }));
      for (const { sent } of disclosed([first, ...later])) expect(sent).not.toContain(field);
    }),
  );
});

test('a young order of the regular sync goes with its contact, on the last day too', () => {
  const decide = (createdAt: string) =>
    decideContact({ hash: 'a.', last: never, createdAt: new Date(createdAt), now, maxAgeDays: 30, policy: 'young' });
  expect(decide('2026-05-02T00:00:00Z').user_email).toBe('send');
  expect(decide('2026-05-01T23:59:59Z').user_email).toBe('withhold');
});

test('an order dated up to a day ahead is young, and one dated later is not', () => {
  const decide = (createdAt: string) =>
    decideContact({ hash: 'a.', last: never, createdAt: new Date(createdAt), now, maxAgeDays: 30, policy: 'young' });
  expect(decide('2026-06-02T00:00:00Z').user_email).toBe('send');
  expect(decide('2026-06-02T00:00:01Z').user_email).toBe('withhold');
  expect(decide('2099-01-01T00:00:00Z').user_email).toBe('withhold');
});

test('a value that a backfill withheld and another value replaced is sent to a young order when it returns', () => {
  const young = { phone: '', ageDays: 0, isThere: true } as const;
  const pushes = disclosed([
    { ...young, email: 'a', policy: 'never' },
    { ...young, email: 'a', policy: 'young' },
    { ...young, email: 'b', policy: 'young' },
    { ...young, email: 'a', policy: 'young' },
  ]);
  expect(pushes.map(({ sent }) => sent)).toEqual([[], [], ['user_email'], ['user_email']]);
});

test('the clock of ages is the later one of two, and goes on', () => {
  let machineMs = now.getTime();
  const clock = (warehouseNow: Date) => ageClock(() => new Date(machineMs), warehouseNow);
  const [ahead, behind] = [clock(new Date(now.getTime() + 9000)), clock(new Date(now.getTime() - 9000))];
  machineMs += 1000;
  expect([ahead(), behind()].map((at) => at.getTime() - now.getTime())).toEqual([10_000, 1000]);
});

test('with --with-email everything is sent, and what was withheld by version 0.1 by nothing else', () => {
  const facts = { hash: 'a.1', last: { contactHash: 'withheld by 0.1', contactSent: false }, createdAt: now, now };
  const all = { user_email: 'send', user_phone: 'send' };
  expect(decideContact({ ...facts, maxAgeDays: 30, policy: 'always' })).toEqual(all);
  const none = { user_email: 'withhold', user_phone: 'withhold' };
  expect(decideContact({ ...facts, maxAgeDays: 30, policy: 'young' })).toEqual(none);
});
