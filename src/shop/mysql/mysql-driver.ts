import type { Socket } from 'node:net';
import mysql from 'mysql2/promise';
import type { Driver, DriverConnection, FoundColumn } from '../driver.ts';
import type { RawRow } from '../rows.ts';
import { withSince } from '../sql-text.ts';
import { readMysqlFacts } from './mysql-facts.ts';
import { explainStatement } from './mysql-plan.ts';
import type { ConnectionOptions } from './mysql-url.ts';
import { textLiteral, withoutStatement } from './mysql-words.ts';

/** @param silenceMs if the server sends nothing for this long during a statement, it is given up. */
export function openMysql(address: ConnectionOptions, connections: number, silenceMs: number): Driver {
  const pool = mysql.createPool({
    ...address,
    connectionLimit: connections,
    connectTimeout: Math.min(15_000, silenceMs),
    keepAliveInitialDelay: 30_000,
    // Every value is the database's own text: numbers are not rounded, dates not converted.
    typeCast: (field) => field.string('utf8'),
  });
  // The statement in flight fails with the reason. Without a listener, Node ends the process.
  pool.pool.on('connection', (opened) => void opened.on('error', () => {}));
  const prepared: Prepared = new WeakMap();
  return {
    async connect() {
      try {
        return connectionOf(await pool.getConnection(), silenceMs, prepared);
      } catch (error) {
        throw withoutStatement(error);
      }
    },
    close: () => pool.end(),
  };
}

/** The variable that limits the time of a statement, for each connection that is prepared. */
type Prepared = WeakMap<object, TimeLimit>;

function connectionOf(client: mysql.PoolConnection, silenceMs: number, prepared: Prepared): DriverConnection {
  // The client's `destroy` would leave its statement pending. The server ends it by its own limit.
  const stop = () => {
    (client.connection as unknown as { stream: Socket }).stream.destroy(new Error('the reading was stopped'));
  };

  async function query(sql: string) {
    try {
      return await client.query<mysql.RowDataPacket[]>({ sql, timeout: silenceMs });
    } catch (error) {
      if ((error as { code?: string }).code !== 'PROTOCOL_SEQUENCE_TIMEOUT') throw withoutStatement(error);
      stop();
      const message = `the server sent nothing for ${silenceMs / 1000} s`;
      throw Object.assign(new Error(message), { code: 'SERVER_SILENT' });
    }
  }

  async function run(sql: string): Promise<RawRow[]> {
    const [rows] = await query(sql);
    return Array.isArray(rows) ? (rows as RawRow[]) : [];
  }

  return {
    async begin(seconds) {
      const limit = prepared.get(client.connection) ?? (await prepareSession(run));
      prepared.set(client.connection, limit);
      const wanted = seconds * limit.unitsASecond;
      await run(`set session ${limit.variable} = if(@own_limit > 0, least(@own_limit, ${wanted}), ${wanted})`);
      await run('start transaction with consistent snapshot, read only');
    },
    run,
    async describe(body) {
      const text = withSince(body, 'null', 'mysql');
      const [, fields] = await query(`select * from ${text} w limit 0`);
      // A text made of two collations can be selected, but not compared.
      for (const { name } of fields.filter(isCompared))
        await query(`select 1 from ${text} w where w.${name} = ${textLiteral('')} limit 0`);
      return fields.map(foundColumn);
    },
    facts: () => readMysqlFacts(run),
    explain: (statement) => explainStatement(run, statement),
    stop,
    release: (isBroken) => (isBroken ? client.destroy() : client.release()),
  };
}

type TimeLimit = { variable: string; unitsASecond: number };

/**
 * Settings of a new connection. The zone and the SQL mode stay as they are: the shop's queries may rely on them. MySQL
 * silently cuts the text of `group_concat` after 1,024 bytes, and the rows of a statement after `sql_select_limit`.
 * Shared hosts set `max_join_size`, which refuses statements that may read more rows.
 */
async function prepareSession(run: DriverConnection['run']): Promise<TimeLimit> {
  await run('set names utf8mb4');
  await run('set session transaction isolation level repeatable read, read only');
  await run('set session lock_wait_timeout = 5, group_concat_max_len = greatest(@@group_concat_max_len, 1048576)');
  await run('set session sql_select_limit = 18446744073709551615, sql_big_selects = 1');
  const [row] = await run('select version() as version');
  const limit = row?.version?.includes('MariaDB')
    ? { variable: 'max_statement_time', unitsASecond: 1 }
    : { variable: 'max_execution_time', unitsASecond: 1000 };
  await run(`set @own_limit = @@${limit.variable}`);
  return limit;
}

/** Flags of a column of the protocol. */
const enumFlag = 256;
const setFlag = 2048;
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

/** Whether orders and lines are found by the column. */
const isCompared = ({ name }: mysql.FieldPacket) => name === 'code' || name === 'order_code';

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
