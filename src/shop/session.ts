import { longestCode } from '../base/codes.ts';
import type { ColumnType, DriverConnection, SqlWords, StatementPlan } from './driver.ts';
import { earliestLocalFrom, instantOfLocal, localOfInstant } from './local-time.ts';
import type { QueryName, RawRow } from './rows.ts';
import { cancelledError, uncomputableError } from './shop-errors.ts';
import { withSince } from './sql-text.ts';

/** A shop query that was checked against the contract. */
export type ShopQuery = Readonly<{
  name: QueryName;
  /** The SELECT in brackets, to be used as `from ${body} w`. In changed_orders.sql it holds `:since`. */
  body: string;
  /** The selected columns, and how to read and compare them. */
  columns: ReadonlyMap<string, ColumnType>;
}>;

export type OrderQueries = { orders: ShopQuery; lines: ShopQuery; feed: ShopQuery | undefined };

/** An order and its date: ISO 8601 in UTC with microseconds. */
export type OrderKey = Readonly<{ at: string; code: string }>;

/** The order of a walk: by last change, by creation, or by code alone. */
export type OrderAxis = 'updated' | 'created' | 'code';

/**
 * A page of a walk starts after this order. An empty code starts with the first order of that date;
 * `{ at: '-infinity', code: '' }` is the beginning.
 */
export type OrderPosition = OrderKey;

/**
 * One page of a walk: at most `size` orders after `after`, and before `before` (an instant, exclusive). `inCodeOrder`:
 * the orders since `after.at`, ordered by code, so that the walk ends although dates may move with the clock.
 */
export type OrderRange = Readonly<{
  axis: OrderAxis;
  after: OrderPosition;
  before?: string | undefined;
  size: number;
  inCodeOrder?: boolean;
}>;

/** The orders of one page. `next`: where the next page starts; absent after the last page. */
export type OrderPage = { keys: OrderKey[]; next?: OrderPosition };

/** A statement of a shop query that was run: its duration, and the large tables that it reads as a whole. */
export type ExplainedStatement = StatementPlan & {
  file: QueryName;
  /** Undefined: it was cancelled after 30 s. */
  seconds: number | undefined;
};

/**
 * `explained`: each statement of a query is explained before it is run, and added here. `seconds`: the limit of a
 * statement, at most 30.
 */
export type ReadOptions = { explained?: ExplainedStatement[]; seconds?: number };

/**
 * One transaction that reads a shop. The functions below send its statements. The database compares keys by its own
 * rules: `char(n)` without padding, some collations without case. `zone`: SHOP_TIME_ZONE. Without it, queries that have
 * dates without zone are refused.
 *
 * Walks leave out rows without a usable code, or with no date within the years 1 to 9999: `keylessRows` finds these.
 * The keyset of a walk is `a >= ? and (a > ? or b > ?)`, because every database uses an index for it. MySQL reads the
 * whole table for `(a, b) > (?, ?)`.
 */
export type ShopSession = Readonly<{ connection: DriverConnection; words: SqlWords; zone: string }> & ReadOptions;

/** The rows of these keys, by key. A key without rows has no entry. */
export async function rowsByKey(
  session: ShopSession,
  query: ShopQuery,
  key: string,
  keys: readonly string[],
): Promise<Map<string, RawRow[]>> {
  const { words } = session;
  const { type } = typeOf(query, key);
  const asked = keys.flatMap((one) => {
    const literal = words.keyLiteral(type, one);
    return literal === undefined ? [] : { one, literal };
  });
  if (asked.length === 0) return new Map();
  const list = asked.map(({ literal }) => literal).join(', ');
  const columns = [...query.columns.keys()];
  const rows = await run(
    session,
    query,
    `${words.select} ${words.placeIn(`w.${key}`, list)} as key_place, ${shown(session, query, columns)}
     from ${query.body} w where w.${key} in (${list})`,
  );
  const byKey = Map.groupBy(rows, (row) => asked[Number(row.key_place) - 1]?.one ?? '');
  return new Map([...byKey].map(([one, same]) => [one, same.map((row) => readRow(session, query, columns, row))]));
}

/** All rows of a query. @param rest SQL after `from … w`, such as a condition or an order: the query is `w`. */
export async function rowsOf(
  session: ShopSession,
  query: ShopQuery,
  rest = '',
  columns: readonly string[] = [...query.columns.keys()],
): Promise<RawRow[]> {
  const text = `${session.words.select} ${shown(session, query, columns)} from ${query.body} w ${rest}`;
  return (await run(session, query, text)).map((row) => readRow(session, query, columns, row));
}

/** The values of one column of these rows, null left out. */
export async function valuesOf(session: ShopSession, query: ShopQuery, column: string, rest = ''): Promise<string[]> {
  return (await rowsOf(session, query, rest, [column])).flatMap((row) => row[column] ?? []);
}

/**
 * One page of orders, ordered by (date, code) or by code: one bounded statement if an index serves. A code of
 * changed_orders.sql comes once per change.
 */
export async function orderKeys(
  session: ShopSession,
  orders: ShopQuery,
  { axis, ...range }: OrderRange,
): Promise<OrderKey[]> {
  // A change dated `infinity` counts as far ahead.
  const before = range.before ?? (axis === 'created' ? `${endOfDates}Z` : undefined);
  if (axis !== 'code') {
    const date = orders.name === 'changed_orders' ? 'changed_at' : `${axis}_at`;
    return walkDates(session, orders, date, { ...range, before });
  }
  const { after, size } = range;
  const { words } = session;
  const { type } = typeOf(orders, 'code');
  const later = after.code === '' ? '' : `and w.code > ${words.keyLiteral(type, after.code) ?? 'null'}`;
  const rest = `where ${words.hasCode(type)} ${later} order by w.code limit ${size}`;
  return (await valuesOf(session, orders, 'code', rest)).map((code) => ({ at: '', code }));
}

/** The next `size` rows after the position by (date, code). `inCodeOrder`: the rows from `after.at` on, by code. */
async function walkDates(
  session: ShopSession,
  query: ShopQuery,
  name: string,
  { after, before, size, inCodeOrder = false }: Omit<OrderRange, 'axis'>,
): Promise<OrderKey[]> {
  const { words, zone } = session;
  const date = typeOf(query, name);
  const code = typeOf(query, 'code');
  const isFirst = after.code === '';
  const instant = after.at === '-infinity' ? `${firstDate}Z` : after.at;
  // A page starts where the previous page ended. A first page, or a page by code, includes the hour that clocks repeat.
  const from =
    (isFirst || inCodeOrder) && date.read === 'local date'
      ? earliestLocalFrom(instant, zone)
      : dateAs(session, date, instant);
  const laterCode = `w.code > ${words.keyLiteral(code.type, after.code) ?? 'null'}`;
  const later = inCodeOrder ? laterCode : `${words.compare(date, `w.${name}`, '>', from)} or ${laterCode}`;
  const body = withSince(query.body, words.since(date.read, from), words.dialect);
  const rows = await run(
    session,
    query,
    `${words.select} ${shown(session, query, [name, 'code'])} from ${body} w
     where ${words.hasCode(code.type)} and ${words.compare(date, `w.${name}`, '>=', from)}
       ${before === undefined ? '' : `and ${compare(session, query, name, '<', before)}`} ${isFirst ? '' : `and (${later})`}
     order by ${inCodeOrder ? '' : `w.${name}, `}w.code limit ${size}`,
  );
  return rows.map((row) => {
    const at = textOf(session, date, row[name]) ?? '';
    return { at: /^\d/.test(at) ? at : `${endOfDates}Z`, code: textOf(session, code, row.code) ?? '' };
  });
}

/** The codes of the newest or the oldest orders. */
export async function sampleCodes(
  session: ShopSession,
  orders: ShopQuery,
  which: 'newest' | 'oldest',
  limit: number,
): Promise<string[]> {
  const order = which === 'newest' ? 'desc' : 'asc';
  const rest = `where w.code is not null and ${hasDate(session, orders, 'created_at')} order by w.created_at ${order}`;
  return [...new Set(await valuesOf(session, orders, 'code', `${rest} limit ${limit}`))];
}

/** Orders that a walk does not find, or with too long a code. Reads the whole query. @param dates the date columns. */
export function keylessRows(
  session: ShopSession,
  orders: ShopQuery,
  dates: readonly string[],
  limit: number,
): Promise<RawRow[]> {
  const { words } = session;
  const faults = [
    `not (${words.hasCode(typeOf(orders, 'code').type)})`,
    `${words.bytesOf('w.code')} > ${longestCode}`,
    ...dates.map((name) => `w.${name} is null or not (${hasDate(session, orders, name)})`),
  ];
  return rowsOf(session, orders, `where ${faults.join(' or ')} limit ${limit}`);
}

/** The database's clock: an instant with microseconds. */
export async function databaseNow({ connection, words }: ShopSession): Promise<string> {
  const clock: ColumnType = { type: 'timestamp', read: 'local date' };
  const [row] = await connection.run(`select ${words.shown(clock, words.utcNow)} as now`);
  return `${words.read(clock, row?.now ?? '')}Z`;
}

async function run(session: ShopSession, query: ShopQuery, statement: string): Promise<RawRow[]> {
  const { connection, words, explained, seconds } = session;
  let cost: ExplainedStatement | undefined;
  if (explained) {
    cost = { file: query.name, seconds: undefined, ...(await connection.explain(statement)) };
    explained.push(cost);
  }
  const begun = performance.now();
  const rows = await connection.run(statement).catch((error: unknown) => {
    const sqlState = words.dataFaultOf(error);
    throw sqlState === undefined
      ? cancelledError(words, `${query.name}.sql`, error, seconds)
      : uncomputableError(query.name, sqlState);
  });
  if (cost) cost.seconds = (performance.now() - begun) / 1000;
  return rows;
}

const shown = ({ words }: ShopSession, query: ShopQuery, columns: readonly string[]) =>
  columns.map((name) => `${words.shown(typeOf(query, name), `w.${name}`)} as ${name}`).join(', ');

function readRow(session: ShopSession, query: ShopQuery, columns: readonly string[], row: RawRow): RawRow {
  const read: Record<string, string | null> = {};
  for (const name of columns) read[name] = textOf(session, typeOf(query, name), row[name]);
  return read;
}

/** A value as `RawRow` has it: every date is an instant. */
function textOf({ words, zone }: ShopSession, column: ColumnType, text: string | null | undefined): string | null {
  const value = text === null || text === undefined ? null : words.read(column, text);
  return value === null || column.read !== 'local date' ? value : instantOfLocal(value, zone);
}

/** A condition on a date column, by an instant. */
function compare(session: ShopSession, query: ShopQuery, name: string, operator: '>=' | '<', instant: string): string {
  const column = typeOf(query, name);
  return session.words.compare(column, `w.${name}`, operator, dateAs(session, column, instant));
}

const dateAs = ({ zone }: ShopSession, { read }: ColumnType, instant: string) =>
  read === 'local date' ? localOfInstant(instant, zone) : instant;

const hasDate = (session: ShopSession, query: ShopQuery, name: string) =>
  `${compare(session, query, name, '>=', `${firstDate}Z`)} and ${compare(session, query, name, '<', `${endOfDates}Z`)}`;

/** Dates that are within the years 1 to 9999 in every time zone. */
const firstDate = '0001-01-03T00:00:00.000000';
const endOfDates = '9999-12-29T00:00:00.000000';

const typeOf = (query: ShopQuery, column: string): ColumnType =>
  query.columns.get(column) ?? { type: 'text', read: 'text' };
