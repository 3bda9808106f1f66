import { offsetSecondsOf } from '../base/time/span.ts';

/**
 * Dates without zone. A local date is text such as `2026-11-01T01:30:00.000004`; an instant is the same with a `Z`, in
 * UTC. Microseconds are kept: the cursor of the orders needs them.
 */

/**
 * The instant of a local date in the zone. If daylight saving repeats the hour, it is the first pass. A time that
 * the clocks skip is read with the offset before the change. Text that is not a date comes back unchanged.
 */
export function instantOfLocal(local: string, zone: string): string {
  const [seconds, fraction] = split(local);
  if (Number.isNaN(seconds)) return local;
  const day = 86_400;
  const before = offsetSecondsOf(seconds - day, zone);
  const after = offsetSecondsOf(seconds + day, zone);
  const isRight = (offset: number) => offsetSecondsOf(seconds - offset, zone) === offset;
  return written(seconds - (!isRight(before) && isRight(after) ? after : before), `${fraction}Z`);
}

/** The local date of an instant in the zone. */
export function localOfInstant(instant: string, zone: string): string {
  const [seconds, fraction] = split(instant);
  return written(seconds + offsetSecondsOf(seconds, zone), fraction);
}

/**
 * The earliest local date of this and all later instants. Before clocks go back, it is earlier than the local date of
 * the instant, because the next hour repeats earlier local times.
 */
export function earliestLocalFrom(instant: string, zone: string): string {
  const [seconds, fraction] = split(instant);
  const threeHours = 10_800;
  const offset = Math.min(offsetSecondsOf(seconds, zone), offsetSecondsOf(seconds + threeHours, zone));
  return written(seconds + offset, fraction);
}

/** Whole seconds since 1970, reading the text as UTC, and the fraction with its point. */
function split(text: string): [seconds: number, fraction: string] {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(?:Z|\+00(?::00)?)?$/.exec(text);
  if (!match) return [Number.NaN, ''];
  return [Date.parse(`${match[1]}T${match[2]}Z`) / 1000, match[3] ?? '.000000'];
}

const written = (seconds: number, fraction: string) =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19)}${fraction}`;
