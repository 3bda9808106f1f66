import { describeError, ReviewSyncError } from '../base/errors.ts';
import type { Driver, DriverConnection, DriverOptions, SqlWords } from './driver.ts';
import { connectionOptions } from './mysql/mysql-url.ts';
import { mysqlWords } from './mysql/mysql-words.ts';
import { openPostgres } from './postgres/postgres-driver.ts';
import { postgresWords } from './postgres/postgres-words.ts';
import { cancelledError, type ReadOptions, type ShopSession, statementSeconds } from './session.ts';
import type { SqlDialect } from './sql-text.ts';

export type ShopDatabase = ReturnType<typeof openDatabase>;

export type ShopDatabaseOptions = Pick<DriverOptions, 'url' | 'connections'> & {
  /** SHOP_TIME_ZONE, the zone of dates without zone. */
  timeZone?: string | undefined;
  /** Once it is aborted, statements that run fail, and nothing more is read. */
  signal?: AbortSignal | undefined;
  silenceMs?: number;
};

/** The kind of database that SHOP_DATABASE_URL names (src/app/config.ts has the protocols). */
export const dialectOf = (url: string): SqlDialect => (/^(mysql|mariadb):/i.test(url) ? 'mysql' : 'postgres');

/** @throws UsageError for a parameter of the URL that is not known. */
export function openDatabase(options: ShopDatabaseOptions) {
  const { url, connections, timeZone, signal, silenceMs = statementSeconds * 1500 } = options;
  const words: SqlWords = dialectOf(url) === 'postgres' ? postgresWords : mysqlWords;
  const open = opener({ url, connections, silenceMs });
  let driver: Promise<Driver> | undefined;
  const inUse = new Set<DriverConnection>();
  signal?.addEventListener('abort', () => {
    for (const connection of inUse) connection.stop();
  });

  async function inTransaction<T>(
    work: (connection: DriverConnection, opened: Driver) => Promise<T>,
    seconds = statementSeconds,
  ): Promise<T> {
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
      const result = await work(connection, opened);
      await connection.run('commit');
      return result;
    } catch (error) {
      await connection.run('rollback').catch(() => {
        isBroken = true;
      });
      // The words of the driver do not say of which database.
      if (words.isLocked(error))
        throw new ReviewSyncError('shop', 'The shop database cannot be read', { cause: error });
      throw cancelledError(words, 'the shop database', error, seconds);
    } finally {
      inUse.delete(connection);
      connection.release(isBroken);
    }
  }

  return {
    words,
    /**
     * One read-only transaction that sees one moment. The session keeps its own time zone and date style: the shop's
     * queries may rely on them.
     *
     * @throws ReviewSyncError if the database cannot be reached, or a statement takes longer than 30 s.
     */
    read: <T>(
      work: (session: ShopSession, connection: DriverConnection) => Promise<T>,
      how?: ReadOptions,
    ): Promise<T> =>
      inTransaction(
        (connection) => work({ connection, words, zone: timeZone ?? 'UTC', ...how }, connection),
        how?.seconds,
      ),
    facts: () => inTransaction((connection, { facts }) => facts(connection)),
    close: async (): Promise<void> => (await driver)?.close(),
  };
}

/** mysql2 takes 75 ms of processor time to load: it is loaded at the first reading of such a shop. */
function opener(options: DriverOptions): () => Promise<Driver> {
  if (dialectOf(options.url) === 'postgres') return async () => openPostgres(options);
  const address = connectionOptions(options.url);
  return async () => (await import('./mysql/mysql-driver.ts')).openMysql(address, options);
}
