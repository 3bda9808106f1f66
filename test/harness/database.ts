import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

/**
 * What a new database holds. global-setup prepares them: `migrated`, a warehouse; `service`, the tables of the
 * reference service; `shop`, the same with the reviews of the sample shop, and thirty orders of that shop.
 */
export type Template = 'empty' | 'migrated' | 'shop' | 'service';

/** Keeps connections of this process to the server of all tests: a new one costs ten times as much as a statement. */
const pools = new Map<string, pg.Pool>();

/** A database of its own for the calling test. */
export async function createDatabase(template: Template = 'empty'): Promise<string> {
  const from = template === 'empty' ? 'template1' : `template_${template}`;
  const admin = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  // In memory, copying files costs Postgres 14 ms of processor time, copying through its log 30 to 45 ms.
  await queryAgain(admin, `create database ${name} template ${from} strategy file_copy`);
  const url = new URL(admin);
  url.pathname = `/${name}`;
  created.add(url.href);
  return url.href;
}

/** Databases that the tests of this file have created. */
const created = new Set<string>();

/**
 * Drops the databases of a file when all its tests have ended: a thousand databases would take 9 GB of memory. It
 * cannot drop them at the end of each test: if tests of a file run at the same time, Vitest cannot tell whose end it
 * is. A database that somebody is still connected to stays.
 */
export async function dropDatabases(): Promise<void> {
  const admin = inject('postgresUrl');
  for (const url of created) {
    await forgetDatabase(url);
    const name = new URL(url).pathname.slice(1);
    // A database that cannot be dropped goes with the server.
    await queryAgain(admin, `drop database ${name}`).catch(() => {});
  }
  created.clear();
}

/** Runs one statement on a connection of its own. */
export async function query<Row extends Record<string, unknown>>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Runs one statement on a connection that is kept for a while, for callers that ask again and again. */
export async function queryAgain<Row extends Record<string, unknown>>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const pool = poolOf(url);
  try {
    return (await pool.query<Row>(text, values)).rows;
  } catch (error) {
    // The test has terminated the connection before this statement reached the server.
    if (!(error instanceof pg.DatabaseError) || error.code !== '57P01') throw error;
    return query(url, text, values);
  }
}

/** The values of rows that have one column. */
export const valuesOf = (rows: readonly Record<string, unknown>[]) => rows.map((row) => Object.values(row)[0]);

function poolOf(url: string): pg.Pool {
  const known = pools.get(url);
  if (known) return known;
  const pool = new pg.Pool({ connectionString: url, max: 3, idleTimeoutMillis: 15_000, allowExitOnIdle: true });
  pool.on('error', () => {});
  pools.set(url, pool);
  return pool;
}

/** Closes the kept connections to a database. */
export async function forgetDatabase(url: string): Promise<void> {
  const pool = pools.get(url);
  pools.delete(url);
  await pool?.end();
}
