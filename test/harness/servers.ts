import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import mysql from 'mysql2/promise';
import pg from 'pg';
import type { Browser } from 'playwright-core';
import { inject, onTestFinished } from 'vitest';
import { freePort } from '../../src/sandbox/embedded-postgres/index.ts';
import {
  findMysqlProgram,
  type LocalMysql,
  type MysqlKind,
  startLocalMysql,
} from '../../src/sandbox/local-mysql/index.ts';
import { inTest } from './cli.ts';
import { serve } from './proxy.ts';

/**
 * A folder in memory if there is one with room, else the system's folder for temporary files. A database has 300 files:
 * a clone costs 160 ms of processor time on ext4, 14 ms in memory.
 */
export async function cheapestFolder(): Promise<string> {
  const inMemory = '/dev/shm';
  const tmpfs = 0x01021994;
  const folder = await statfs(inMemory).catch(() => undefined);
  const hasRoom = folder?.type === tmpfs && folder.bavail * folder.bsize >= 6 * 2 ** 30;
  return hasRoom ? inMemory : tmpdir();
}

/**
 * With these settings a new database costs Postgres 10 ms of processor time instead of 17: the kernel copies its files,
 * and Postgres searches few buffers for those of the template. Nothing is replicated, and files in memory need no
 * workers that read ahead. Databases of tests are short-lived, and a thousand of them would keep the autovacuum
 * launcher busy.
 */
export const cheapSettings = [
  ...(process.platform === 'win32' ? [] : ['file_copy_method=clone']),
  ...['shared_buffers=32MB', 'wal_level=minimal', 'max_wal_senders=0', 'io_method=sync', 'autovacuum=off'],
];

/**
 * Sends passwords as they are; they never leave the machine. A command opens five connections or more. With SCRAM each
 * costs the server 4.4 ms of processor time and the client 2.5 ms, with a plain password 3.1 and 1.0 ms.
 */
export async function makeConnectionsCheap(admin: string): Promise<void> {
  const client = new pg.Client({ connectionString: admin });
  const { user, password } = client;
  await client.connect();
  try {
    const { rows } = await client.query<{ hba_file: string }>('show hba_file');
    for (const statement of [
      `copy (select 'host all all 127.0.0.1/32 password') to ${client.escapeLiteral(rows[0]?.hba_file ?? '')}`,
      // The server computes as many rounds again to check a password.
      'alter system set scram_iterations = 1',
      'set scram_iterations = 1',
      `alter role ${client.escapeIdentifier(user ?? '')} password ${client.escapeLiteral(String(password))}`,
      'select pg_reload_conf()',
    ]) {
      await client.query(statement);
    }
  } finally {
    await client.end();
  }
}

const path = process.env.PATH ?? '';
const onPath = (...programs: string[]): string | undefined =>
  path
    .split(delimiter)
    .flatMap((folder) => programs.map((program) => join(folder, program)))
    .find((file) => existsSync(file));

/** The program. With REQUIRE_…=1 it must be there: CI must not skip. */
function required(name: string, program: string | undefined): string | undefined {
  if (program === undefined && process.env[`REQUIRE_${name}`] === '1')
    throw new Error(`REQUIRE_${name}=1, but there is no ${name.toLowerCase()} on the path`);
  return program;
}

/** Whether the path has a redis-server. */
export const hasRedis = required('REDIS', onPath('redis-server')) !== undefined;
/** The Chromium of the path. */
export const chromiumPath = required(
  'CHROMIUM',
  onPath('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'),
);
const programs: Readonly<Record<MysqlKind, string | undefined>> = {
  mariadb: required('MARIADB', findMysqlProgram('mariadb', path)),
  mysql: findMysqlProgram('mysql', path),
};
/** Whether the path has a mariadbd. */
export const hasMariadb = programs.mariadb !== undefined;

/** A Redis of its own on a free port, which keeps nothing. It ends with the test, or when it is closed. */
export async function startRedis(more: readonly string[] = []) {
  const directory = await mkdtemp(join(tmpdir(), 'review-sync-redis-'));
  const port = await freePort();
  const address = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory];
  const options = [...address, '--save', '', '--appendonly', 'no', ...more];
  const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
  let words = '';
  for await (const chunk of server.stdout) {
    words += String(chunk);
    if (words.includes('Ready to accept connections')) break;
  }
  if (server.exitCode !== null) throw new Error(`redis-server did not start: ${words}`);
  const exited = once(server, 'exit');
  const close = async () => {
    server.kill('SIGKILL');
    await exited;
    await rm(directory, { recursive: true, force: true });
  };
  // A hook of a file closes it itself.
  inTest(() => onTestFinished(close));
  return { url: `redis://127.0.0.1:${port}`, close };
}

declare module 'vitest' {
  export interface ProvidedContext {
    mysqlServersUrl: string;
  }
}

/** The servers that can be tested here: MariaDB, MySQL, both or none. */
export const mysqlKinds: readonly MysqlKind[] = (['mariadb', 'mysql'] as const).filter((kind) => programs[kind]);

/**
 * A new, empty database (utf8mb4) for the calling test. The first call of a test run starts the server; the others
 * share it.
 *
 * @param options.timeZone zone of the server's sessions. Each zone is a server of its own, which takes about 3 s to
 *   start.
 * @example
 * const shop = await createMysqlDatabase();
 * await shop.query('create table o (code varchar(20) primary key); insert into o values (1)');
 */
export async function createMysqlDatabase(kind: MysqlKind = 'mariadb', { timeZone = 'UTC' } = {}) {
  const response = await fetch(`${inject('mysqlServersUrl')}/${kind}?${new URLSearchParams({ timeZone })}`);
  const server = await response.text();
  if (!response.ok) throw new Error(server);
  const name = `test_${randomBytes(6).toString('hex')}`;
  await queryOf(server, `create database ${name} character set utf8mb4`);
  const url = `${server}/${name}`;
  onTestFinished(async () => void (await queryOf(server, `drop database if exists ${name}`)));
  return {
    /** For SHOP_DATABASE_URL. */
    url,
    name,
    /** Runs statements, separated by semicolons, and gives the rows of the last one as the database's own text. */
    query: (statements: string) => queryOf(url, statements),
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

/** Tells the processes of a test run the address of each server, and starts a server when it is first asked for. */
export async function serveMysqlServers() {
  const started = new Map<string, Promise<LocalMysql>>();
  const http = await serve(({ url = '' }, response) => {
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
  return {
    url: http.url,
    async close() {
      await http.close();
      for (const server of await Promise.allSettled(started.values()))
        if (server.status === 'fulfilled') await server.value.close();
    },
  };
}

async function startServer(kind: MysqlKind, timeZone: string): Promise<LocalMysql> {
  const program = programs[kind];
  if (program === undefined) throw new Error(`there is no server of ${kind} on the path`);
  return startLocalMysql(kind, program, timeZone, await cheapestFolder());
}

/** Headless. Contacts nobody by itself. */
export async function startBrowser(): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    ...(chromiumPath !== undefined && { executablePath: chromiumPath }),
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
      ...['--disable-background-networking', '--disable-component-update'],
    ],
  });
}

/** A DuckDB in memory, which shares no code with the writer of the files. It may fetch no extension. */
export async function openDuck() {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connection = await instance.connect();
  await connection.run(`set TimeZone = 'UTC'`);
  return {
    /** The rows, each value as JSON: numbers beyond a double and dates are texts. */
    rows: async (text: string): Promise<unknown[][]> => (await connection.runAndReadAll(text)).getRowsJson(),
    async [Symbol.asyncDispose]() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
