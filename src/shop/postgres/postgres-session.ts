import type pg from 'pg';
import { earliestLocalFrom, instantOfLocal, localOfInstant } from '../local-time.ts';
import { longestCode, type RawRow } from '../rows.ts';
import type {
  ColumnType,
  ExplainedStatement,
  OrderPosition,
  ReadOptions,
  ShopQuery,
  ShopSession,
  WalkedKey,
} from '../session.ts';
import { timeoutError } from '../shop-timeout.ts';
import { dataFaultOf, isTimeout } from './postgres-fault.ts';
import { fullScans } from './postgres-plan.ts';

/**
 * Rows without a code, or with a blank one, are never walked: the daily check finds them. A position with code '' is a
 * beginning.
 */
const hasCode = `w.code is not null and w.code::text <> ''`;
const dateOf = { updated: 'updated_at', created: 'created_at' } as const;

/** Dates within these are written as dates; they are within the years 1 to 9999 in every time zone. */
const first = "'0001-01-03'";
const last = "'9999-12-29'";

/**
 * The shop's statements for Postgres. A column of a key is compared raw with a parameter of its own type, so that an
 * index serves. Dates become text with `to_char`, which neither the session's time zone nor its date style changes.
 *
 * @param timeZone zone of dates without zone; queries that have such dates are refused without it.
 * @param how see ShopDatabase.read.
 */
export function postgresSession(
  client: pg.ClientBase,
  timeZone: string | undefined,
  { explained, seconds }: ReadOptions = {},
): ShopSession {
  const zone = timeZone ?? 'UTC';

  /** Rows with every date as an instant. */
  async function run<Row extends RawRow>(query: ShopQuery, text: string, values: unknown[] = []): Promise<Row[]> {
    const statement = explained && (await explain(query, text, values));
    const begun = performance.now();
    const { rows } = await client.query<Row>(text, values).catch((error) => {
      throw isTimeout(error) ? timeoutError(`${query.name}.sql`, seconds) : error;
    });
    if (statement) statement.seconds = (performance.now() - begun) / 1000;
    const local = [...query.columns].flatMap(([name, column]) => (column.read === 'local date' ? name : []));
    if (local.length === 0) return rows;
    return rows.map((row) => {
      const dates = local.flatMap((name) => {
        const value = row[name];
        return typeof value === 'string' ? [[name, instantOfLocal(value, zone)]] : [];
      });
      return { ...row, ...Object.fromEntries(dates) };
    });
  }

  async function explain(query: ShopQuery, text: string, values: unknown[]): Promise<ExplainedStatement> {
    const statement = { file: query.name, seconds: undefined, scans: await fullScans(client, text, values) };
    explained?.push(statement);
    return statement;
  }

  /** The bounds of a walk as the column is compared: a date without zone with the local date. */
  const startOf = (read: ColumnType['read'], after: OrderPosition) =>
    read === 'local date' ? (after.local ?? earliestLocalFrom(after.at, zone)) : after.at;
  const endOf = (read: ColumnType['read'], before: string) =>
    read === 'local date' ? localOfInstant(before, zone) : before;

  const keyed = (read: ColumnType['read'], rows: readonly { at: string; code: string }[]): WalkedKey[] =>
    rows.map(({ at, code }) =>
      read === 'local date' ? { at: instantOfLocal(at, zone), code, local: at } : { at, code },
    );

  return {
    async attempt(read) {
      await client.query('savepoint attempt');
      try {
        const value = await read();
        await client.query('release savepoint attempt');
        return { value };
      } catch (error) {
        const dataFault = dataFaultOf(error);
        if (dataFault === undefined) throw error;
        await client.query('rollback to savepoint attempt; release savepoint attempt');
        return { dataFault };
      }
    },

    async rowsByKey(query, key, keys, columns) {
      const { type } = typeOf(query, key);
      const list = `$1::${type}[]`;
      // A key that the column cannot hold is in no row; as a parameter it would fail the statement.
      const places = keys.flatMap((one, place) => (canHold(type, one) ? place : []));
      const found = await run<RawRow & { '#': string }>(
        query,
        `select array_position(${list}, w.${key}) as "#", ${columns.map((name) => shown(query, name)).join(', ')}
         from ${query.body} w where w.${key} = any(${list}) order by 1`,
        [places.map((place) => keys[place])],
      );
      return found.map(({ '#': place, ...row }) => ({ place: places[Number(place) - 1] ?? 0, row }));
    },

    rowsWithout: (query, column, limit) =>
      run(query, `select ${allShown(query)} from ${query.body} w where w.${column} is null limit ${limit}`),

    rows: (query) => run(query, `select ${allShown(query)} from ${query.body} w`),

    async values(query, column, limit) {
      const rows = await run<{ value: string }>(
        query,
        `select ${selectText(typeOf(query, column), `w.${column}`)} as value
         from ${query.body} w where w.${column} is not null limit ${limit ?? 'all'}`,
      );
      return rows.map((row) => row.value);
    },

    async walk(orders, { axis, after, before, size }) {
      const code = typeOf(orders, 'code').type;
      if (axis === 'code') {
        const isStart = after.code === '';
        const rows = await run<{ code: string }>(
          orders,
          `select w.code::text as code from ${orders.body} w
           where ${isStart ? hasCode : `w.code > $1::${code}`} order by w.code limit ${size}`,
          isStart ? [] : [after.code],
        );
        return rows.map((row) => ({ at: '', code: row.code }));
      }
      const name = dateOf[axis];
      const date = typeOf(orders, name);
      const [isFirst, isOpen] = [after.code === '', before === undefined];
      const rows = await run<{ at: string; code: string }>(
        orders,
        `select ${selectText(date, `w.${name}`)} as at, w.code::text as code from ${orders.body} w
         where ${hasCode} and w.${name} >= $1::${date.type}
           ${isOpen ? '' : `and w.${name} < $2::${date.type}`}
           ${isFirst ? '' : `and (w.${name} > $1::${date.type} or w.code > $${isOpen ? 2 : 3}::${code})`}
         order by w.${name}, w.code limit ${size}`,
        [
          startOf(date.read, after),
          ...(isOpen ? [] : [endOf(date.read, before ?? '')]),
          ...(isFirst ? [] : [after.code]),
        ],
      );
      return keyed(date.read, rows);
    },

    async changes(feed, after, limit) {
      const date = typeOf(feed, 'changed_at');
      const isFirst = after.code === '';
      const rows = await run<{ at: string; code: string }>(
        feed,
        `select ${selectText(date, 'w.changed_at')} as at, w.code::text as code from ${feed.body} w
         where ${hasCode} and w.changed_at >= $1::${date.type}
           ${isFirst ? '' : `and (w.changed_at > $1::${date.type} or w.code > $2::${typeOf(feed, 'code').type})`}
         order by w.changed_at, w.code limit ${limit}`,
        [startOf(date.read, after), ...(isFirst ? [] : [after.code])],
      );
      return keyed(date.read, rows);
    },

    async codesByCreation(orders, which, limit) {
      const order = which === 'newest' ? 'desc' : 'asc';
      const rows = await run<{ code: string }>(
        orders,
        `select w.code::text as code from ${orders.body} w where w.code is not null
           and w.created_at >= ${first} and w.created_at < ${last}
         order by w.created_at ${order} limit ${limit}`,
      );
      return [...new Set(rows.map((row) => row.code))];
    },

    keylessRows: (orders, dates, columns, limit) =>
      run(
        orders,
        `select ${columns.map((name) => shown(orders, name)).join(', ')} from ${orders.body} w
         where coalesce(btrim(w.code::text), '') = '' or octet_length(w.code::text) > ${longestCode}
           ${dates.map((name) => `or w.${name} is null`).join(' ')}
         limit ${limit}`,
      ),

    async repeatedCodes(orders, limit) {
      const rows = await run<{ code: string; rows: string }>(
        orders,
        `select w.code::text as code, count(*) as rows from ${orders.body} w where w.code is not null
         group by w.code having count(*) > 1 limit ${limit}`,
      );
      return rows.map((row) => ({ code: row.code, rows: Number(row.rows) }));
    },

    async now() {
      const { rows } = await client.query<{ now: string }>(
        `select ${selectText({ type: 'timestamptz', read: 'instant' }, 'n.now')} as now from (select now() as now) n`,
      );
      return rows[0]?.now ?? '';
    },
  };
}

/** Whether the text can be a value of the type of a key. */
function canHold(type: string, key: string): boolean {
  const bytes = /^pg_catalog\.int([248])$/.exec(type)?.[1];
  if (bytes !== undefined)
    return /^-?\d{1,19}$/.test(key) && BigInt.asIntN(Number(bytes) * 8, BigInt(key)) === BigInt(key);
  if (type === 'pg_catalog.uuid') return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(key);
  return true;
}

function typeOf(query: ShopQuery, column: string): ColumnType {
  return query.columns.get(column) ?? { type: 'text', read: 'text' };
}

const allShown = (query: ShopQuery) => [...query.columns.keys()].map((name) => shown(query, name)).join(', ');
const shown = (query: ShopQuery, name: string) => `${selectText(typeOf(query, name), `w.${name}`)} as ${name}`;

/**
 * A value as text: a date as ISO 8601 with microseconds, or `year N` or `infinity` where it has no such form. `concat`
 * and not `||`: to find the operator, a new connection reads sixty pages of catalogs more.
 */
function selectText({ read }: ColumnType, value: string): string {
  if (read === 'text') return `${value}::text`;
  const [local, zone] = read === 'instant' ? [`${value} at time zone 'UTC'`, '"Z"'] : [value, ''];
  return `case when ${value} >= ${first} and ${value} < ${last} then to_char(${local}, 'YYYY-MM-DD"T"HH24:MI:SS.US${zone}')
    when isfinite(${value}) then concat('year ', extract(year from ${value})) when ${value} is not null then 'infinity' end`;
}
