import type { Random } from './random.ts';

/** Milliseconds since 1970. */
export type Moment = number;
export type Period = Readonly<{ start: Moment; end: Moment }>;

export const second = 1000;
export const hour = 3600 * second;
export const day = 24 * hour;

/** Korea has had no daylight saving since 1988: its days need no time zone data. */
const offset = 9 * hour;

const startOfDay = (at: Moment) => Math.floor((at + offset) / day) * day - offset;

/** `20250301` and 2 (March) for a moment of 1 March 2025 in Seoul. */
export function dateIn(at: Moment): { compact: string; month: number } {
  const local = new Date(at + offset);
  return { compact: local.toISOString().slice(0, 10).replaceAll('-', ''), month: local.getUTCMonth() };
}

/** The newest complete week of 24 to 30 November. In this week the shop rewards reviews. */
export function saleWeek(now: Moment): Period {
  const year = new Date(now + offset).getUTCFullYear();
  const ofYear = (y: number) => ({ start: Date.UTC(y, 10, 24) - offset, end: Date.UTC(y, 11, 1) - offset });
  return ofYear(year).end <= now ? ofYear(year) : ofYear(year - 1);
}

/** How busy the shop is by month: season changes, gift days, the sales of November. */
const monthWeights = [0.9, 0.8, 1.05, 1.1, 1.3, 0.95, 0.85, 0.75, 1.05, 1.15, 1.6, 1.35];
const weekdayWeights = [1.1, 1.15, 1.05, 1, 0.95, 0.9, 0.95];
const hourWeights = [5, 3, 2, 1, 1, 1, 2, 4, 6, 7, 8, 8, 9, 8, 7, 7, 7, 7, 8, 9, 11, 13, 13, 9];
/** In the sale week the first and the last day are the fullest. */
const saleDayWeights = [26, 15, 11, 10, 10, 11, 17];

/** A moment of the period, by season, weekday, hour and the growth of the shop. */
export function busyMoment(random: Random, period: Period): Moment {
  for (;;) {
    const at = atBusyHour(random, startOfDay(period.start + random.next() * (period.end - period.start)));
    if (at < period.start || at > period.end) continue;
    const grown = 0.6 + (0.4 * (at - period.start)) / (period.end - period.start);
    const weekday = new Date(at + offset).getUTCDay();
    const weight = (monthWeights[dateIn(at).month] ?? 1) * (weekdayWeights[weekday] ?? 1) * grown;
    if (random.next() * 1.9 < weight) return at;
  }
}

export function saleMoment(random: Random, week: Period): Moment {
  const dayOfSale = random.weighted(saleDayWeights.map((weight, index) => [index, weight] as const));
  return atBusyHour(random, week.start + dayOfSale * day);
}

function atBusyHour(random: Random, startOfThatDay: Moment): Moment {
  const busyHour = random.weighted(hourWeights.map((weight, index) => [index, weight] as const));
  return startOfThatDay + busyHour * hour + random.integer(0, hour - 1);
}
