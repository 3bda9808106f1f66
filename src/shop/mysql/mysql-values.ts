import { earliestLocalFrom, instantOfLocal, localOfInstant } from '../local-time.ts';
import type { ColumnType, OrderPosition } from '../session.ts';

/** Values of MySQL and MariaDB: how they are written into a statement, and how the text of a result is read. */

const isInteger = (type: string) => /int$|^year$/.test(type);

/**
 * Whether a key of the type can have this value. A text compared with a number would become a number: 'abc' would be 0.
 */
export const canHold = (type: string, key: string): boolean =>
  !isInteger(type) || (/^-?\d{1,20}$/.test(key) && BigInt(key) >= -(2n ** 63n) && BigInt(key) < 2n ** 64n);

/** A text as a literal. Hexadecimal: the session's sql_mode decides what a backslash or a quote in a text means. */
export const textLiteral = (text: string): string => `_utf8mb4 x'${Buffer.from(text, 'utf8').toString('hex')}'`;

export function keyLiteral(type: string, key: string): string {
  if (!isInteger(type)) return textLiteral(key);
  return canHold(type, key) ? key : 'null';
}

/** An expression whose order is total: collations hold `a` and `A` for equal. */
export const exactly = (type: string, value: string): string =>
  isInteger(type) ? value : `cast(convert(${value} using utf8mb4) as binary)`;

/**
 * That a code is there, is not blank and has no NUL, which the warehouse cannot store. The literals are hexadecimal:
 * where the sql_mode has EMPTY_STRING_IS_NULL, no code differs from `''`.
 */
export const hasCode = (type: string): string =>
  isInteger(type)
    ? 'w.`code` is not null'
    : `w.\`code\` is not null and w.\`code\` <> _utf8mb4 x'' and locate(x'00', w.\`code\`) = 0`;

/** The least date that is no zero date. Range conditions begin here, so that rows without a date are left out. */
export const leastDate = "timestamp'0001-01-01 00:00:00'";

/**
 * The expression whose text `readValue` reads. A TIMESTAMP is read as seconds since 1970, whatever the session's zone
 * is.
 */
export const shownAs = ({ read }: ColumnType, column: string): string =>
  read === 'instant' ? `unix_timestamp(${column})` : column;

/**
 * A value as `RawRow` has it: dates as ISO 8601 with microseconds, a date without zone without `Z`. A zero date is
 * null.
 */
export function readValue({ type, read }: ColumnType, text: string | null): string | null {
  if (text === null) return null;
  if (read === 'text') return type === 'char' ? text.trimEnd() : text;
  if (read === 'instant') return instantOfSeconds(text);
  const [, year, rest, time, fraction = ''] = /^(\d{4})(-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?$/.exec(text) ?? [];
  if (year === undefined || rest === undefined) return text;
  if (year === '0000' && rest === '-00-00') return null;
  const day = `${year}${rest}`;
  // Dates beyond these may be outside the years 1 to 9999 in another zone; a month or a day 00 is no date.
  if (day < '0001-01-03' || day > '9999-12-28' || rest.includes('-00')) return `year ${Number(year)}`;
  return `${day}T${time}.${fraction.padEnd(6, '0')}`;
}

/** A date whose month or day is 00 is walked as the next date there is. Its row is read as it is, and is a fault. */
export const withoutZeroParts = (date: string | null) =>
  date?.startsWith('0000-00-00') ? date : (date?.replaceAll('-00', '-01') ?? null);

function instantOfSeconds(text: string): string | null {
  const [whole = '0', fraction = ''] = text.split('.');
  if (Number(text) === 0) return null;
  return `${new Date(Number(whole) * 1000).toISOString().slice(0, 19)}.${fraction.padEnd(6, '0')}Z`;
}

/**
 * The same instant may be two texts of a session whose zone has daylight saving, and `from_unixtime` gives a text. A
 * bound that serves an index is this much wider; the exact bound stands beside it.
 */
const zoneSlackSeconds = 7200;

/** The bounds of a walk along a date column, as conditions. */
export type DateBounds = {
  /** At or after the position. */
  from(after: OrderPosition): string;
  /** After the instant of the position: what the keyset compares beside the code. */
  later(after: OrderPosition): string;
  before(instant: string): string;
  /** What a change feed compares its own columns with: never later than the position. */
  since(after: OrderPosition): string;
};

/** @param zone of dates without zone. */
export function dateBounds({ read }: ColumnType, column: string, zone: string): DateBounds {
  if (read === 'local date') {
    const local = (after: OrderPosition) => dateLiteral(after.local ?? earliestLocalFrom(after.at, zone));
    return {
      from: (after) => `${column} >= ${local(after)}`,
      later: (after) => `${column} > ${local(after)}`,
      before: (instant) => `${column} < ${dateLiteral(localOfInstant(instant, zone))}`,
      since: local,
    };
  }
  const exact = `unix_timestamp(${column})`;
  return {
    from: ({ at }) => `${column} >= ${fromUnix(at, -zoneSlackSeconds)} and ${exact} >= ${unixSeconds(at)}`,
    later: ({ at }) => `${exact} > ${unixSeconds(at)}`,
    before: (instant) => `${column} < ${fromUnix(instant, zoneSlackSeconds)} and ${exact} < ${unixSeconds(instant)}`,
    since: ({ at }) => fromUnix(at, -zoneSlackSeconds),
  };
}

/** A date as a literal; what is before the year 1 or after 9999 becomes the first or the last date there is. */
function dateLiteral(local: string): string {
  if (!/^\d{4}-/.test(local)) return isEarly(local) ? leastDate : "timestamp'9999-12-31 23:59:59.999999'";
  return `timestamp'${local.slice(0, 10)} ${local.slice(11, 26)}'`;
}

/** `-infinity`, `year -44`, `year 1` and dates of negative years. */
const isEarly = (at: string) => at.startsWith('-') || /^year -?[01]?$/.test(at) || at.startsWith('year -');

/** The last second that a TIMESTAMP of 32 bits holds. */
const lastSecond = 2_147_483_647;

/** Seconds since 1970 with the fraction of the text. */
function unixSeconds(at: string): string {
  const [, seconds, fraction = ''] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z$/.exec(at) ?? [];
  if (seconds === undefined) return isEarly(at) ? '1' : String(2 ** 40);
  return `${Math.max(1, Date.parse(`${seconds}Z`) / 1000)}${fraction}`;
}

function fromUnix(at: string, slackSeconds: number): string {
  const seconds = Math.floor(Number(unixSeconds(at))) + slackSeconds;
  return `from_unixtime(${Math.min(Math.max(seconds, 1), lastSecond)})`;
}

/** An instant with microseconds, of a date without zone in the zone. */
export const instantOfColumn = ({ read }: ColumnType, at: string, zone: string): string =>
  read === 'local date' ? instantOfLocal(at, zone) : at;
