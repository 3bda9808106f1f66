import { readFile } from 'node:fs/promises';
import { Kysely, PostgresDialect } from 'kysely';
import pLimit, { type LimitFunction } from 'p-limit';
import pg from 'pg';
import { packagePath } from '../package-root.ts';
import type { Database } from './schema.ts';

/** The warehouse or a transaction in it: functions that write take it first, so that rows and cursor share one. */
export type Db = Kysely<Database>;

export type Warehouse = {
  readonly db: Db;
  /** The pool below `db`, for what Kysely does not know: advisory locks, the rate limiter's table. */
  readonly pool: pg.Pool;
  readonly statements: Statements;
  /** Pages that land at a time: more than the server has cores for only wait for each other. */
  readonly landings: LimitFunction;
  /** Product ids by code that this process has entered already: what is known costs no statement. */
  readonly knownProducts: Map<string, number>;
  close(): Promise<void>;
};

/** The big statements of sql/warehouse/statements/, one a file. */
export type Statements = Readonly<
  Record<'landReviews' | 'compareReviews' | 'learnProducts' | 'openBiToReaders', string>
>;

export type WarehouseOptions = {
  url: string;
  /** Connections at the most. Each order in flight holds one while it is being pushed. */
  connections: number;
};

/** Opens the warehouse. Nothing is connected yet: the first statement does that. */
export async function openWarehouse(options: WarehouseOptions): Promise<Warehouse> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections,
    application_name: 'review-sync',
    connectionTimeoutMillis: 15_000,
    keepAlive: true,
    types: { getTypeParser: typeParser },
  });
  // A connection that breaks while idle is replaced; the next statement tells if the server is really gone.
  pool.on('error', () => {});
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  return {
    db,
    pool,
    statements: {
      landReviews: await statement('land_reviews'),
      compareReviews: await statement('compare_reviews'),
      learnProducts: await statement('learn_products'),
      openBiToReaders: await statement('open_bi_to_readers'),
    },
    landings: pLimit(3),
    knownProducts: new Map(),
    close: () => db.destroy(),
  };
}

/**
 * Runs `work` in a transaction, again where Postgres ended it for a deadlock: two windows may land the same reviews in
 * different orders, over the created and over the updated axis.
 */
export async function inTransaction<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(work);
    } catch (error) {
      if (!isDeadlock(error) || attempt === 5) throw error;
    }
  }
}

export const isDeadlock = (error: unknown) => error instanceof pg.DatabaseError && error.code === '40P01';

const statement = (name: string) => readFile(packagePath('sql', 'warehouse', 'statements', `${name}.sql`), 'utf8');

/** Ids fit a JavaScript number; pg's default of text would make every comparison of ids a trap. */
function typeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === pg.types.builtins.INT8 && format !== 'binary') return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}
