import { expect, test } from 'vitest';
import { whereToStart } from '../../src/orders/which/where-to-start.ts';

/** The last run looked at 12:00 by both clocks; the newest change that it saw was made at 11:58. */
const cursor = { at: '2026-03-01T11:58:00.123456Z', code: 'A', readTo: '2026-03-01T12:00:00.000Z' };
const start = (shopNow: string, now: string) =>
  whereToStart(cursor, { shopNow: `2026-03-01T${shopNow}Z`, now: new Date(`2026-03-01T${now}Z`) }, 10).at;

test('a run starts at the cursor minus the lookback, however long ago the last run was', () => {
  expect(start('12:05:00', '12:05:00')).toBe('2026-03-01T11:48:00.123Z');
  expect(start('23:00:00', '23:00:00')).toBe('2026-03-01T11:48:00.123Z');
});

test('the clocks of shop and warehouse may be hours apart', () => {
  expect(start('12:05:00', '09:05:00')).toBe('2026-03-01T11:48:00.123Z');
});

test('after the shop’s clock was set back, a run starts as much earlier, whether or not the cursor is in the shop’s future', () => {
  // An hour back, five minutes after the last run: changes since then are dated 11:00 or later.
  expect(start('11:05:00', '12:05:00')).toBe('2026-03-01T10:50:00.000Z');
  // An hour back within the three hours that no run looked.
  expect(start('14:00:00', '15:00:00')).toBe('2026-03-01T10:50:00.000Z');
  // A minute back: the newest change that was seen is older than that.
  expect(start('12:04:00', '12:05:00')).toBe('2026-03-01T11:48:00.123Z');
});

test('a clock of the warehouse that was set back does not move the start beyond the shop’s clock', () => {
  expect(start('11:59:00', '11:00:00')).toBe('2026-03-01T11:48:00.123Z');
  expect(start('11:30:00', '11:00:00')).toBe('2026-03-01T11:20:00.000Z');
});

test('everything is read without a cursor, or with one of the shop’s future of which nobody knows when it was taken', () => {
  const clocks = { shopNow: '2026-03-01T11:00:00Z', now: new Date('2026-03-01T11:00:00Z') };
  expect(whereToStart(undefined, clocks, 10)).toEqual({ at: '-infinity', code: '' });
  expect(whereToStart({ at: cursor.at }, clocks, 10)).toEqual({ at: '-infinity', code: '' });
  expect(whereToStart({ at: '2026-03-01T10:00:00Z' }, clocks, 10).at).toBe('2026-03-01T09:50:00.000Z');
});
