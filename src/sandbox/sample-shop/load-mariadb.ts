import { readFile } from 'node:fs/promises';
import mysql from 'mysql2/promise';
import { packagePath } from '../../base/package-path.ts';
import type { SampleShop, ShopTables } from './generate.ts';

/** Rows of one statement, so that it stays below a server's max_allowed_packet. */
const rowsAtOnce = 2000;

/**
 * Makes the database of the `mysql://` address, with the sample shop in it. Its dates are in Korean time, without zone.
 */
export async function loadSampleShopIntoMariadb(databaseUrl: string, shop: SampleShop): Promise<void> {
  const server = new URL(databaseUrl);
  const database = server.pathname.slice(1);
  server.pathname = '';
  const connection = await mysql.createConnection({ uri: server.href, multipleStatements: true, timezone: '+09:00' });
  try {
    await connection.query('create database ?? character set utf8mb4; use ??', [database, database]);
    await connection.query(await readFile(packagePath('sql', 'demo', 'mariadb', 'schema.sql'), 'utf8'));
    // Parents come before children: the order of ShopTables is the order of the foreign keys.
    for (const table of Object.keys(shop.tables) as (keyof ShopTables)[]) {
      const rows: readonly object[] = shop.tables[table];
      const columns = Object.keys(rows[0] ?? {});
      for (let at = 0; at < rows.length; at += rowsAtOnce) {
        const values = rows.slice(at, at + rowsAtOnce).map((row) => Object.values(row));
        await connection.query('insert into ?? (??) values ?', [table, columns, values]);
      }
    }
  } finally {
    await connection.end();
  }
}
