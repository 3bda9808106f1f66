import fc from 'fast-check';
import { expect, test } from 'vitest';
import { earliestLocalFrom, instantOfLocal, localOfInstant } from '../../src/shop/local-time.ts';

const newYork = 'America/New_York';

test('a local date is read in its zone, to the microsecond', () => {
  expect(instantOfLocal('2026-01-15T10:00:00.000004', newYork)).toBe('2026-01-15T15:00:00.000004Z');
  expect(instantOfLocal('2026-07-15T10:00:00.5', newYork)).toBe('2026-07-15T14:00:00.5Z');
  expect(instantOfLocal('2026-07-15T10:00:00', 'Asia/Seoul')).toBe('2026-07-15T01:00:00.000000Z');
  expect(instantOfLocal('year 12000', newYork)).toBe('year 12000');
});

test('a repeated hour is its first pass, a skipped one has the offset before it', () => {
  expect(instantOfLocal('2026-11-01T01:30:00.000000', newYork)).toBe('2026-11-01T05:30:00.000000Z');
  expect(instantOfLocal('2026-11-01T02:00:00.000000', newYork)).toBe('2026-11-01T07:00:00.000000Z');
  expect(instantOfLocal('2026-03-08T02:30:00.000000', newYork)).toBe('2026-03-08T07:30:00.000000Z');
});

test('a date of 1970 does not change how a later one is read', () => {
  // 1,600,000 seconds after 1970, and as many quarters of an hour.
  expect(localOfInstant('1970-01-19T12:26:40.000000Z', newYork)).toBe('1970-01-19T07:26:40.000000');
  expect(localOfInstant('2015-08-19T16:06:40.000000Z', newYork)).toBe('2015-08-19T12:06:40.000000');
});

test('clocks that change at half past an hour of UTC change then', () => {
  const local = ['16:10', '16:40'].map((time) => localOfInstant(`2026-04-04T${time}:00.000000Z`, 'Australia/Adelaide'));
  expect(local).toEqual(['2026-04-05T02:40:00.000000', '2026-04-05T02:10:00.000000']);
});

test('before clocks go back, a walk starts earlier by what they go back', () => {
  expect(earliestLocalFrom('2026-11-01T05:01:00.000000Z', newYork)).toBe('2026-11-01T00:01:00.000000');
  expect(earliestLocalFrom('2026-11-01T06:10:00.000000Z', newYork)).toBe('2026-11-01T01:10:00.000000');
});

const zones = fc.constantFrom(newYork, 'Asia/Seoul', 'Europe/Vienna', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC');
const seconds = fc.integer({ min: -5_000_000_000, max: 6_000_000_000 });
const isoOf = (at: number) => new Date(at * 1000).toISOString().replace('000Z', '000000Z');

test('whatever local date an instant has, reading it back gives that local date again', () => {
  fc.assert(
    fc.property(seconds, zones, (at, zone) => {
      const local = localOfInstant(isoOf(at), zone);
      expect(localOfInstant(instantOfLocal(local, zone), zone)).toBe(local);
    }),
  );
});

test('nothing at or after an instant has a local date before the earliest one', () => {
  const nearChange = fc.integer({ min: -14_400, max: 14_400 }).map((off) => Date.UTC(2026, 10, 1, 6) / 1000 + off);
  fc.assert(
    fc.property(fc.oneof(seconds, nearChange), fc.integer({ min: 0, max: 14_400 }), zones, (at, later, zone) => {
      expect(localOfInstant(isoOf(at + later), zone) >= earliestLocalFrom(isoOf(at), zone)).toBe(true);
    }),
  );
});
