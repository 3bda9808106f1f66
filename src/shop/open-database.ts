import { UsageError } from '../base/errors.ts';
import { connectionOptions } from './mysql/mysql-url.ts';
import { openPostgres } from './postgres/open-postgres.ts';
import type { ShopDatabase, ShopDatabaseOptions } from './session.ts';
import type { SqlDialect } from './sql-text.ts';

/** The kind of database that the URL names. @throws UsageError for one that no driver reads. */
export function dialectOf(url: string): SqlDialect {
  const { protocol } = new URL(url);
  switch (protocol) {
    case 'postgres:':
    case 'postgresql:':
      return 'postgres';
    case 'mysql:':
    case 'mariadb:':
      return 'mysql';
    default:
      throw new UsageError(`SHOP_DATABASE_URL begins with ${protocol}, expected a Postgres or MySQL database`, {
        hint: 'Use postgres://, postgresql://, mysql:// or mariadb://.',
      });
  }
}

/**
 * Opens the database with the driver that its URL names. mysql2 takes 75 ms of processor time to load, so it is loaded
 * at the first reading of such a shop.
 *
 * @throws UsageError for a kind of database or a parameter of the URL that is not known.
 */
export function openDatabase(options: ShopDatabaseOptions): ShopDatabase {
  if (dialectOf(options.url) === 'postgres') return openPostgres(options);
  const connection = connectionOptions(options.url);
  let opened: Promise<ShopDatabase> | undefined;
  const database = () => {
    opened ??= import('./mysql/open-mysql.ts').then(({ openMysql }) => openMysql(connection, options));
    return opened;
  };
  return {
    read: async (work, how) => (await database()).read(work, how),
    facts: async () => (await database()).facts(),
    close: async () => (await opened)?.close(),
  };
}
