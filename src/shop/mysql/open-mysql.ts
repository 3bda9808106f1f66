import { connect, type Socket } from 'node:net';
import mysql from 'mysql2/promise';
import { describeError, ReviewSyncError } from '../../base/errors.ts';
import type { FoundColumn, QueryCheck } from '../queries.ts';
import type { RawRow } from '../rows.ts';
import type { ShopDatabase, ShopDatabaseOptions } from '../session.ts';
import { statementSeconds, timeoutError } from '../shop-timeout.ts';
import { replaceParameter } from '../sql-text.ts';
import { readShopFacts } from './mysql-facts.ts';
import { isTimeout, isWithheld, withoutStatement } from './mysql-fault.ts';
import { mysqlSession, type RunStatement } from './mysql-session.ts';
import type { ConnectionOptions } from './mysql-url.ts';

/** For ending a statement whose connection was given up. */
const killMs = 5000;

export function openMysql(connection: ConnectionOptions, options: Omit<ShopDatabaseOptions, 'url'>): ShopDatabase {
  const silenceMs = options.silenceMs ?? statementSeconds * 1500;
  const pool = mysql.createPool({
    ...connection,
    connectionLimit: options.connections,
    connectTimeout: Math.min(15_000, silenceMs),
    idleTimeout: 10_000,
    // Every value is the database's own text: numbers are not rounded, dates not converted.
    typeCast: (field) => field.string('utf8'),
  });
  // The statement in flight fails with the reason. Without a listener, Node ends the process.
  pool.pool.on('connection', (opened) => void opened.on('error', () => {}));
  const limits = new WeakMap<object, StatementLimit>();
  const inUse = new Set<mysql.PoolConnection>();
  options.signal?.addEventListener('abort', () => {
    for (const client of inUse) {
      // `destroy` of the client would leave its statement without an end.
      (client.connection as unknown as { stream: Socket }).stream.destroy(new Error('the reading was stopped'));
      void killConnection(client.threadId);
    }
  });

  async function inTransaction<T>(
    work: (run: RunStatement, describe: Describe) => Promise<T>,
    seconds = statementSeconds,
  ): Promise<T> {
    options.signal?.throwIfAborted();
    const client = await pool.getConnection().catch(async (error: unknown) => {
      const isMute = (error as { code?: string }).code === 'ETIMEDOUT' && (await serverAccepts(connection));
      if (isMute) throw noGreeting();
      const cause = withoutStatement(error);
      throw new ReviewSyncError('shop', `The shop database cannot be reached: ${describeError(cause)}`, {
        cause,
        hint: 'See whether it is up and whether SHOP_DATABASE_URL is right.',
      });
    });
    let isBroken = false;
    const query = async (sql: string) => {
      try {
        const [rows, fields] = await client.query<mysql.RowDataPacket[]>({
          sql,
          timeout: silenceMs,
        });
        return { rows: (Array.isArray(rows) ? rows : []) as RawRow[], fields: fields ?? [] };
      } catch (error) {
        const { code, fatal } = error as { code?: string; fatal?: boolean };
        const isSilent = code === 'PROTOCOL_SEQUENCE_TIMEOUT';
        isBroken ||= fatal === true || isSilent;
        if (!isSilent) throw withoutStatement(error);
        await killConnection(client.threadId);
        const message = `the server sent nothing for ${silenceMs / 1000} s`;
        throw Object.assign(new Error(message), { code: 'SERVER_SILENT' });
      }
    };
    const run: RunStatement = async (sql) => (await query(sql)).rows;
    inUse.add(client);
    try {
      options.signal?.throwIfAborted();
      const limit = limits.get(client.connection) ?? (await prepareSession(run));
      limits.set(client.connection, limit);
      if (limit.seconds !== seconds) await limitStatements(run, limit, seconds);
      await run('start transaction with consistent snapshot, read only');
      const result = await work(run, async (sql) => (await query(sql)).fields);
      await run('commit');
      return result;
    } catch (error) {
      if (!isBroken) {
        await run('rollback').catch(() => {
          isBroken = true;
        });
      }
      throw isTimeout(error) ? timeoutError('the shop database', seconds) : error;
    } finally {
      inUse.delete(client);
      if (isBroken) client.destroy();
      else client.release();
    }
  }

  /** A server goes on with a statement whose connection was given up. */
  async function killConnection(threadId: number): Promise<void> {
    try {
      const other = await mysql.createConnection({ ...connection, connectTimeout: killMs });
      await other.query({ sql: `kill ${threadId}`, timeout: killMs }).finally(() => other.destroy());
    } catch {
      // The server is gone, or ends the statement by its own limit.
    }
  }

  return {
    read: (work, how) =>
      inTransaction(
        (run, describe) => work(mysqlSession(run, options.timeZone, how), queryCheck(describe)),
        how?.seconds,
      ),
    facts: () => inTransaction(readShopFacts),
    close: () => pool.end(),
  };
}

/**
 * Settings of a new connection. The zone and the SQL mode stay as they are: the shop's queries may rely on them. MySQL
 * cuts the text of `group_concat` without a word after 1,024 bytes, and the rows of a statement after
 * `sql_select_limit`.
 */
async function prepareSession(run: RunStatement): Promise<StatementLimit> {
  await run('set names utf8mb4');
  await run('set session transaction isolation level repeatable read, read only');
  await run('set session lock_wait_timeout = 5, group_concat_max_len = greatest(@@group_concat_max_len, 1048576)');
  await run('set session sql_select_limit = 18446744073709551615');
  const [row] = await run('select version() as version');
  const isMaria = row?.version?.includes('MariaDB') === true;
  const [name, unitsASecond] = isMaria ? ['max_statement_time', 1] : ['max_execution_time', 1000];
  const [limit] = await run(`select @@${name} as own`);
  return { name, unitsASecond, own: Number(limit?.own), seconds: undefined };
}

/**
 * The time limit of a connection's statements: its variable, the value that server or user gave it (0: none), and the
 * limit that was asked for last.
 */
type StatementLimit = { name: string; unitsASecond: number; own: number; seconds: number | undefined };

/** The limit of the server or the user holds where it is shorter. */
async function limitStatements(run: RunStatement, limit: StatementLimit, seconds: number): Promise<void> {
  const wanted = seconds * limit.unitsASecond;
  await run(`set session ${limit.name} = ${limit.own > 0 ? Math.min(limit.own, wanted) : wanted}`);
  limit.seconds = seconds;
}

/** A MySQL greets first. A server that accepts a connection and sends nothing is a Postgres, a web server, or hangs. */
function noGreeting(): ReviewSyncError {
  const message = 'the server accepts the connection, but does not greet as MySQL and MariaDB do';
  return new ReviewSyncError('shop', `The shop database cannot be reached: ${message}`, {
    cause: Object.assign(new Error(message), { code: 'NO_GREETING' }),
    hint:
      'Correct the port in SHOP_DATABASE_URL (the address of a Postgres begins with postgres://), ' +
      'or see whether the server hangs.',
  });
}

function serverAccepts({ host, port, socketPath }: ConnectionOptions): Promise<boolean> {
  const socket = connect(socketPath === undefined ? { host, port, timeout: killMs } : { path: socketPath });
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    for (const event of ['timeout', 'error']) socket.once(event, () => resolve(false));
  }).finally(() => socket.destroy());
}

type Describe = (sql: string) => Promise<mysql.FieldPacket[]>;

function queryCheck(describe: Describe): QueryCheck {
  return {
    dialect: 'mysql',
    dateParameter: () => ':since',
    async describe(body) {
      const { text } = replaceParameter(body, 'since', 'null', 'mysql');
      return (await describe(`select * from ${text} w limit 0`)).map(foundColumn);
    },
    // The message names the line.
    positionOf: () => undefined,
    isWithheld,
    isTimeout,
  };
}

/** Flags of a column of the protocol. */
const [enumFlag, setFlag] = [256, 2048];
/** The character set of values that are bytes. */
const binary = 63;

const plainTypes: Readonly<Record<number, string>> = {
  0: 'decimal',
  1: 'tinyint',
  2: 'smallint',
  3: 'int',
  4: 'float',
  5: 'double',
  6: 'null',
  7: 'timestamp',
  8: 'bigint',
  9: 'mediumint',
  10: 'date',
  11: 'time',
  12: 'datetime',
  13: 'year',
  16: 'bit',
  245: 'json',
  246: 'decimal',
  247: 'enum',
  248: 'set',
  255: 'geometry',
};

function foundColumn(field: mysql.FieldPacket): FoundColumn {
  const number = field.columnType ?? field.type ?? 0;
  const flags = typeof field.flags === 'number' ? field.flags : 0;
  const type = plainTypes[number] ?? textType(number, flags, field);
  const read = type === 'timestamp' ? 'instant' : type === 'datetime' ? 'local date' : 'text';
  return { name: field.name, typeName: type, type, read };
}

function textType(number: number, flags: number, { characterSet, extendedFormat }: mysql.FieldPacket): string {
  if (extendedFormat === 'json') return 'json';
  if ((flags & enumFlag) !== 0) return 'enum';
  if ((flags & setFlag) !== 0) return 'set';
  const isBinary = characterSet === binary;
  if (number === 254) return isBinary ? 'binary' : 'char';
  if (number === 253 || number === 15) return isBinary ? 'varbinary' : 'varchar';
  return isBinary ? 'blob' : 'text';
}
