import pg from 'pg';
import { surviveLostConnections } from '../../base/lost-connections.ts';
import type { Driver, DriverConnection } from '../driver.ts';
import type { RawRow } from '../rows.ts';
import { readPostgresFacts } from './postgres-facts.ts';
import { explainStatement } from './postgres-plan.ts';
import { describingStatement } from './postgres-words.ts';

/** @param silenceMs if the server sends nothing for this long during a statement, it is given up. */
export function openPostgres(url: string, connections: number, silenceMs: number): Driver {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    application_name: 'review-sync',
    connectionTimeoutMillis: 15_000,
    // Longer than the five minutes between two runs. A new connection reads the catalogs of all tables again: 1,600
    // pages and more, and a kept one some hundred (npm run bench:shop). It is replaced every hour, so that its caches
    // stay small.
    idleTimeoutMillis: 400_000,
    maxLifetimeSeconds: 3600,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    types: { getTypeParser: () => (text: string) => text },
  });
  surviveLostConnections(pool, silenceMs);
  return {
    connect: async () => connectionOf(await pool.connect()),
    close: () => pool.end(),
  };
}

function connectionOf(client: pg.PoolClient): DriverConnection {
  const run = async (statement: string) => (await client.query<RawRow>(statement)).rows;
  return {
    /**
     * Utility statements only: an expression would make each new connection read some hundred pages of catalogs.
     */
    async begin(seconds) {
      await run(`begin isolation level repeatable read read only; set local lock_timeout to '5s'`);
      const [row] = await run('show statement_timeout');
      const own = secondsOfSetting(row?.statement_timeout ?? '0');
      if (own === 0 || own > seconds) await run(`set local statement_timeout to '${seconds}s'`);
    },
    run,
    async describe(body) {
      const { fields } = await client.query(describingStatement(body));
      const ids = fields.map((field) => field.dataTypeID);
      const rows = await run(
        `select t.oid, t.typname as name, format('%I.%I', n.nspname, t.typname) as type
         from pg_type t join pg_namespace n on n.oid = t.typnamespace where t.oid = any('{${ids.join()}}'::oid[])`,
      );
      const types = new Map(rows.map((row) => [Number(row.oid), row]));
      return fields.map(({ name, dataTypeID }) => {
        const { name: typeName = '', type } = types.get(dataTypeID) ?? {};
        const read = typeName === 'timestamptz' ? 'instant' : typeName === 'timestamp' ? 'local date' : 'text';
        return { name, typeName: typeName ?? '', type: type ?? 'text', read };
      });
    },
    facts: () => readPostgresFacts(run),
    explain: (statement) => explainStatement(run, statement),
    // The server ends the statement once it notices, or by its own limit.
    stop: () => (client as unknown as { connection: pg.Connection }).connection.stream.destroy(),
    release: (isBroken) => client.release(isBroken),
  };
}

/** A duration as Postgres shows a setting: `0`, `500ms`, `30s`, `2min`, `1h`, `1d`. */
function secondsOfSetting(setting: string): number {
  const [, number, unit = 'ms'] = /^(\d+)([a-z]+)?$/.exec(setting) ?? [];
  const seconds: Readonly<Record<string, number>> = { ms: 0.001, s: 1, min: 60, h: 3600, d: 86_400 };
  return Number(number) * (seconds[unit] ?? Number.NaN);
}
