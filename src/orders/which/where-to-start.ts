import type { OrderPosition } from '../../shop/orders.ts';
import type { Cursor } from '../../warehouse/runs/cursors.ts';

/** `shopNow`: the shop's clock. `now`: the warehouse's clock at the same moment, by which `readTo` of the cursor was taken. */
export type Clocks = { shopNow: string; now: Date };

/**
 * Where an incremental run starts to read: the cursor minus the lookback.
 *
 * The shop's clock may have been set back since the last run. A change made since then is dated at the earliest what the clock
 * shows now, minus the time that has passed since; where that lies before the cursor, the run starts there. So a run after such
 * a jump reads again as much as the clock was set back, not the whole shop.
 *
 * @returns the beginning of all changes, if there is no cursor, or if it is ahead of the shop's clock and has no `readTo`.
 */
export function whereToStart(
  cursor: Cursor | undefined,
  { shopNow, now }: Clocks,
  lookbackMinutes: number,
): OrderPosition {
  const everything = { at: '-infinity', code: '' };
  if (cursor === undefined) return everything;
  const shopMs = instantOf(shopNow);
  const cursorMs = instantOf(cursor.at);
  if (cursor.readTo === undefined && cursorMs > shopMs) return everything;
  const passedMs = cursor.readTo === undefined ? 0 : Math.max(0, now.getTime() - Date.parse(cursor.readTo));
  const earliestMs = cursor.readTo === undefined ? cursorMs : Math.min(cursorMs, shopMs - passedMs);
  return { at: new Date(earliestMs - lookbackMinutes * 60_000).toISOString(), code: '' };
}

/** Milliseconds since 1970 of the shop's text in UTC, rounded down. A text that is not a date gives `Infinity`. */
export function instantOf(at: string): number {
  const parsed = Date.parse(at.replace(' ', 'T').replace(/\+00$/, 'Z'));
  return Number.isNaN(parsed) ? Number.POSITIVE_INFINITY : Math.floor(parsed);
}
