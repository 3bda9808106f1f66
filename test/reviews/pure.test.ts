import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextStep } from '../../src/reviews/next-step.ts';
import { planWindows } from '../../src/reviews/plan-windows.ts';
import { windowLimits } from '../../src/reviews/window.ts';
import { gaps, localPeriod, type Span, startOfDay } from '../../src/span.ts';

const second = fc.integer({ min: 1_000_000_000, max: 2_000_000_000 });
const span = fc
  .tuple(second, fc.integer({ min: 0, max: 500_000_000 }))
  .map(([start, length]): Span => ({ start, end: start + length }));
const share = fc.double({ min: 0, max: 1, noNaN: true });
const holds = (spans: readonly Span[], at: number) => spans.some((one) => one.start <= at && at <= one.end);

describe('planWindows', () => {
  test('each window is within the limit, and neighbours share their boundary second', () => {
    fc.assert(
      fc.property(span, (wanted) => {
        const windows = planWindows(wanted);
        expect(windows.every((one) => one.end - one.start <= windowLimits.seconds)).toBe(true);
        expect(windows[0]?.start).toBe(wanted.start);
        expect(windows.at(-1)?.end).toBe(wanted.end);
        for (const [index, one] of windows.slice(1).entries()) expect(one.start).toBe(windows[index]?.end);
      }),
    );
  });

  test('windows and what was covered hold every second of what is wanted', () => {
    fc.assert(
      fc.property(span, fc.array(span, { maxLength: 6 }), share, (wanted, covered, part) => {
        const at = wanted.start + Math.floor((wanted.end - wanted.start) * part);
        expect(holds([...planWindows(wanted, covered), ...covered], at)).toBe(true);
      }),
    );
  });

  test('a window from midnight to midnight touches at most 45 calendar days', () => {
    const day = (text: string) => startOfDay(text, 'Asia/Seoul') ?? 0;
    for (const one of planWindows({ start: day('2026-01-01'), end: day('2027-01-01') })) {
      expect((one.end - one.start) / 86_400 + 1).toBeLessThanOrEqual(45);
    }
  });
});

describe('nextStep', () => {
  const page = { count: 100, lastPage: 7, ordered: true, lastSecond: 50 };
  const span = { start: 10, end: 90 };

  test('a first page is gone on from its last second, which is always later than where it began', () => {
    expect(nextStep(span, page, 100)).toEqual({ kind: 'goOn', from: 50 });
    expect(nextStep(span, { ...page, lastSecond: 95 }, 100)).toEqual({ kind: 'goOn', from: 90 });
    expect(nextStep(span, { ...page, lastSecond: 10 }, 100)).toEqual({ kind: 'dense' });
    expect(nextStep({ start: 10, end: 11 }, { ...page, lastSecond: 11 }, 100)).toEqual({ kind: 'dense' });
  });

  test('the order of the dates is checked, not assumed', () => {
    expect(nextStep(span, { ...page, ordered: false }, 100)).toEqual({ kind: 'unordered' });
    expect(nextStep(span, { ...page, lastSecond: undefined }, 100)).toEqual({ kind: 'unordered' });
  });

  test('the end is what is told, or a page that is not full; an empty page of several is no end', () => {
    expect(nextStep(span, { ...page, count: 30, lastPage: 1 }, 100)).toEqual({ kind: 'done' });
    expect(nextStep(span, { ...page, count: 30, lastPage: 2 }, 100)).toEqual({ kind: 'goOn', from: 50 });
    expect(nextStep(span, { ...page, count: 100, lastPage: 1 }, 100)).toEqual({ kind: 'goOn', from: 50 });
    expect(nextStep(span, { ...page, count: 0, lastPage: undefined }, 0)).toEqual({ kind: 'done' });
    expect(() => nextStep(span, { ...page, count: 0 }, 100)).toThrow('empty first page');
  });
});

describe('gaps and local periods', () => {
  test('a gap shares its boundary seconds with what lies beside it', () => {
    const covered = [
      { start: 20, end: 30 },
      { start: 30, end: 50 },
    ];
    expect(gaps({ start: 0, end: 100 }, covered)).toEqual([
      { start: 0, end: 20 },
      { start: 50, end: 100 },
    ]);
    expect(gaps({ start: 10, end: 20 }, [{ start: 0, end: 100 }])).toEqual([]);
    expect(gaps({ start: 5, end: 5 }, [])).toEqual([{ start: 5, end: 5 }]);
  });

  test('an hour that daylight saving repeats is asked for whole, from both sides', () => {
    // 01:00 to 02:00 of 2026-11-01 happens twice in New York: first at UTC-4, then at UTC-5.
    const inside = Date.parse('2026-11-01T05:30:00Z') / 1000;
    expect(localPeriod({ start: inside, end: inside }, 'America/New_York')).toEqual({
      start: '2026-11-01 00:30:00',
      end: '2026-11-01 02:00:00',
    });
    expect(localPeriod({ start: inside, end: inside }, 'Asia/Seoul')).toEqual({
      start: '2026-11-01 14:30:00',
      end: '2026-11-01 14:30:00',
    });
  });
});
