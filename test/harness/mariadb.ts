import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import mysql from 'mysql2/promise';
import { inject } from 'vitest';
import {
  findMysqlProgram,
  type LocalMysql,
  type MysqlKind,
  startLocalMysql,
} from '../../src/sandbox/local-mysql/index.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    mysqlServersUrl: string;
  }
}

const path = process.env.PATH ?? '';
const programs: Readonly<Record<MysqlKind, string | undefined>> = {
  mariadb: findMysqlProgram('mariadb', path),
  mysql: findMysqlProgram('mysql', path),
};

/** Whether the path has a mariadbd. With REQUIRE_MARIADB=1 its absence is an error: CI must not skip. */
export const hasMariadb: boolean = programs.mariadb !== undefined;
if (!hasMariadb && process.env.REQUIRE_MARIADB === '1')
  throw new Error('REQUIRE_MARIADB=1, but there is no mariadbd on the path');

/** The servers that can be tested here: MariaDB, MySQL, both or none. */
export const mysqlKinds: readonly MysqlKind[] = (['mariadb', 'mysql'] as const).filter((kind) => programs[kind]);

/** A database of its own for the calling test. `url` is one for SHOP_DATABASE_URL. */
export type MysqlDatabase = {
  url: string;
  name: string;
  /** Runs statements, separated by semicolons, and gives the rows of the last one as the database's own text. */
  query(statements: string): Promise<Record<string, string | null>[]>;
  drop(): Promise<void>;
};

/**
 * A new, empty database (utf8mb4). The first call of a test run starts the server; the others share it.
 *
 * @param options.timeZone zone of the server's sessions. Each zone is a server of its own, which takes about 3 s to
 *   start.
 * @example
 * const shop = await createMysqlDatabase();
 * await shop.query('create table o (code varchar(20) primary key); insert into o values (1)');
 */
export async function createMysqlDatabase(
  kind: MysqlKind = 'mariadb',
  { timeZone = 'UTC' }: { timeZone?: string } = {},
): Promise<MysqlDatabase> {
  const response = await fetch(`${inject('mysqlServersUrl')}/${kind}?${new URLSearchParams({ timeZone })}`);
  const server = await response.text();
  if (!response.ok) throw new Error(server);
  const name = `test_${randomBytes(6).toString('hex')}`;
  await queryOf(server, `create database ${name} character set utf8mb4`);
  const url = `${server}/${name}`;
  return {
    url,
    name,
    query: (statements) => queryOf(url, statements),
    drop: async () => void (await queryOf(server, `drop database if exists ${name}`)),
  };
}

async function queryOf(url: string, statements: string): Promise<Record<string, string | null>[]> {
  const connection = await mysql.createConnection({
    uri: url,
    multipleStatements: true,
    typeCast: (field) => field.string('utf8'),
  });
  try {
    const [results] = await connection.query<mysql.RowDataPacket[] | mysql.RowDataPacket[][]>(statements);
    const last = Array.isArray(results) && Array.isArray(results.at(-1)) ? results.at(-1) : results;
    return Array.isArray(last) ? (last as Record<string, string | null>[]) : [];
  } finally {
    await connection.end();
  }
}

/** Serves the address of each server to the processes of a test run, and starts a server when it is asked for first. */
export async function serveMysqlServers(): Promise<{ url: string; close(): Promise<void> }> {
  const started = new Map<string, Promise<LocalMysql>>();
  const http = createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const server =
      started.get(url) ??
      startServer(pathname === '/mysql' ? 'mysql' : 'mariadb', searchParams.get('timeZone') ?? 'UTC');
    started.set(url, server);
    server.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async close() {
      http.closeAllConnections();
      http.close();
      for (const server of await Promise.allSettled(started.values()))
        if (server.status === 'fulfilled') await server.value.close();
    },
  };
}

function startServer(kind: MysqlKind, timeZone: string): Promise<LocalMysql> {
  const program = programs[kind];
  if (program === undefined) throw new Error(`there is no server of ${kind} on the path`);
  return startLocalMysql(kind, program, timeZone);
}
