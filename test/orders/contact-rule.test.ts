import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ageClock, firstDecision, mayCarryContact } from '../../src/orders/contact-rule.ts';
import { triggers } from '../../src/warehouse/runs/runs.ts';
import { usualRights } from '../harness/sync-orders.ts';

const now = new Date('2026-06-01T00:00:00Z');
const decisions = fc.constantFrom('allowed' as const, 'withheld' as const, 'forgotten' as const, null);
const young = new Date('2026-05-15T00:00:00Z');
const ages = fc.constantFrom(young, new Date('2026-04-01T00:00:00Z'));
const rights = fc.record({
  allowRemovals: fc.boolean(),
  contactMaxAgeDays: fc.constantFrom(0, 30),
  deletes: fc.constantFrom('off' as const, 'send' as const),
  createdIn: fc.constant(usualRights.createdIn),
  trigger: fc.constantFrom(...triggers),
});
const ofYoungOrders = ['sync', 'rescan', 'retry', 'show'];

describe('whether a request may carry contact', () => {
  test('only the regular sync, or --with-email, sends contact; none of a forgotten order', () => {
    fc.assert(
      fc.property(decisions, ages, rights, (decision, createdAt, given) => {
        const { trigger, contactMaxAgeDays } = given;
        const may = mayCarryContact({ decision, createdAt, now }, given);
        if (decision === 'forgotten' || contactMaxAgeDays === 0) expect(may).toBe(false);
        else if (trigger === 'backfill with e-mail') expect(may).toBe(true);
        else expect(may).toBe(ofYoungOrders.includes(trigger) && createdAt === young && decision !== 'withheld');
      }),
    );
  });

  test('--with-email sends the contact of orders created on the days it was given', () => {
    const days = [Date.parse('2026-04-01') / 1000, Date.parse('2026-04-03') / 1000] as const;
    const may = (createdAt: string, [start, end]: readonly (number | undefined)[] = days) =>
      mayCarryContact(
        { decision: 'withheld', createdAt: new Date(createdAt), now },
        { ...usualRights, trigger: 'backfill with e-mail', createdIn: { start, end } as typeof usualRights.createdIn },
      );
    const at = ['2026-03-31T23:59:59Z', '2026-04-01T00:00:00Z', '2026-04-02T23:59:59.999Z', '2026-04-03T00:00:00Z'];
    expect(at.map((one) => may(one))).toEqual([false, true, true, false]);
    expect(at.map((one) => may(one, [days[0], undefined]))).toEqual([false, true, true, true]);
    expect(at.map((one) => may(one, [undefined, days[1]]))).toEqual([true, true, true, false]);
  });

  test('what the first push decides holds for those of all later runs', () => {
    fc.assert(
      fc.property(ages, rights, (createdAt, given) => {
        const decision = firstDecision({ createdAt, now }, given);
        expect(decision === 'allowed').toBe(mayCarryContact({ decision: null, createdAt, now }, given));
        const later = (trigger: (typeof triggers)[number]) =>
          mayCarryContact({ decision, createdAt: young, now }, { ...usualRights, trigger });
        if (decision === 'withheld') expect(ofYoungOrders.some((one) => later(one as 'sync'))).toBe(false);
        expect(later('backfill')).toBe(false);
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
    const question = { decision: null, createdAt: new Date(createdAt), now };
    expect(mayCarryContact(question, { ...usualRights, contactMaxAgeDays: days })).toBe(isYoung);
  });

  test('is given by the later one of two clocks, which goes on', () => {
    let machineMs = now.getTime();
    const clock = (warehouseNow: Date) => ageClock(() => new Date(machineMs), warehouseNow);
    const [ahead, behind] = [clock(new Date(now.getTime() + 9000)), clock(new Date(now.getTime() - 9000))];
    machineMs += 1000;
    expect([ahead(), behind()].map((at) => at.getTime() - now.getTime())).toEqual([10_000, 1000]);
  });
});
