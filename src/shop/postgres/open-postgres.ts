import pg from 'pg';
import { describeError, ReviewSyncError } from '../../base/errors.ts';
import { surviveLostConnections } from '../../base/lost-connections.ts';
import type { FoundColumn, QueryCheck } from '../queries.ts';
import type { ShopDatabase, ShopDatabaseOptions } from '../session.ts';
import { statementSeconds, timeoutError } from '../shop-timeout.ts';
import { readShopFacts } from './postgres-facts.ts';
import { isTimeout } from './postgres-fault.ts';
import { postgresSession } from './postgres-session.ts';

export function openPostgres(options: ShopDatabaseOptions): ShopDatabase {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections,
    application_name: 'review-sync',
    connectionTimeoutMillis: 15_000,
    // Longer than the five minutes between two runs. A new connection reads the catalogs of all tables again: 1,600
    // pages and more, where one that is kept reads some hundred (npm run bench:shop). It is replaced every hour, so
    // that what it caches stays small.
    idleTimeoutMillis: 400_000,
    maxLifetimeSeconds: 3600,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    types: { getTypeParser: () => (text: string) => text },
  });
  surviveLostConnections(pool, options.silenceMs ?? statementSeconds * 1500);
  const inUse = new Set<pg.PoolClient>();
  options.signal?.addEventListener('abort', () => {
    // The server ends the statement once it notices, or by its own limit.
    for (const client of inUse) (client as unknown as { connection: pg.Connection }).connection.stream.destroy();
  });

  async function inTransaction<T>(work: (client: pg.ClientBase) => Promise<T>, seconds = statementSeconds): Promise<T> {
    options.signal?.throwIfAborted();
    const client = await pool.connect().catch((cause) => {
      throw new ReviewSyncError('shop', `The shop database cannot be reached: ${describeError(cause)}`, {
        cause,
        hint: 'See whether it is up and whether SHOP_DATABASE_URL is right.',
      });
    });
    // A connection that broke in the middle must not go back to the pool.
    let isBroken = false;
    const onError = () => {
      isBroken = true;
    };
    client.on('error', onError);
    inUse.add(client);
    try {
      options.signal?.throwIfAborted();
      await beginBounded(client, seconds);
      const result = await work(client);
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch(onError);
      throw isTimeout(error) ? timeoutError('the shop database', seconds) : error;
    } finally {
      client.off('error', onError);
      inUse.delete(client);
      client.release(isBroken);
    }
  }

  return {
    read: (work, how) =>
      inTransaction((client) => work(postgresSession(client, options.timeZone, how), queryCheck(client)), how?.seconds),
    facts: () => inTransaction(readShopFacts),
    close: () => pool.end(),
  };
}

/**
 * Utility statements only: an expression would make each new connection read some hundred pages of catalogs. A time
 * limit that the database or the user has of its own holds where it is shorter.
 */
async function beginBounded(client: pg.ClientBase, seconds: number): Promise<void> {
  await client.query(`begin isolation level repeatable read read only; set local lock_timeout to '5s'`);
  const { rows } = await client.query<{ statement_timeout: string }>('show statement_timeout');
  const own = secondsOfSetting(rows[0]?.statement_timeout ?? '0');
  if (own === 0 || own > seconds) await client.query(`set local statement_timeout to '${seconds}s'`);
}

/** A duration as Postgres shows a setting: `0`, `500ms`, `30s`, `2min`, `1h`, `1d`. */
function secondsOfSetting(setting: string): number {
  const [, number, unit = 'ms'] = /^(\d+)([a-z]+)?$/.exec(setting) ?? [];
  const seconds: Readonly<Record<string, number>> = { ms: 0.001, s: 1, min: 60, h: 3600, d: 86_400 };
  return Number(number) * (seconds[unit] ?? Number.NaN);
}

function queryCheck(client: pg.ClientBase): QueryCheck {
  const before = 'select * from ';
  return {
    dialect: 'postgres',
    dateParameter: (read) => `($1::${read === 'instant' ? 'timestamptz' : 'timestamp'})`,
    async describe(body, hasParameter) {
      const { fields } = await client.query(`${before}${body} w limit 0`, hasParameter ? [null] : []);
      const { rows } = await client.query<{ oid: string; name: string; type: string }>(
        `select t.oid, t.typname as name, format('%I.%I', n.nspname, t.typname) as type
         from pg_type t join pg_namespace n on n.oid = t.typnamespace where t.oid = any($1::oid[])`,
        [fields.map((field) => field.dataTypeID)],
      );
      const types = new Map(rows.map((row) => [Number(row.oid), row]));
      return fields.map(({ name, dataTypeID }): FoundColumn => {
        const { name: typeName, type } = types.get(dataTypeID) ?? { name: `oid ${dataTypeID}`, type: 'text' };
        const read = typeName === 'timestamptz' ? 'instant' : typeName === 'timestamp' ? 'local date' : 'text';
        return { name, typeName, type, read };
      });
    },
    positionOf(error) {
      if (!(error instanceof pg.DatabaseError) || error.position === undefined) return undefined;
      return Number(error.position) - 1 - before.length;
    },
    isTimeout,
    isWithheld: (error) => error instanceof pg.DatabaseError && error.code === '42501',
  };
}
