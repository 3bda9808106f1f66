import { DateTime, IANAZone } from 'luxon';

/** A point in time to the second, as whole seconds since 1970-01-01T00:00:00Z. */
export type Second = number;

/** A closed span of seconds: both ends belong to it. Neighbouring spans share their boundary second. */
export type Span = Readonly<{ start: Second; end: Second }>;

export function isTimeZone(name: string): boolean {
  // An offset such as +09:00 would pass, and Postgres reads its sign the other way round.
  return /^[A-Za-z]/.test(name) && IANAZone.isValidZone(name);
}

/** Milliseconds are cut off: the service's date filters are significant to the second. */
export function secondOf(date: Date): Second {
  return Math.floor(date.getTime() / 1000);
}

/** Reads an ISO 8601 date-time with offset; undefined where the text is none. */
export function parseInstant(text: string): Second | undefined {
  // The form that services send, read by the engine: every record of an export comes through here.
  if (usualInstant.test(text)) {
    const milliseconds = Date.parse(text);
    if (!Number.isNaN(milliseconds)) return Math.floor(milliseconds / 1000);
  }
  const parsed = DateTime.fromISO(text, { setZone: true });
  return parsed.isValid ? Math.floor(parsed.toSeconds()) : undefined;
}

const usualInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** First second of the calendar day `yyyy-mm-dd` in the zone; undefined where the text is no day. */
export function startOfDay(day: string, zone: string): Second | undefined {
  const parsed = DateTime.fromFormat(day, 'yyyy-MM-dd', { zone });
  return parsed.isValid ? Math.floor(parsed.startOf('day').toSeconds()) : undefined;
}

/** First second of the day `days` calendar days after the one that holds `at`, in the zone. */
export function dayAfter(at: Second, zone: string, days = 1): Second {
  return Math.floor(DateTime.fromSeconds(at, { zone }).startOf('day').plus({ days }).toSeconds());
}

/** The calendar day `yyyy-mm-dd` in the zone. */
export function dayOf(at: Second, zone: string): string {
  return DateTime.fromSeconds(at, { zone }).toFormat('yyyy-MM-dd');
}

/** The zone's offset at that moment, as ISO 8601 writes it: `+09:00`. */
export function offsetOf(at: Second, zone: string): string {
  return DateTime.fromSeconds(at, { zone }).toFormat('ZZ');
}

export function isoOf(at: Second): string {
  return new Date(at * 1000).toISOString();
}

/**
 * The span as the service's `start_datetime` and `end_datetime` (`yyyy-mm-dd hh:mm:ss`, read in `zone`; spec,
 * "Reviews"). Where daylight saving makes a local time ambiguous the span is widened until it no longer is: a few
 * reviews read twice harm nothing, an hour unread does.
 */
export function localPeriod(span: Span, zone: string): { start: string; end: string } {
  return { start: written(unambiguous(span.start, zone, -1)), end: written(unambiguous(span.end, zone, 1)) };
}

/** A year has four digits there: the end of the last one is as far as can be asked for. */
const written = (local: DateTime) =>
  local.year > 9999 ? '9999-12-31 23:59:59' : local.toFormat('yyyy-MM-dd HH:mm:ss');

/** The seconds that `localPeriod` asks for: those of the span, and what it is widened by. */
export function askedSpan(span: Span, zone: string): Span {
  return { start: unambiguous(span.start, zone, -1).toSeconds(), end: unambiguous(span.end, zone, 1).toSeconds() };
}

/**
 * Where the shortest span from `at` that can be asked for by itself ends: a second later, or where an hour is over that
 * daylight saving repeats.
 */
export function unitEnd(at: Second, zone: string): Second {
  return Math.floor(unambiguous(at + 1, zone, 1).toSeconds());
}

/** The span in two that share a boundary second. @throws RangeError for a span of less than two seconds. */
export function halves({ start, end }: Span): [Span, Span] {
  if (end - start < 2) throw new RangeError('a span of less than two seconds has no halves');
  const middle = start + Math.floor((end - start) / 2);
  return [
    { start, end: middle },
    { start: middle, end },
  ];
}

/** Those asked for last: each page of a span asks for its ends again, and finding out takes longer than all else about it. */
const known = new Map<string, DateTime>();
const knownAtMost = 2000;

function unambiguous(at: Second, zone: string, direction: 1 | -1): DateTime {
  const key = `${at} ${direction} ${zone}`;
  let local = known.get(key);
  if (local) return local;
  local = DateTime.fromSeconds(at, { zone });
  while (local.getPossibleOffsets().length > 1) local = local.plus({ minutes: 30 * direction });
  if (known.size === knownAtMost) known.clear();
  known.set(key, local);
  return local;
}

/** What of `wanted` none of `covered` holds. A gap shares its boundary seconds with what lies beside it. */
export function gaps(wanted: Span, covered: readonly Span[]): Span[] {
  const found: Span[] = [];
  let from = wanted.start;
  for (const span of [...covered].sort((a, b) => a.start - b.start)) {
    if (span.end <= from) continue;
    if (span.start >= wanted.end) break;
    if (span.start > from) found.push({ start: from, end: span.start });
    from = span.end;
  }
  if (from < wanted.end || (wanted.start === wanted.end && from === wanted.start && !holds(covered, from))) {
    found.push({ start: from, end: wanted.end });
  }
  return found;
}

const holds = (spans: readonly Span[], at: Second) => spans.some((span) => span.start <= at && at <= span.end);
