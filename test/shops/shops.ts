import mysql from 'mysql2/promise';
import pg from 'pg';
import { type EmbeddedDatabase, freePort, startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { findMysqlProgram, type LocalMysql, startLocalMysql } from '../../src/sandbox/local-mysql/index.ts';
import { ShopUnavailable } from './install.ts';
import { type Findings, live } from './live.ts';
import { stockMedusa } from './medusa/goods.ts';
import { lifeInMedusa } from './medusa/life.ts';
import { startMedusa } from './medusa/shop.ts';
import { openReviewSync } from './review-sync.ts';
import type { Shop, Step } from './shop.ts';
import { stockVendure } from './vendure/goods.ts';
import { lifeInVendure } from './vendure/life.ts';
import { startVendure } from './vendure/shop.ts';

/** The shops that `npm run test:shops` tries. `run` throws ShopUnavailable where it cannot be had here. */
export const shops: readonly { name: string; run(name: string): Promise<Findings> }[] = [
  {
    name: 'vendure-postgres',
    run: (name) =>
      tryShop(name, async (database) => {
        const url = await database.createDatabase('vendure');
        // Vendure's process and its database in two zones, as the preset's README describes.
        await runSql(url, "alter database vendure set timezone = 'America/New_York'");
        const vendure = await startVendure({
          preset: 'vendure',
          url,
          readerUrl: () => createReader(url),
          timeZone: 'Asia/Kolkata',
          shopTimeZone: 'Asia/Kolkata',
          port: await freePort(),
        });
        return [vendure, lifeInVendure(vendure, await stockVendure(vendure.admin))];
      }),
  },
  {
    name: 'vendure-mariadb',
    run: (name) =>
      tryShop(name, async () => {
        // On MySQL Vendure's process writes UTC, whatever its own zone and that of the database are.
        const server = await startMariadb('Asia/Kolkata');
        const url = `${server.url}/vendure`;
        await runMysql(server.url, 'create database vendure character set utf8mb4');
        const vendure = await startVendure({
          preset: 'vendure-mysql',
          url,
          readerUrl: () => createMysqlReader(url),
          timeZone: 'America/New_York',
          port: await freePort(),
        });
        const close = async () => {
          await vendure.close();
          await server.close();
        };
        return [{ ...vendure, close }, lifeInVendure(vendure, await stockVendure(vendure.admin))];
      }),
  },
  {
    name: 'medusa-postgres',
    run: (name) =>
      tryShop(name, async (database) => {
        const url = await database.createDatabase('medusa');
        const medusa = await startMedusa({ url, readerUrl: () => createReader(url), port: await freePort() });
        return [medusa, lifeInMedusa(medusa, await stockMedusa(medusa.admin))];
      }),
  },
];

async function tryShop(
  name: string,
  start: (database: EmbeddedDatabase) => Promise<[Shop, Step[]]>,
): Promise<Findings> {
  await using opened = new AsyncDisposableStack();
  const database = await startEmbeddedDatabase();
  opened.defer(() => database.close());
  const [shop, steps] = await start(database);
  opened.defer(() => shop.close());
  const sync = await openReviewSync(name.replaceAll('-', '_'), database, shop);
  opened.defer(() => sync.close());
  return await live(shop, sync, steps);
}

/** A user who may only read, as docs/connecting.md asks for. */
async function createReader(url: string): Promise<string> {
  await runSql(
    url,
    `create role reader login password 'reader'; grant usage on schema public to reader;
     grant select on all tables in schema public to reader`,
  );
  return Object.assign(new URL(url), { username: 'reader', password: 'reader' }).href;
}

async function runSql(url: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statements);
  await client.end();
}

async function startMariadb(timeZone: string): Promise<LocalMysql> {
  const program = findMysqlProgram('mariadb', process.env.PATH ?? '');
  if (program === undefined)
    throw new ShopUnavailable('There is no mariadbd on the path. Install MariaDB (on Debian: mariadb-server).');
  return startLocalMysql('mariadb', program, timeZone);
}

async function createMysqlReader(url: string): Promise<string> {
  await runMysql(
    url,
    "create user reader@'127.0.0.1' identified by 'reader'; grant select on vendure.* to reader@'127.0.0.1'",
  );
  return Object.assign(new URL(url), { username: 'reader', password: 'reader' }).href;
}

async function runMysql(url: string, statements: string): Promise<void> {
  const connection = await mysql.createConnection({ uri: url, multipleStatements: true });
  await connection.query(statements);
  await connection.end();
}
