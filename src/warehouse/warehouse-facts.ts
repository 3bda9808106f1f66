import { sql } from 'kysely';
import { rowsOf, scalarOf, statement, type Warehouse, write } from './index.ts';
import { compareMigrations, type MigrationState } from './migrate.ts';

export type WarehouseFacts = {
  version: string;
  user: string;
  encoding: string;
  connections: { used: number; most: number };
  /** A standby takes no writes. */
  isStandby: boolean;
  mayCreateSchemas: boolean;
  /** Owners of our tables and views whose rights the user lacks: `analyze` and counting again need them. */
  otherOwners: string[];
  /** Schemas in which every role of the database may create functions. Postgres 14 and older made `public` one. */
  openSchemas: string[];
  /** The search path of our connections: a pooler may drop the one we request. */
  searchPath: string;
} & MigrationState;

/** Reads facts about the warehouse and our rights in it. Changes nothing. */
export async function readWarehouseFacts({ db }: Warehouse): Promise<WarehouseFacts> {
  const [facts] = await rowsOf<Omit<WarehouseFacts, keyof MigrationState>>(db, 'warehouse_facts');
  if (!facts) throw new Error('warehouse_facts gave no row, expected one');
  return { ...facts, ...(await compareMigrations(db)) };
}

/**
 * Writes a row and ten megabytes and prepares the statements of the load path, in a transaction that is rolled back.
 *
 * @throws the error of the database if a table, a column, a right or disk space is missing.
 */
export async function tryToWrite({ db }: Warehouse): Promise<void> {
  const trx = await db.startTransaction().execute();
  try {
    await write(trx)`set local statement_timeout to '20s'; set local lock_timeout to '5s'`;
    for (const name of ['land_reviews', 'compare_reviews', 'learn_products']) {
      const text = await statement(name);
      await sql.raw(`prepare review_sync_doctor as ${text}; deallocate review_sync_doctor`).execute(trx);
    }
    // A single row may still fit into an existing file when the disk is full.
    await write(trx)`create temporary table review_sync_doctor on commit drop as
      select repeat('x', 1000) as filler from generate_series(1, 10000)`;
    await write(trx)`insert into sync.touches (record) values ('review')`;
  } finally {
    // If the connection is gone, the first error is the one to show.
    await trx
      .rollback()
      .execute()
      .catch(() => {});
  }
}

/** The zone in which the views of bi cut days, as of the last migrate. */
export const biTimeZone = ({ db }: Warehouse) => scalarOf<string>(db)`select time_zone from sync.settings`;
