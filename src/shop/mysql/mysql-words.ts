import type { SqlWords } from '../driver.ts';

/** The used fields of an error of mysql2: from the server (`errno`, `sqlState`) or the connection. */
export type DriverError = Error & { code?: string; errno?: number; sqlState?: string };

const isOneOf = (error: unknown, numbers: readonly number[]) =>
  error instanceof Error && numbers.includes((error as DriverError).errno ?? 0);

const isInteger = (type: string) => /int$|^year$/.test(type);

/** A text as a literal. Hexadecimal: the session's sql_mode decides what a backslash, a quote or `''` means. */
export const textLiteral = (text: string): string => `_utf8mb4 x'${Buffer.from(text, 'utf8').toString('hex')}'`;

/** A text compared with a number would become a number: 'abc' would be 0. */
function integerLiteral(key: string): string | undefined {
  if (!/^-?\d{1,20}$/.test(key)) return undefined;
  return BigInt(key) >= -(2n ** 63n) && BigInt(key) < 2n ** 64n ? key : undefined;
}

/**
 * In a session zone with daylight saving, one instant may have two texts, and `from_unixtime` returns a text. So a
 * bound for an index is this much wider, and the exact bound stands beside it.
 */
const zoneSlackSeconds = 7200;

/** The last second that a TIMESTAMP of 32 bits holds. */
const lastSecond = 2_147_483_647;

/** Seconds since 1970 with the fraction of the text; a TIMESTAMP of 0 is a zero date. */
function unixSeconds(at: string): string {
  const [, seconds = '', fraction = ''] = /^(.*?)(\.\d+)?Z$/.exec(at) ?? [];
  return `${Math.max(1, Date.parse(`${seconds}Z`) / 1000)}${fraction}`;
}

function fromUnix(at: string, slackSeconds: number): string {
  const seconds = Math.floor(Number(unixSeconds(at))) + slackSeconds;
  return `from_unixtime(${Math.min(Math.max(seconds, 1), lastSecond)})`;
}

const localLiteral = (at: string) => `timestamp'${at.replace('T', ' ')}'`;

export const mysqlWords: SqlWords = {
  dialect: 'mysql',
  /**
   * Without the hint, MySQL computes a query with subqueries in its select list for all remaining orders, for each
   * page. With 200,000 orders that takes 4 to 22 s (MariaDB without merging). MariaDB needs no hint.
   */
  select: 'select /*+ merge(w) */',
  keyLiteral: (type, key) => (isInteger(type) ? integerLiteral(key) : textLiteral(key)),
  // The literals are hexadecimal: if the sql_mode has EMPTY_STRING_IS_NULL, no code differs from ''.
  hasCode: (type) =>
    isInteger(type)
      ? 'w.code is not null'
      : `coalesce(trim(w.code), _utf8mb4 x'') <> _utf8mb4 x'' and locate(char(0), w.code) = 0`,
  placeIn: (column, list) => `field(${column}, ${list})`,
  bytesOf: (column) => `length(convert(${column} using utf8mb4))`,
  /** A TIMESTAMP is read as seconds since 1970, whatever the session's zone is. */
  shown: ({ read }, value) => (read === 'instant' ? `unix_timestamp(${value})` : value),
  read({ type, read }, text) {
    if (read === 'text') return type === 'char' ? text.trimEnd() : text;
    return read === 'instant' ? instantOfSeconds(text) : localDate(text);
  },
  compare({ read }, value, operator, at) {
    if (read !== 'instant') return `${value} ${operator} ${localLiteral(at)}`;
    const [wide, slack] = operator === '<' ? ['<=', zoneSlackSeconds] : ['>=', -zoneSlackSeconds];
    return `(${value} ${wide} ${fromUnix(at, slack)} and unix_timestamp(${value}) ${operator} ${unixSeconds(at)})`;
  },
  since: (read, at) => (read === 'instant' ? fromUnix(at, -zoneSlackSeconds) : localLiteral(at)),
  utcNow: 'utc_timestamp(6)',
  // 3024: MySQL's max_execution_time; 1969: MariaDB's max_statement_time; 1317: `kill query`.
  isTimeout: (error) => isOneOf(error, [3024, 1969, 1317]),
  isLocked: (error) => isOneOf(error, [1205]),
  isConflict: () => false,
  dataFaultOf(error) {
    if (!(error instanceof Error)) return undefined;
    const { errno = 0, sqlState: state } = error as DriverError;
    return statesOfRows[errno] ?? (!state || isOfNoRow.test(state) ? undefined : state);
  },
  // The message names the line.
  lineOf: () => undefined,
};

/**
 * SQLSTATEs of the connection, the transaction, the statement, rights and the server; HY000 is any of these. One row
 * may cause any other error: a function of the shop may raise its own SQLSTATE.
 */
const isOfNoRow = /^(0|25|28|3D|40|42|70|HY|XA)/;

/**
 * Errors of one row, or of one code that a column cannot hold, for which the server sends the SQLSTATE of a statement.
 * The values are the SQLSTATEs that fit: `select … into` of a function that finds two rows; a text of another character
 * set; JSON_TABLE.
 */
const statesOfRows: Readonly<Record<number, string>> = {
  1172: '21000',
  ...Object.fromEntries([1267, 1270, 1271].map((errno) => [errno, '22021'])),
  ...Object.fromEntries([4035, 4036, 4037, 4038, 4039, 4040, 4176, 4178, 4179].map((errno) => [errno, '22032'])),
};

/** ISO 8601 with microseconds; a zero date is null; a month or a day 00 counts as 01. */
function localDate(text: string): string | null {
  if (text.startsWith('0000-00-00')) return null;
  const [, day = '', time = '', fraction = ''] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?$/.exec(text.replaceAll('-00', '-01')) ?? [];
  // Beyond these days, the date may be outside the years 1 to 9999 in another zone.
  if (day < '0001-01-03' || day > '9999-12-28') return `year ${Number(text.slice(0, 4))}`;
  return `${day}T${time}.${fraction.padEnd(6, '0')}`;
}

function instantOfSeconds(text: string): string | null {
  const [whole = '0', fraction = ''] = text.split('.');
  if (Number(text) === 0) return null;
  return `${new Date(Number(whole) * 1000).toISOString().slice(0, 19)}.${fraction.padEnd(6, '0')}Z`;
}

/**
 * 1205: a lock is held for longer than we wait; 1412: a table was altered since the transaction began; 1927: the
 * connection was killed. Their SQLSTATEs do not say that the same statement may succeed a moment later.
 */
const passing = [1205, 1412, 1927];

/**
 * An error of the driver without the statement, which has codes of orders: loggers write all fields of an error. An
 * error about a value (SQLSTATE class 22) loses its quotes. A transient error gets the SQLSTATE of a rollback.
 */
export function withoutStatement(error: unknown): unknown {
  if (!(error instanceof Error) || !('sql' in error || 'sqlMessage' in error)) return error;
  const { message, code, errno, sqlState } = error as DriverError;
  const shown = sqlState?.startsWith('22') ? message.replaceAll(/'.*'/gs, '…') : message;
  return Object.assign(new Error(shown), {
    ...(code !== undefined && { code }),
    ...(errno !== undefined && { errno }),
    ...(sqlState !== undefined && { sqlState: isOneOf(error, passing) ? '40001' : sqlState }),
  });
}
