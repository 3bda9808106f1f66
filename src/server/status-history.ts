import { dayOf, secondOf } from '../base/time/span.ts';
import type { Db } from '../warehouse/index.ts';
import { coverageByDay } from '../warehouse/reviews/coverage.ts';
import {
  deadLettersByDay,
  lagSpans,
  ordersByDay,
  reviewsByDay,
  withStatementTimeout,
} from '../warehouse/runs/history.ts';
import { type History, lagSpanCount, lagSpanSeconds } from './page/charts.ts';

/** Days that the charts show. */
const dayCount = 30;
/** A statement of the page takes milliseconds. One that takes this long is cut off, and the page says so. */
export const pageTimeoutMs = 5000;

/** Reads what the charts show: the last 30 days in the zone, and the lag of a week. */
export async function readHistory(db: Db, timeZone: string, now: Date): Promise<History> {
  const days = { ...lastDays(now, timeZone, dayCount), timeZone };
  const spanMs = lagSpanSeconds * 1000;
  const from = new Date(Math.floor(now.getTime() / spanMs) * spanMs - (lagSpanCount - 1) * spanMs);
  return withStatementTimeout(db, pageTimeoutMs, async (trx) => ({
    at: now,
    reviews: await reviewsByDay(trx, days),
    orders: await ordersByDay(trx, days),
    deadLetters: await deadLettersByDay(trx, days),
    coverage: await coverageByDay(trx, days),
    lag: { from, spans: await lagSpans(trx, from, lagSpanSeconds) },
  }));
}

/** The last days in the zone as `yyyy-mm-dd`, today included. */
export function lastDays(now: Date, timeZone: string, count: number): { first: string; last: string } {
  const last = dayOf(secondOf(now), timeZone);
  const first = new Date(Date.parse(last) - (count - 1) * 86_400_000);
  return { first: first.toISOString().slice(0, 10), last };
}
