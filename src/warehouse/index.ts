import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import pLimit from 'p-limit';
import pg from 'pg';
import { surviveLostConnections } from '../base/lost-connections.ts';
import { packagePath } from '../base/package-path.ts';
import { withSearchPath } from '../base/search-path.ts';
import { type Connections, connectionsOfBrand } from './brand.ts';
import { reviewLists } from './reviews/review-columns.ts';

/** The warehouse or a transaction in it. */
export type Db = Kysely<unknown>;

export type Warehouse = Awaited<ReturnType<typeof openWarehouse>>;

export type WarehousePool = ReturnType<typeof openPool>;

export type WarehouseOptions = PoolOptions & {
  /** The brand of the schemas. Undefined: the schemas without a brand. */
  brand?: string | undefined;
  /** Connections that all brands of a process share. Each may hold `connections`. The warehouse does not close them. */
  shared?: WarehousePool | undefined;
};

type PoolOptions = {
  url: string;
  /** Maximum number of connections. */
  connections: number;
  /** How long the server may be silent while a statement runs, in milliseconds. 0: no limit. Default: ten minutes. */
  silenceMs?: number;
  /** A statement fails after waiting this long for a lock of another session. Undefined: no limit. */
  lockSeconds?: number | undefined;
};

/** Longer than any statement on 100 million reviews that does not read every row (docs/benchmarks.md). */
const longestStatementMs = 600_000;

/**
 * If a process is frozen or cut off within a transaction, it loses its locks after this time. It is longer than a
 * request to the service may take (`withGradesLocked`).
 */
const longestIdleSeconds = 150;

/** How long `close` waits for statements of abandoned jobs, which may take minutes. */
const closeMs = 2000;

/** Opens connections to the warehouse. The first statement connects. */
export function openPool(options: PoolOptions) {
  const pool = new pg.Pool({
    connectionString: withSearchPath(options.url, 'pg_catalog', {
      idle_in_transaction_session_timeout: `${longestIdleSeconds}s`,
      ...(options.lockSeconds && { lock_timeout: `${options.lockSeconds}s` }),
    }),
    max: options.connections,
    application_name: 'review-sync',
    connectionTimeoutMillis: 15_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    // Ids fit into a number; pg's default of text would break comparisons of ids.
    types: { getTypeParser: (oid: number) => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid)) },
  });
  surviveLostConnections(pool, options.silenceMs ?? longestStatementMs);
  const open = new Set<pg.Connection>();
  pool.on('connect', (client) => void open.add(connectionOf(client).prependListener('errorMessage', nameWarehouse)));
  pool.on('remove', (client) => void open.delete(connectionOf(client)));
  let closing: Promise<void> | undefined;
  async function end(): Promise<void> {
    const cut = setTimeout(() => {
      for (const { stream } of open) stream.destroy();
    }, closeMs);
    await pool.end().finally(() => clearTimeout(cut));
  }
  const close = () => {
    closing ??= end();
    return closing;
  };
  return { pool, close, [Symbol.asyncDispose]: close };
}

const connectionOf = (client: unknown) => (client as { connection: pg.Connection }).connection;

/** Names the warehouse in an error of rights, or of the server's state: shop and queue may fail in the same way. */
function nameWarehouse(error: pg.DatabaseError): void {
  if (/^(42501|25006|5[378]...)$/.test(error.code ?? '')) error.message = `the warehouse: ${error.message}`;
}

/** Opens the warehouse. */
export async function openWarehouse(options: WarehouseOptions) {
  const { brand, shared } = options;
  const own = shared ?? openPool(options);
  const pool: Connections = brand === undefined ? own.pool : connectionsOfBrand(own.pool, brand, options.connections);
  const close = async () => {
    if (!shared) await own.close();
  };
  const ofDb = { connect: () => pool.connect(), end: close, options: {} };
  const db: Db = new Kysely({ dialect: new PostgresDialect({ pool: ofDb }) });
  return {
    db,
    /** Undefined: the schemas without a brand. */
    brand,
    /** The connections of `db`, for the rate limiter, which does not use Kysely, and for statements with a name. */
    pool,
    /** Limits the pages that land at the same time: more pages than the server has cores only wait for each other. */
    landings: pLimit(3),
    /** How many records this process has given to each file of `plannedRowsOf`. */
    recordsGiven: new Map<string, number>(),
    /** Product ids by code that this process has stored already: they need no statement. */
    knownProducts: new Map<string, number>(),
    /** Columns of reviews that the service no longer shows, accepted by a person (src/warehouse/field-shapes.ts). */
    acceptedGone: new Set<string>(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A statement as a template. Its values are parameters. */
type Statement<Result> = (text: TemplateStringsArray, ...values: unknown[]) => Promise<Result>;

/** The rows of a statement: ``listOf<{ n: number }>(db)`select count(*) as n from …` ``. */
export function listOf<Row>(db: Db): Statement<Row[]> {
  return async (text, ...values) => (await sql<Row>(text, ...values).execute(db)).rows;
}

/** The first row of a statement; undefined if it returns no row. */
export function firstOf<Row>(db: Db): Statement<Row | undefined> {
  return async (text, ...values) => (await listOf<Row>(db)(text, ...values))[0];
}

/** Whether a statement returns a row: ``isAny(db)`select from … limit 1` ``. */
export function isAny(db: Db): Statement<boolean> {
  return async (text, ...values) => (await firstOf(db)(text, ...values)) !== undefined;
}

/** The row of a statement that always returns a row. */
export function rowOf<Row>(db: Db): Statement<Row> {
  return async (text, ...values) => {
    const row = await firstOf<Row>(db)(text, ...values);
    if (row === undefined) throw new Error(`no row, expected one: ${text.join('…').trim().slice(0, 80)}`);
    return row;
  };
}

/** The first column of each row of a statement: ``valuesOf<string>(db)`select code from …` ``. */
export function valuesOf<Value>(db: Db): Statement<Value[]> {
  return async (text, ...values) => (await listOf<object>(db)(text, ...values)).map((row) => Object.values(row)[0]);
}

/** The first column of the row of a statement that always returns a row. */
export function scalarOf<Value>(db: Db): Statement<Value> {
  return async (text, ...values) => Object.values(await rowOf<object>(db)(text, ...values))[0];
}

/** Runs a statement. @returns how many rows it wrote. */
export function write(db: Db): Statement<number> {
  return async (text, ...values) => Number((await sql(text, ...values).execute(db)).numAffectedRows ?? 0);
}

/** Whether a statement failed to get a lock of another session in time, or at once. */
export const isLockedOut = (error: unknown) => error instanceof pg.DatabaseError && error.code === '55P03';

/** Whether one record is at fault. SQLSTATE: 21 (two rows for one key), 22 (data), 23 (constraint), 54 (too long or deep). */
export const isErrorOfTheData = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && /^(2[123]|54)/.test(String(error.code));

/** The database's result, or its error if it refuses a record (`isErrorOfTheData`). */
export const orRefusal = <T>(result: Promise<T>): Promise<T | Error> =>
  result.catch((error: unknown) => {
    if (!isErrorOfTheData(error)) throw error;
    return error;
  });

/**
 * The text of a statement of sql/warehouse/statements/. A comment such as `@columns` stands for a list of columns
 * (review-columns.ts).
 */
export function statement(name: string): Promise<string> {
  const text = texts.get(name) ?? readStatement(name);
  texts.set(name, text);
  return text;
}
/** Each text is read once: if the package is upgraded under a worker, the files change. */
const texts = new Map<string, Promise<string>>();

async function readStatement(name: string): Promise<string> {
  const text = await readFile(packagePath('sql', 'warehouse', 'statements', `${name}.sql`), 'utf8');
  return text.replaceAll(/\/\*@(\w+)\*\//g, (comment, list: string) => reviewLists[list] ?? comment);
}

/** The rows of a statement file. @param parameters `$1`, `$2` … */
export const rowsOf = async <Row>(db: Db, name: string, ...parameters: unknown[]): Promise<Row[]> =>
  (await db.executeQuery<Row>(CompiledQuery.raw(await statement(name), parameters))).rows;

/**
 * The session lacks a prepared statement (26000), or has another one of the same name (42P05), as behind a transaction
 * pooler; or a migration has changed its result columns (0A000).
 */
const statesOfLostPlans = ['26000', '42P05', '0A000'];

/**
 * Records that a process gives to a statement before the statement gets a name: a plan from the time of small tables
 * would read them whole. While a first run fills the reviews, one kept plan took 370 ms a page instead of 12.
 */
const manyRecords = 5000;

/**
 * `rowsOf` for a long statement. After `manyRecords` it has a name, so each connection plans it only a few times: a
 * write of 16 orders takes 1.1 ms of processor time, and 2.1 ms without a name. If the plan is lost, Postgres has
 * executed nothing, and the statement is sent without its name.
 *
 * The name has a hash of the text. A pooler's session outlives a process of an older version, and would execute the
 * older statement of the same file.
 *
 * @param records how many records the values have.
 */
export async function plannedRowsOf<Row extends object>(
  { pool, recordsGiven }: Warehouse,
  file: string,
  records: number,
  ...values: unknown[]
) {
  const text = await statement(file);
  const given = (recordsGiven.get(file) ?? 0) + records;
  recordsGiven.set(file, given);
  if (given <= manyRecords) return (await pool.query<Row>({ text, values })).rows;
  const name = `${file} ${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
  const planned = pool.query<Row>({ name, text, values }).catch((error: unknown) => {
    if (!(error instanceof pg.DatabaseError && statesOfLostPlans.includes(error.code ?? ''))) throw error;
    return pool.query<Row>({ text, values });
  });
  return (await planned).rows;
}

/** The clock of the warehouse, for comparisons with dates that it wrote. */
export const warehouseNow = (db: Db) => scalarOf<Date>(db)`select clock_timestamp()`;
