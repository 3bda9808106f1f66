import pg from 'pg';
import { type Db, rowsOf, statement } from './index.ts';

/** The sessions with an open transaction on our tables, the oldest first, at most three. */
export const sessionsOnOurTables = (db: Db) => rowsOf<{ pid: number; what: string }>(db, 'sessions_in_the_way', null);

/** A statement that waits this many seconds for a lock is reported. */
const worthAWordSeconds = 5;

/**
 * Looks every five seconds whether statements of review-sync wait for a lock that another session holds, such as `vacuum
 * full`. It opens a connection for each look, because the connections of the pool may all be waiting.
 *
 * @param say called with the sessions that statements wait for. The same sessions are reported once.
 */
export function watchLockWaits(url: string, say: (text: string) => void): { close(): Promise<void> } {
  let said = '';
  const look = async () => {
    let client: pg.Client | undefined;
    try {
      // Not `statement_timeout`: a host that hangs ends no statement, and PgBouncer refuses the parameter.
      client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000, query_timeout: 2000 });
      client.on('error', () => {});
      await client.connect();
      const { rows } = await client.query<{ what: string }>(await statement('sessions_in_the_way'), [
        worthAWordSeconds,
      ]);
      const holders = rows.map(({ what }) => what).join('; ');
      if (holders === '' || holders === said) return;
      said = holders;
      say(`a statement waits for a lock in the warehouse, which another session holds: ${holders}`);
    } catch {
      // The work itself reports a warehouse that fails, and a wrong address.
    } finally {
      await client?.end().catch(() => {});
    }
  };
  let looking = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, worthAWordSeconds * 1000);
  return {
    async close() {
      clearInterval(timer);
      await looking;
    },
  };
}
