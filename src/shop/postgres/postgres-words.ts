import pg from 'pg';
import type { ColumnType, SqlWords } from '../driver.ts';
import { withSince } from '../sql-text.ts';

/** The statement that makes the database describe a query. Its lines are the query's lines. */
export const describingStatement = (body: string) =>
  `select * from ${withSince(body, '(null::timestamptz)', 'postgres')} w limit 0`;

const sqlStateOf = (error: unknown) => (error instanceof pg.DatabaseError ? (error.code ?? '') : '');

/**
 * SQLSTATE classes of the connection, the transaction, the statement, rights, locks and the server. One row may cause
 * any other error: a function of the shop may raise its own class.
 */
const isOfNoRow = /^(0|25|26|28|2D|34|3[BDF]|40|42|5[3578]|72|F0|HV|XX)/;
/** 53200: no memory, as for a text of endless length. The others: a damaged row, index, block or transaction. */
const isOfARow = /^(53200|XX00[012]|58030|58P01)$/;

/** Dates within these bounds are written as dates: they are within the years 1 to 9999 in every zone. */
const first = "'0001-01-03'";
const last = "'9999-12-29'";

const dateLiteral = (read: ColumnType['read'], at: string) =>
  `${read === 'instant' ? 'timestamptz' : 'timestamp'} ${pg.escapeLiteral(at)}`;

export const postgresWords: SqlWords = {
  dialect: 'postgres',
  select: 'select',
  keyLiteral: (type, key) => (canHold(type, key) ? `${pg.escapeLiteral(key)}::${type}` : undefined),
  hasCode: () => `coalesce(btrim(w.code::text), '') <> ''`,
  placeIn: (column, list) => `array_position(array[${list}], ${column})`,
  bytesOf: (column) => `octet_length(${column}::text)`,
  /**
   * A date as ISO 8601 with microseconds, whatever the session's zone and date style, or `year N` or `infinity` if it
   * has no such form. `concat` and not `||`: to find the operator, a new connection reads sixty more pages of catalogs.
   */
  shown({ read }, value) {
    if (read === 'text') return `${value}::text`;
    const [local, zone] = read === 'instant' ? [`${value} at time zone 'UTC'`, '"Z"'] : [value, ''];
    return `case when ${value} >= ${first} and ${value} < ${last} then to_char(${local}, 'YYYY-MM-DD"T"HH24:MI:SS.US${zone}')
      when isfinite(${value}) then concat('year ', extract(year from ${value})) when ${value} is not null then 'infinity' end`;
  },
  read: (_column, text) => text,
  compare: ({ read }, value, operator, at) => `${value} ${operator} ${dateLiteral(read, at)}`,
  since: (read, at) => `(${dateLiteral(read, at)})`,
  utcNow: `(now() at time zone 'UTC')`,
  isTimeout: (error) => sqlStateOf(error) === '57014',
  isLocked: (error) => sqlStateOf(error) === '55P03',
  // In a read-only transaction, only conflicts fail this way. 40P01: recovery waits for a buffer of the statement.
  isConflict: (error) => /^40(001|P01)$/.test(sqlStateOf(error)),
  dataFaultOf(error) {
    const state = sqlStateOf(error);
    return !state || (isOfNoRow.test(state) && !isOfARow.test(state)) ? undefined : state;
  },
  lineOf(error, body) {
    if (!(error instanceof pg.DatabaseError) || error.position === undefined) return undefined;
    return describingStatement(body).slice(0, Number(error.position)).split('\n').length;
  },
};

function canHold(type: string, key: string): boolean {
  const bytes = /^pg_catalog\.int([248])$/.exec(type)?.[1];
  if (bytes !== undefined)
    return /^-?\d{1,19}$/.test(key) && BigInt.asIntN(Number(bytes) * 8, BigInt(key)) === BigInt(key);
  if (type === 'pg_catalog.uuid') return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(key);
  // Postgres stores no NUL, and refuses a statement with one.
  return !key.includes('\0');
}
