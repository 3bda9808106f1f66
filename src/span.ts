import { DateTime, IANAZone } from 'luxon';

/** A point in time to the second, as whole seconds since 1970-01-01T00:00:00Z. */
export type Second = number;

/** A closed span of seconds: both ends belong to it. Neighbouring spans share their boundary second. */
export type Span = Readonly<{ start: Second; end: Second }>;

export function isTimeZone(name: string): boolean {
  return IANAZone.isValidZone(name);
}

/** Milliseconds are cut off: the service's date filters are significant to the second. */
export function secondOf(date: Date): Second {
  return Math.floor(date.getTime() / 1000);
}

/** Reads an ISO 8601 date-time with offset; undefined where the text is none. */
export function parseInstant(text: string): Second | undefined {
  const parsed = DateTime.fromISO(text, { setZone: true });
  return parsed.isValid ? Math.floor(parsed.toSeconds()) : undefined;
}

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

export function isoOf(at: Second): string {
  return new Date(at * 1000).toISOString();
}

/**
 * The span as the service's `start_datetime` and `end_datetime` (`yyyy-mm-dd hh:mm:ss`, read in `zone`; spec,
 * "Reviews"). Where daylight saving makes a local time ambiguous the span is widened until it no longer is: a few
 * reviews read twice harm nothing, an hour unread does.
 */
export function localPeriod(span: Span, zone: string): { start: string; end: string } {
  return {
    start: unambiguous(span.start, zone, -1).toFormat('yyyy-MM-dd HH:mm:ss'),
    end: unambiguous(span.end, zone, 1).toFormat('yyyy-MM-dd HH:mm:ss'),
  };
}

function unambiguous(at: Second, zone: string, direction: 1 | -1): DateTime {
  let local = DateTime.fromSeconds(at, { zone });
  while (local.getPossibleOffsets().length > 1) local = local.plus({ minutes: 30 * direction });
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
