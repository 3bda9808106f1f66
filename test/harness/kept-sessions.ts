import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';
import { inject } from 'vitest';

/** What pg has beyond its types. */
type Connection = EventEmitter & {
  stream: Socket;
  parsedStatements: object;
  connect(...at: unknown[]): void;
  query(text: string): void;
  end(): void;
};
type Client = {
  connection: Connection;
  connectionParameters: { host: string; port: number; user: string };
  processID: number;
  secretKey: number;
  readyForQuery: boolean;
  _txStatus: string;
  getStartupConf(): object;
  _connect(callback: unknown): void;
};
type Session = { key: string; connection: Connection; greeting: { processID: number; secretKey: number } };

/** As many as a command and its queue open. */
const most = 12;

/** Sessions whose client has ended, the one that ended last at the end. */
const idle: Session[] = [];

/** Sessions that are about to become idle. */
const resetting = new Map<Session, Promise<unknown>>();

let connect: Client['_connect'] | undefined;

/**
 * From now on a session of the tests' own server outlives its client, without locks, settings, statements and
 * subscriptions, and the next client with the same settings gets it. A new session costs Postgres 4 ms of processor
 * time until it has read the catalog, and 20 to 60 ms until it has compiled BullMQ's functions: half of what
 * `sync orders` costs. Processes of their own (`startCli`) open sessions of their own.
 */
export function keepSessions(): void {
  if (connect) return;
  const { prototype } = pg.Client as unknown as { prototype: Client };
  connect = prototype._connect;
  prototype._connect = function (callback) {
    const { host, port, user } = this.connectionParameters;
    const server = new URL(inject('postgresUrl'));
    if (host === server.hostname && port === Number(server.port) && user === server.username) reuse(this);
    connect?.call(this, callback);
  };
}

function reuse(client: Client): void {
  const key = JSON.stringify(client.getStartupConf());
  const session = idle.findLast((one) => one.key === key);
  if (session) greetFrom(session, client);
  const { connection } = client;
  connection.end = () => {
    const isIdle = client.readyForQuery && client._txStatus === 'I' && connection.stream.writable;
    const { processID, secretKey } = client;
    if (isIdle) keep({ key, connection, greeting: { processID, secretKey } });
    else endReally(connection);
  };
}

function greetFrom(session: Session, client: Client): void {
  const { connection, greeting } = session;
  forget(session);
  connection.removeAllListeners();
  connection.stream.ref();
  connection.connect = () =>
    setImmediate(() => {
      connection.emit('backendKeyData', greeting);
      connection.emit('readyForQuery', { status: 'I' });
    });
  client.connection = connection;
}

const endReally = (connection: Connection): void => Object.getPrototypeOf(connection).end.call(connection);

const reset = `close all; reset session authorization; reset all; deallocate all; unlisten *;
  select pg_advisory_unlock_all(); discard temp; discard sequences`;

function keep(session: Session): void {
  const { connection } = session;
  for (const event of connection.eventNames()) if (event !== 'end') connection.removeAllListeners(event);
  connection.on('error', () => {}).once('errorMessage', () => endReally(connection));
  connection.parsedStatements = {};
  connection.stream.setTimeout(0).removeAllListeners('timeout');
  resetting.set(session, endOf(session));
  connection.once('end', () => resetting.delete(session));
  connection.once('readyForQuery', () => {
    // The client has ended.
    connection.emit('end');
    connection.removeAllListeners('end').once('end', () => forget(session));
    connection.stream.unref();
    idle.push(session);
    for (const old of idle.splice(0, Math.max(0, idle.length - most))) endReally(old.connection);
  });
  connection.query(reset);
}

const endOf = ({ connection }: Session) => new Promise((resolve) => connection.once('end', resolve));

function forget(session: Session): void {
  const place = idle.indexOf(session);
  if (place >= 0) idle.splice(place, 1);
}

/** Closes the kept sessions of a database, which nobody can drop or copy otherwise. */
export async function closeSessions(database: string): Promise<void> {
  const isOf = ({ key }: Session) => JSON.parse(key).database === database;
  await Promise.all([...resetting].map(([session, end]) => isOf(session) && end));
  await Promise.all(
    idle.filter(isOf).map(async (session) => {
      forget(session);
      const end = endOf(session);
      endReally(session.connection);
      await end;
    }),
  );
}
