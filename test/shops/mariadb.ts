import mysql from 'mysql2/promise';
import { findMysqlProgram, startLocalMysql } from '../../src/sandbox/local-mysql/index.ts';
import { ShopUnavailable } from './install.ts';

/**
 * A MariaDB with one empty database.
 *
 * @param timeZone of the server's clock.
 * @throws ShopUnavailable where there is no MariaDB.
 */
export async function startMariadb(name: string, timeZone: string) {
  const program = findMysqlProgram('mariadb', process.env.PATH ?? '');
  if (program === undefined)
    throw new ShopUnavailable('There is no mariadbd on the path. Install MariaDB (on Debian: mariadb-server).');
  const server = await startLocalMysql('mariadb', program, timeZone);
  const url = `${server.url}/${name}`;
  await runMysql(server.url, `create database ${name} character set utf8mb4`);
  return {
    /** Address of the shop's database, for the shop itself. */
    url,
    /** For a user who may only read it, as docs/connecting.md asks for. To be called when the shop is installed. */
    async readerUrl(): Promise<string> {
      const reader = "reader@'127.0.0.1'";
      await runMysql(url, `create user ${reader} identified by 'reader'; grant select on ${name}.* to ${reader}`);
      return Object.assign(new URL(url), { username: 'reader', password: 'reader' }).href;
    },
    close: () => server.close(),
  };
}

async function runMysql(url: string, statements: string): Promise<void> {
  const connection = await mysql.createConnection({ uri: url, multipleStatements: true });
  await connection.query(statements);
  await connection.end();
}
