import { ReviewSyncError } from './errors.ts';

type Emitter = { on(event: 'error', listener: (error: Error) => void): unknown };
type Pool = Emitter & { on(event: 'connect', listener: (client: Emitter) => void): unknown };

/**
 * Keeps a broken connection from ending the process. pg reports it to the statement in flight and as an `error` event: of the
 * pool for an idle connection, of the client for one in use, such as between two statements of a transaction. Node ends a
 * process for an `error` event without a listener. The next statement fails with the reason, so the event can be ignored.
 *
 * @param pool a pg.Pool.
 */
export function surviveLostConnections(pool: Pool): void {
  pool.on('error', () => {});
  pool.on('connect', (client) => void client.on('error', () => {}));
}

/** SQLSTATE classes of transient errors: connection lost, rollback, out of resources, wrong state, shutdown, system error. */
const transientClasses = ['08', '40', '53', '55', '57', '58'];

/**
 * Whether the same work may succeed a moment later. A database that restarts, fails over or is out of connections is transient.
 * A statement that it refuses is permanent, and so are the errors of this program.
 */
export function isTransient(error: unknown): boolean {
  // A shop database that cannot be reached may be failing over.
  if (error instanceof ReviewSyncError)
    return error.code === 'shop' && error.cause !== undefined && isTransient(error.cause);
  const { severity, sqlState, code } = (error ?? {}) as { severity?: unknown; sqlState?: unknown; code?: unknown };
  const state = severity === undefined ? sqlState : code;
  return typeof state !== 'string' || transientClasses.includes(state.slice(0, 2));
}
