import type { Socket } from 'node:net';
import { ReviewSyncError } from './errors.ts';

type Emitter = { on(event: 'error', listener: (error: Error) => void): unknown };
type Pool = Emitter & { on(event: 'connect', listener: (client: Emitter) => void): unknown };

/** Fields that pg's types lack: the socket, and whether no statement is in flight. */
type Client = { readyForQuery: boolean; connection: { stream: Socket } };

/**
 * Keeps a broken connection from ending the process, and ends the wait for a silent connection.
 *
 * Node ends a process for an `error` event without a listener. The pool emits it for an idle connection, and the client
 * for a connection in use, such as between two statements of a transaction. The next statement fails with the reason.
 *
 * A host that vanishes closes nothing, and TCP itself waits for 15 minutes or longer. If a statement is in flight and
 * the server sends nothing for `silenceMs`, the statement fails with `SERVER_SILENT`.
 *
 * @param pool a pg.Pool.
 * @param silenceMs longer than the server's own limit of a statement; 0: no limit.
 */
export function surviveLostConnections(pool: Pool, silenceMs: number): void {
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    client.on('error', () => {});
    const { stream } = (client as unknown as Client).connection;
    stream.setTimeout(silenceMs, () => {
      // A connection that waits for a notification, or for the next statement of its transaction, may be silent.
      if ((client as unknown as Client).readyForQuery) return;
      const message = `the server sent nothing for ${silenceMs / 1000} s`;
      stream.destroy(Object.assign(new Error(message), { code: 'SERVER_SILENT' }));
    });
  });
}

/** SQLSTATE classes of transient errors: connection, rollback, out of resources, wrong state, shutdown, system. */
const transientClasses = ['08', '40', '53', '55', '57', '58'];

/**
 * Whether the same work may succeed a moment later. A database that restarts, fails over or is out of connections is
 * transient. A refused statement is permanent, and so are errors of this program.
 */
export function isTransient(error: unknown): boolean {
  // A shop database that cannot be reached may be failing over.
  if (error instanceof ReviewSyncError)
    return error.code === 'shop' && error.cause !== undefined && isTransient(error.cause);
  const { severity, sqlState, code } = (error ?? {}) as { severity?: unknown; sqlState?: unknown; code?: unknown };
  const state = severity === undefined ? sqlState : code;
  // 25P03: the server ended a transaction in which this process was frozen.
  return typeof state !== 'string' || state === '25P03' || transientClasses.includes(state.slice(0, 2));
}
