import { longestCode, type RawRow } from '../rows.ts';
import type {
  ColumnType,
  ExplainedStatement,
  KeyedRow,
  OrderPosition,
  ReadOptions,
  ShopQuery,
  ShopSession,
  WalkedKey,
} from '../session.ts';
import { timeoutError } from '../shop-timeout.ts';
import { replaceParameter } from '../sql-text.ts';
import { dataFaultOf, isTimeout, isUnknownLetter } from './mysql-fault.ts';
import { explainStatement } from './mysql-plan.ts';
import {
  canHold,
  dateBounds,
  exactly,
  hasCode,
  instantOfColumn,
  keyLiteral,
  leastDate,
  readValue,
  shownAs,
  withoutZeroParts,
} from './mysql-values.ts';

/** Runs one statement and gives its rows as the database's own text. */
export type RunStatement = (text: string) => Promise<RawRow[]>;

/** Groups of codes that are looked at to find those that are there twice. */
const suspectsAtMost = 100;

type AskedKeys = { key: string; keys: readonly string[]; columns: readonly string[] };

const dateOf = { updated: 'updated_at', created: 'created_at' } as const;

/**
 * The shop's statements for MySQL and MariaDB. A column of a key or a date is compared raw with a literal of its own
 * kind, so that the condition is pushed into the query and an index serves. Neither database uses an index for
 * `(a, b) > (?, ?)`, both do for `a >= ? and (a > ? or b > ?)`.
 *
 * @param timeZone zone of dates without zone; queries that have such dates are refused without it.
 * @param how see ShopDatabase.read.
 */
export function mysqlSession(
  runStatement: RunStatement,
  timeZone: string | undefined,
  { explained, seconds }: ReadOptions = {},
): ShopSession {
  const zone = timeZone ?? 'UTC';

  /** The rows as the database gives them. */
  async function runRaw(query: ShopQuery, text: string): Promise<RawRow[]> {
    let statement: ExplainedStatement | undefined;
    if (explained) {
      statement = { file: query.name, seconds: undefined, ...(await explainStatement(runStatement, text)) };
      explained.push(statement);
    }
    const begun = performance.now();
    const rows = await runStatement(text).catch((error: unknown) => {
      throw isTimeout(error) ? timeoutError(`${query.name}.sql`, seconds) : error;
    });
    if (statement) statement.seconds = (performance.now() - begun) / 1000;
    return rows;
  }

  /** Rows with every date as an instant. */
  async function run(query: ShopQuery, columns: readonly string[], rest: string): Promise<RawRow[]> {
    const rows = await runRaw(query, `select ${shownList(query, columns)} ${rest}`);
    return rows.map((row) => readRow(query, columns, row));
  }

  const readRow = (query: ShopQuery, columns: readonly string[], row: RawRow): RawRow =>
    Object.fromEntries(
      columns.map((name) => {
        const value = readValue(typeOf(query, name), row[name] ?? null);
        return [name, value === null ? null : instantOfColumn(typeOf(query, name), value, zone)];
      }),
    );

  /** Rows of (date, code) in this order, after the position. */
  async function walkDates(
    query: ShopQuery,
    name: string,
    { after, before, size }: { after: OrderPosition; before: string | undefined; size: number },
  ): Promise<WalkedKey[]> {
    const date = typeOf(query, name);
    const code = typeOf(query, 'code');
    const bounds = dateBounds(date, `w.\`${name}\``, zone);
    const body = replaceParameter(query.body, 'since', bounds.since(after), 'mysql').text;
    const isLater = `${bounds.later(after)} or ${exactly(code.type, 'w.`code`')} > ${exactly(code.type, keyLiteral(code.type, after.code))}`;
    const rows = await runRaw(
      query,
      `select ${shownAs(date, `w.\`${name}\``)} as at, w.\`code\` as code from ${body} w
       where ${hasCode(code.type)} and ${bounds.from(after)}
         ${before === undefined ? '' : `and ${bounds.before(before)}`}
         ${after.code === '' ? '' : `and (${isLater})`}
       order by w.\`${name}\`, ${exactly(code.type, 'w.`code`')} limit ${size}`,
    );
    return rows.flatMap((row): WalkedKey[] => {
      const at = readValue(date, withoutZeroParts(row.at ?? null));
      if (at === null) return [];
      const key = { at: instantOfColumn(date, at, zone), code: readValue(code, row.code ?? null) ?? '' };
      return date.read === 'local date' ? [{ ...key, local: at }] : [key];
    });
  }

  /** Rows of the keys at these places. `#place` is the place of the first key that the collation holds for equal. */
  async function rowsAt(query: ShopQuery, asked: AskedKeys, places: readonly number[]): Promise<RawRow[]> {
    if (places.length === 0) return [];
    const { type } = typeOf(query, asked.key);
    const list = places.map((place) => keyLiteral(type, asked.keys[place] ?? '')).join(', ');
    const key = `w.\`${asked.key}\``;
    try {
      return await runRaw(
        query,
        `select elt(field(${key}, ${list}), ${places.join(', ')}) as \`#place\`, ${key} as \`#key\`, ${shownList(query, asked.columns)}
         from ${query.body} w where ${key} in (${list})`,
      );
    } catch (error) {
      // A key with letters that the column's character set does not have is in no row.
      if (!isUnknownLetter(error)) throw error;
      if (places.length === 1) return [];
      const middle = Math.ceil(places.length / 2);
      const first = await rowsAt(query, asked, places.slice(0, middle));
      return [...first, ...(await rowsAt(query, asked, places.slice(middle)))];
    }
  }

  async function codes(query: ShopQuery, rest: string): Promise<string[]> {
    const rows = await runRaw(query, `select w.\`code\` as code from ${query.body} w ${rest}`);
    return rows.map((row) => readValue(typeOf(query, 'code'), row.code ?? null) ?? '');
  }

  return {
    /** A statement that fails leaves the transaction as it is. */
    async attempt(read) {
      try {
        return { value: await read() };
      } catch (error) {
        const dataFault = dataFaultOf(error);
        if (dataFault === undefined) throw error;
        return { dataFault };
      }
    },

    async rowsByKey(query, key, keys, columns) {
      const column = typeOf(query, key);
      const places = keys.flatMap((one, place) => (canHold(column.type, one) ? place : []));
      const rows = await rowsAt(query, { key, keys, columns }, places);
      const exact = new Map(places.map((place) => [keys[place], place]));
      const found = rows.map((row): KeyedRow & { isExact: boolean } => {
        const place = exact.get(readValue(column, row['#key'] ?? null) ?? '');
        return {
          place: place ?? Number(row['#place']),
          row: readRow(query, columns, row),
          isExact: place !== undefined,
        };
      });
      // An order that differs in case only is another order where there is one of exactly this code.
      const taken = new Set(key === 'code' ? found.filter((one) => one.isExact).map(({ place }) => place) : []);
      return found
        .filter(({ isExact, place }) => isExact || !taken.has(place))
        .map(({ place, row }) => ({ place, row }))
        .sort((a, b) => a.place - b.place);
    },

    rowsWithout: (query, column, limit) =>
      run(query, allColumns(query), `from ${query.body} w where w.\`${column}\` is null limit ${limit}`),

    rows: (query) => run(query, allColumns(query), `from ${query.body} w`),

    async values(query, column, limit) {
      const rest = `from ${query.body} w where w.\`${column}\` is not null`;
      const rows = await run(query, [column], limit === undefined ? rest : `${rest} limit ${limit}`);
      return rows.flatMap((row) => row[column] ?? []);
    },

    async walk(orders, { axis, after, before, size }) {
      if (axis !== 'code') return walkDates(orders, dateOf[axis], { after, before, size });
      const { type } = typeOf(orders, 'code');
      const isLater = after.code === '' ? '' : `and w.\`code\` > ${keyLiteral(type, after.code)}`;
      const found = await codes(orders, `where ${hasCode(type)} ${isLater} order by w.\`code\` limit ${size}`);
      // The page ends with all codes that the collation holds for equal to its last: the next page begins after them.
      const last = found.length < size ? undefined : found.at(-1);
      const same =
        last === undefined
          ? []
          : await codes(orders, `where ${hasCode(type)} and w.\`code\` = ${keyLiteral(type, last)}`);
      return [...found, ...same.filter((code) => !found.includes(code))].map((code) => ({ at: '', code }));
    },

    changes: (feed, after, limit) => walkDates(feed, 'changed_at', { after, before: undefined, size: limit }),

    async codesByCreation(orders, which, limit) {
      const found = await codes(
        orders,
        `where w.\`code\` is not null and w.created_at >= ${leastDateOf(typeOf(orders, 'created_at'))}
         order by w.created_at ${which === 'newest' ? 'desc' : 'asc'} limit ${limit}`,
      );
      return [...new Set(found)];
    },

    keylessRows: (orders, dates, columns, limit) => {
      const { type } = typeOf(orders, 'code');
      const isTooLong = `length(convert(w.\`code\` using utf8mb4)) > ${longestCode}`;
      const without = dates.map(
        (name) => `w.\`${name}\` is null or w.\`${name}\` < ${leastDateOf(typeOf(orders, name))}`,
      );
      return run(
        orders,
        columns,
        `from ${orders.body} w where ${[`not (${hasCode(type)})`, isTooLong, ...without].join(' or ')} limit ${limit}`,
      );
    },

    async repeatedCodes(orders, limit) {
      const { type } = typeOf(orders, 'code');
      // Grouped by the column itself, so that its index serves. Codes equal to the collation are separated here.
      const groups = await codes(
        orders,
        `where w.\`code\` is not null group by w.\`code\` having count(*) > 1 limit ${suspectsAtMost}`,
      );
      if (groups.length === 0) return [];
      const list = groups.map((code) => keyLiteral(type, code)).join(', ');
      const found = Map.groupBy(await codes(orders, `where w.\`code\` in (${list})`), (code) => code);
      const repeated = [...found].filter(([, same]) => same.length > 1);
      return repeated.slice(0, limit).map(([code, same]) => ({ code, rows: same.length }));
    },

    async now() {
      const [row] = await runStatement('select utc_timestamp(6) as now');
      return `${(row?.now ?? '').replace(' ', 'T')}Z`;
    },
  };
}

const typeOf = (query: ShopQuery, column: string): ColumnType =>
  query.columns.get(column) ?? { type: 'varchar', read: 'text' };

/** A TIMESTAMP of zero is 0 seconds; a DATETIME has dates before 1970. */
const leastDateOf = ({ read }: ColumnType) => (read === 'instant' ? 'from_unixtime(1)' : leastDate);

const allColumns = (query: ShopQuery): string[] => [...query.columns.keys()];

const shownList = (query: ShopQuery, columns: readonly string[]): string =>
  columns.map((name) => `${shownAs(typeOf(query, name), `w.\`${name}\``)} as \`${name}\``).join(', ');
