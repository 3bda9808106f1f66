import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ageClock, firstDecision, isYoungAt, mayCarryContact } from '../../src/orders/order/contact-rule.ts';
import { type DesiredOrder, desiredOrder } from '../../src/orders/order/desired-order.ts';

const now = new Date('2026-06-01T00:00:00Z');
const decisions = fc.constantFrom('allowed' as const, 'withheld' as const, 'forgotten' as const, null);
const policies = fc.constantFrom('young' as const, 'never' as const, 'always' as const);

describe('whether a request may carry contact', () => {
  test('without --with-email only the regular sync sends contact, of a young order that no backfill began; of a forgotten one none does', () => {
    fc.assert(
      fc.property(decisions, fc.boolean(), policies, (decision, isYoung, policy) => {
        const may = mayCarryContact(decision, isYoung, policy);
        if (decision === 'forgotten') expect(may).toBe(false);
        else if (policy === 'always') expect(may).toBe(true);
        else expect(may).toBe(policy === 'young' && isYoung && decision !== 'withheld');
      }),
    );
  });

  test('what the first push decides holds for all later ones, whichever run they belong to', () => {
    fc.assert(
      fc.property(policies, fc.boolean(), (first, isYoung) => {
        const decision = firstDecision(isYoung, first);
        expect(decision).toBe(first === 'always' || (first === 'young' && isYoung) ? 'allowed' : 'withheld');
        if (decision === 'withheld') expect(mayCarryContact(decision, true, 'young')).toBe(false);
        expect(mayCarryContact(decision, isYoung, 'never')).toBe(false);
      }),
    );
  });
});

describe('the age of an order', () => {
  test.each([
    ['2026-06-01T00:00:00Z', 30, true],
    ['2026-05-02T00:00:00Z', 30, true],
    ['2026-05-01T23:59:59Z', 30, false],
    ['2026-06-02T00:00:00Z', 30, true],
    ['2026-06-02T00:00:01Z', 30, false],
    ['2099-01-01T00:00:00Z', 30, false],
    ['2026-06-01T00:00:00Z', 0, false],
    ['2026-06-01T09:00:00Z', 0, false],
  ])('of %s is young on the first of June, with %i days: %s', (createdAt, days, isYoung) => {
    expect(isYoungAt(now, new Date(createdAt), days)).toBe(isYoung);
  });

  test('is given by the later one of two clocks, which goes on', () => {
    let machineMs = now.getTime();
    const clock = (warehouseNow: Date) => ageClock(() => new Date(machineMs), warehouseNow);
    const [ahead, behind] = [clock(new Date(now.getTime() + 9000)), clock(new Date(now.getTime() - 9000))];
    machineMs += 1000;
    expect([ahead(), behind()].map((at) => at.getTime() - now.getTime())).toEqual([10_000, 1000]);
  });
});

describe('the fingerprint', () => {
  const printOf = (user_phone: string | null, more: Record<string, string | null> = {}) => {
    const order = { code: 'A', created_at: '2026-01-01T00:00:00Z', total_price: '10', user_phone, ...more };
    return (
      desiredOrder({ order, lines: [] }, { products: new Map(), grades: new Map(), deletes: 'off' }) as DesiredOrder
    ).fingerprint;
  };
  const phone = (at: number) => `010-${String(at).padStart(8, '0')}`;

  test('covers 16 bits of a phone number: of 4,000 numbers about 122 pairs have the same, by which none can be given back', () => {
    const counts = new Map<string, number>();
    for (let at = 0; at < 4000; at += 1) counts.set(printOf(phone(at)), (counts.get(printOf(phone(at))) ?? 0) + 1);
    const pairs = [...counts.values()].reduce((sum, count) => sum + (count * (count - 1)) / 2, 0);
    // 4000 × 3999 / 2 pairs, of which one in 65,536 collides. Standard deviation 11.
    expect(pairs).toBeGreaterThan(80);
    expect(pairs).toBeLessThan(165);
  });

  test('shows that a phone number or an e-mail address was changed, set or cleared, and which of both', () => {
    const prints = [
      printOf(null),
      printOf(phone(1)),
      printOf(phone(2)),
      printOf(null, { user_email: phone(1) }),
      printOf(phone(1), { user_email: 'kim@example.com' }),
    ];
    expect(new Set(prints).size).toBe(prints.length);
  });

  test('of two numbers that collide in one order differs in most others: the bits are of the order’s code too', () => {
    const seen = new Map<string, string>();
    let pair: [string, string] | undefined;
    for (let at = 0; at < 4000 && pair === undefined; at += 1) {
      const same = seen.get(printOf(phone(at)));
      if (same !== undefined) pair = [same, phone(at)];
      seen.set(printOf(phone(at)), phone(at));
    }
    expect(pair).toBeDefined();
    const inOthers = ['B', 'C', 'D'].map((code) => (pair ?? []).map((one) => printOf(one, { code })));
    expect(inOthers.some(([one, other]) => one !== other)).toBe(true);
  });
});
