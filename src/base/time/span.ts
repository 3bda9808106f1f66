import { DateTime, IANAZone } from 'luxon';

/** A point in time to the second, as whole seconds since 1970-01-01T00:00:00Z. */
export type Second = number;

/** A half-open period `[start, end)` in whole seconds. */
export type Span = Readonly<{ start: Second; end: Second }>;

/** The years 1 to 9999 in UTC: Postgres does not read the ISO 8601 text (`isoOf`) of any other. */
export const writableDates: Span = {
  start: Date.parse('0001-01-01T00:00:00Z') / 1000,
  end: Date.parse('9999-12-31T23:59:59Z') / 1000,
};

/** luxon accepts an offset such as +09:00, too, but Postgres reads its sign the other way round. */
export const isTimeZone = (name: string): boolean => /^[A-Za-z]/.test(name) && IANAZone.isValidZone(name);

/** The whole second: the date filters of the service ignore milliseconds. */
export const secondOf = (date: Date): Second => Math.floor(date.getTime() / 1000);

/** Ruby prints a time with a space for the `T`, and one before the offset. Postgres reads all of these, too. */
const isoDateTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)? ?(?:Z|[+-]\d\d(?::?\d\d)?)$/i;
/** ISO 8601 allows an offset of hours alone. The engine does not read it. */
const hoursOnly = /:.*[+-]\d\d$/;

/**
 * The second of an ISO 8601 date-time with an offset (docs/interface.md, "What the service does", 3); undefined for
 * anything else. A guessed zone would be wrong by hours.
 */
export function parseInstant(value: unknown): Second | undefined {
  if (typeof value !== 'string' || !isoDateTime.test(value)) return undefined;
  // With spaces, the engine would read the years 0 to 99 as years of our time.
  const iso = value.replace(/[T ]/i, 'T').replace(' ', '');
  const milliseconds = Date.parse(hoursOnly.test(iso) ? `${iso}:00` : iso);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}

/**
 * First second of the calendar day `yyyy-mm-dd` in the zone; undefined if the text is not a day. If clocks are set back
 * from 01:00 to 00:00, the day has two midnights and begins at the first.
 */
export function startOfDay(day: string, zone: string): Second | undefined {
  const parsed = DateTime.fromFormat(day, 'yyyy-MM-dd', { zone });
  if (!parsed.isValid) return undefined;
  const midnights = parsed.startOf('day').getPossibleOffsets();
  return Math.floor(Math.min(...midnights.map((midnight) => midnight.toSeconds())));
}

/** First second of the day that is `days` calendar days after the day of `at`, in the zone. */
export function dayAfter(at: Second, zone: string, days = 1): Second {
  return Math.floor(DateTime.fromSeconds(at, { zone }).plus({ days }).startOf('day').toSeconds());
}

/** The calendar day `yyyy-mm-dd` in the zone. */
export const dayOf = (at: Second, zone: string) => DateTime.fromSeconds(at, { zone }).toFormat('yyyy-MM-dd');

/** The zone's offset at that moment in ISO 8601, such as `+09:00`. */
export const offsetOf = (at: Second, zone: string) => DateTime.fromSeconds(at, { zone }).toFormat('ZZ');

/**
 * The zone's offset at that moment in seconds, positive east of Greenwich. Every local date of a shop needs three or
 * four offsets. An offset costs 6 µs of processor time, or 0.6 µs if it is cached.
 */
export function offsetSecondsOf(at: Second, zone: string): number {
  // Since 2012 every change of an offset falls on a quarter of an hour, except three at Casey in Antarctica.
  const key = `${at < quartersSince ? at : at - (at % 900)} ${zone}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  const offset = Math.round(IANAZone.create(zone).offset(at * 1000) * 60);
  if (offsets.size === 2000) offsets.clear();
  offsets.set(key, offset);
  return offset;
}
const quartersSince = Date.UTC(2012) / 1000;
const offsets = new Map<string, number>();

export const isoOf = (at: Second): string => new Date(at * 1000).toISOString();

/** The period of a list request: local times, both inclusive, and the seconds they mean. */
export type LocalPeriod = Readonly<{ start: string; end: string; first: Second; last: Second }>;

/**
 * The span as `start_datetime` and `end_datetime` of the service (`yyyy-mm-dd hh:mm:ss` in `zone`, both inclusive;
 * docs/interface.md, "Reviews"). The period is one second wider than the span, because a service may ignore
 * milliseconds or exclude the end. If clocks are set back, a local time means two instants, and the period is widened
 * until it is unambiguous. At the ends of `writableDates` it has all of that day in the zone.
 */
export function localPeriod(span: Span, zone: string): LocalPeriod {
  const first = unambiguous(span.start, zone, -1);
  const last = unambiguous(span.end, zone, 1);
  return { start: localText(first, zone), end: localText(last, zone), first, last };
}

/** The format has a four-digit year, so a request covers the years 1 to 9999. */
function localText(at: Second, zone: string): string {
  const local = at + offsetSecondsOf(at, zone);
  const written = Math.min(Math.max(local, writableDates.start), writableDates.end);
  return isoOf(written).slice(0, 19).replace('T', ' ');
}

/** End of the shortest span of a request from `at`: longer than a second in an hour that clocks repeat. */
export const shortestEnd = (at: Second, zone: string): Second => unambiguous(at + 1, zone, 1);

/** The common part of both spans; undefined if they do not overlap. */
export function intersection(span: Span, bounds: Span): Span | undefined {
  const start = Math.max(span.start, bounds.start);
  const end = Math.min(span.end, bounds.end);
  return end > start ? { start, end } : undefined;
}

export const isWithin = (second: Second, { start, end }: Span): boolean => second >= start && second < end;

/** The part of the span before the second, as a list of one or no span. */
export const partBefore = ({ start, end }: Span, second: Second): Span[] =>
  start < second ? [{ start, end: Math.min(end, second) }] : [];

/** The nearest second in that direction with an unambiguous local time; beyond the writable dates, a day further. */
function unambiguous(at: Second, zone: string, direction: 1 | -1): Second {
  if (direction < 0 ? at <= writableDates.start : at >= writableDates.end) return at + 86_400 * direction;
  const offset = offsetSecondsOf(at, zone);
  const isTwice = [at - 86_400, at + 86_400].some((near) => {
    const other = offsetSecondsOf(near, zone);
    return other !== offset && offsetSecondsOf(at + offset - other, zone) === other;
  });
  return isTwice ? unambiguous(at + 1800 * direction, zone, direction) : at;
}

/** The parts of `wanted` outside all of `covered`. */
export function without(wanted: Span, covered: readonly Span[]): Span[] {
  const found: Span[] = [];
  let from = wanted.start;
  for (const span of [...covered].sort((a, b) => a.start - b.start)) {
    if (span.end <= from) continue;
    if (span.start >= wanted.end) break;
    if (span.start > from) found.push({ start: from, end: span.start });
    from = span.end;
  }
  if (from < wanted.end) found.push({ start: from, end: wanted.end });
  return found;
}
