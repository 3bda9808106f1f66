import { describeError, ReviewSyncError } from '../base/errors.ts';
import type { Driver, DriverConnection, SqlWords } from './driver.ts';
import { connectionOptions } from './mysql/mysql-url.ts';
import { mysqlWords } from './mysql/mysql-words.ts';
import { openPostgres } from './postgres/postgres-driver.ts';
import { postgresWords } from './postgres/postgres-words.ts';
import type { ReadOptions, ShopSession } from './session.ts';
import { cancelledError, statementSeconds } from './shop-errors.ts';
import type { SqlDialect } from './sql-text.ts';

export type ShopDatabase = ReturnType<typeof openDatabase>;

export type ShopDatabaseOptions = {
  url: string;
  connections: number;
  /** SHOP_TIME_ZONE, the zone of dates without zone. */
  timeZone?: string | undefined;
  /** Once aborted, running statements fail, and nothing more is read. */
  signal?: AbortSignal | undefined;
  /** How long the server may be silent during a statement. Default: 45 s. */
  silenceMs?: number;
};

/** The kind of database that SHOP_DATABASE_URL names (src/app/config.ts has the protocols). */
export const dialectOf = (url: string): SqlDialect => (/^(mysql|mariadb):/i.test(url) ? 'mysql' : 'postgres');

/** @throws UsageError for an unknown parameter of the URL. */
export function openDatabase(options: ShopDatabaseOptions) {
  const { url, connections, timeZone, signal, silenceMs = statementSeconds * 1500 } = options;
  const isPostgres = dialectOf(url) === 'postgres';
  const words: SqlWords = isPostgres ? postgresWords : mysqlWords;
  const address = isPostgres ? undefined : connectionOptions(url);
  let driver: Promise<Driver> | undefined;
  const inUse = new Set<DriverConnection>();
  signal?.addEventListener('abort', () => {
    for (const connection of inUse) connection.stop();
  });

  async function open(): Promise<Driver> {
    if (!address) return openPostgres(url, connections, silenceMs);
    // mysql2 takes 75 ms of processor time to load.
    const { openMysql } = await import('./mysql/mysql-driver.ts');
    return openMysql(address, connections, silenceMs);
  }

  /**
   * One read-only transaction with one snapshot. The session keeps its own time zone and date style: the shop's queries
   * may rely on them.
   *
   * @throws ReviewSyncError if the database cannot be reached, or a statement takes longer than 30 s.
   */
  async function read<T>(work: (session: ShopSession) => Promise<T>, how: ReadOptions = {}): Promise<T> {
    const { seconds = statementSeconds } = how;
    signal?.throwIfAborted();
    driver ??= open();
    const opened = await driver;
    const connection = await opened.connect().catch((cause: unknown) => {
      throw new ReviewSyncError('shop', `The shop database cannot be reached: ${describeError(cause)}`, {
        cause,
        hint: 'See whether it is up and whether SHOP_DATABASE_URL is right.',
      });
    });
    let isBroken = false;
    inUse.add(connection);
    try {
      signal?.throwIfAborted();
      await connection.begin(seconds);
      const result = await work({ connection, words, zone: timeZone ?? 'UTC', ...how });
      await connection.run('commit');
      return result;
    } catch (error) {
      await connection.run('rollback').catch(() => {
        isBroken = true;
      });
      // The driver's message does not name the database.
      if (isBroken || words.isLocked(error))
        throw new ReviewSyncError('shop', 'The shop database cannot be read', { cause: error });
      throw cancelledError(words, 'the shop database', error, seconds);
    } finally {
      inUse.delete(connection);
      connection.release(isBroken);
    }
  }

  return { words, read, close: async (): Promise<void> => (await driver)?.close() };
}
