import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

export type EmbeddedDatabase = {
  /** `postgres://` address of one database of the server, which need not exist yet. */
  url(database: string): string;
  /** Creates the database unless it exists. Returns its address. */
  createDatabase(database: string): Promise<string>;
  /** Where the server keeps its files. */
  readonly directory: string;
  close(): Promise<void>;
};

export type EmbeddedDatabaseOptions = {
  /** Folder that survives the process; without it, a temporary one that goes with the server. */
  keepIn?: string;
  /** Where the temporary folder is made; default: the system's. */
  temporaryIn?: string;
  /** TCP port on 127.0.0.1; default: a free one. */
  port?: number;
  /** Settings of the server, such as `wal_level=logical`. */
  settings?: readonly string[];
};

/** The request to the host process, and its response. */
export type HostOrder = { directory: string; temporary: boolean; port: number; settings: readonly string[] };
export type HostAnswer = { ready: { directory: string; password: string } } | { failed: string };

/**
 * Starts a Postgres 18 on 127.0.0.1, in a process of its own; nothing needs to be installed. When this process ends, in
 * whatever way, that process stops the server and removes its temporary folder. For demo, tests and trying out only.
 * The user of the addresses is a superuser. Its random password is kept beside the data, in a folder that is closed to
 * other users.
 *
 * @throws Error with the server's own words if it does not start.
 */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions = {}): Promise<EmbeddedDatabase> {
  const { keepIn, temporaryIn = tmpdir() } = options;
  const directory = keepIn ?? (await mkdtemp(join(temporaryIn, 'review-sync-postgres-')));
  const order: HostOrder = {
    directory,
    temporary: keepIn === undefined,
    port: options.port ?? (await freePort()),
    settings: options.settings ?? [],
  };
  // Detached: Ctrl-C reaches only us, so that the server is still there while we close what uses it.
  const host = fork(fileURLToPath(new URL(`./host${extname(import.meta.url)}`, import.meta.url)), {
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(host, 'exit');
  host.send(order);
  const answer: HostAnswer = await Promise.race([
    once(host, 'message').then(([message]) => message as HostAnswer),
    exited.then(([code]) => ({ failed: `its process ended with status ${code} before the server was ready` })),
  ]);
  if ('failed' in answer) {
    if (host.connected) host.disconnect();
    await exited;
    if (order.temporary) await rm(directory, { recursive: true, force: true });
    throw new Error(`The embedded Postgres did not start in ${directory}: ${answer.failed}`);
  }
  host.unref();
  host.channel?.unref();

  const { ready } = answer;
  const url = (database: string) => `postgres://postgres:${ready.password}@127.0.0.1:${order.port}/${database}`;
  return {
    url,
    directory: ready.directory,
    async createDatabase(database) {
      const client = new pg.Client({ connectionString: url('postgres') });
      await client.connect();
      try {
        const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
        if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
      } finally {
        await client.end();
      }
      return url(database);
    },
    async close() {
      host.ref();
      if (host.connected) host.disconnect();
      if (host.exitCode === null && host.signalCode === null) await exited;
    },
  };
}

/** A TCP port on 127.0.0.1 that nobody listens on at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP port could be had on 127.0.0.1');
  return address.port;
}
