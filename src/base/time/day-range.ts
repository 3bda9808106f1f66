import { UsageError } from '../errors.ts';
import { dayAfter, type Second, startOfDay, writableDates } from './span.ts';

/** Calendar days `yyyy-mm-dd`, both inclusive; either may be left out. */
export type DayRange = { from?: string | undefined; to?: string | undefined };

/** From the first second of one day to the first second after another. Either end may be open. */
export type OpenSpan = { start: Second | undefined; end: Second | undefined };

/** Clamps to the years 1 to 9999 in every zone: beyond these, no database reads the text of a date. */
const twoDays = 2 * 86_400;
const writable = (at: Second) => Math.min(Math.max(at, writableDates.start + twoDays), writableDates.end - twoDays);

/**
 * The first second of the first day and the first second after the last day, in the zone.
 *
 * @throws UsageError for a text that is not a day, and for a range that ends before it starts.
 */
export function spanOfDays({ from, to }: DayRange, zone: string): OpenSpan {
  const day = (name: 'from' | 'to', text: string | undefined) => {
    const start = text === undefined ? undefined : startOfDay(text, zone);
    if (text !== undefined && start === undefined) {
      throw new UsageError(`--${name} is ${JSON.stringify(text)}, expected a day such as 2026-01-31`);
    }
    return start && writable(start);
  };
  const [start, last] = [day('from', from), day('to', to)];
  if (start !== undefined && last !== undefined && start > last) {
    throw new UsageError(`--from ${from} is after --to ${to}`, { hint: 'Swap the two.' });
  }
  return { start, end: last === undefined ? undefined : writable(dayAfter(last, zone)) };
}
