import { sql } from 'kysely';
import { rowOf, rowsOf, statement, type Warehouse } from './index.ts';
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

/**
 * Reads facts about the warehouse and our rights in it. Changes nothing.
 *
 * @throws ReviewSyncError for the schema of a version before the first release.
 */
export async function readWarehouseFacts({ db }: Warehouse): Promise<WarehouseFacts> {
  const [facts] = await rowsOf<Omit<WarehouseFacts, keyof MigrationState>>(db, 'warehouse_facts');
  if (!facts) throw new Error('warehouse_facts gave no row, expected one');
  return { ...facts, ...(await compareMigrations(db)) };
}

/** The order of texts that a database was made with, by name and version, and the version that its server has now. */
export type DatabaseCollation = { database: string; name: string; recorded: string | null; actual: string | null };

/** @returns undefined before Postgres 15, which records no version. */
export async function databaseCollation({ db }: Warehouse): Promise<DatabaseCollation | undefined> {
  const { isRecorded } = await rowOf<{ isRecorded: boolean }>(db)`
    select current_setting('server_version_num')::integer >= 150000 as "isRecorded"`;
  if (!isRecorded) return undefined;
  return rowOf<DatabaseCollation>(db)`
    select quote_ident(datname) as database, coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale', datcollate) as name,
      datcollversion as recorded, pg_database_collation_actual_version(oid) as actual
    from pg_database d where datname = current_database()`;
}

/**
 * Writes a row and ten megabytes and prepares the statements of the load path, in a transaction that is rolled back.
 *
 * @throws the error of the database if a table, a column, a right or disk space is missing.
 */
export async function tryToWrite({ db }: Warehouse): Promise<void> {
  const trx = await db.startTransaction().execute();
  try {
    await sql`set local statement_timeout to '20s'`.execute(trx);
    await sql`set local lock_timeout to '5s'`.execute(trx);
    for (const name of ['land_reviews', 'compare_reviews', 'learn_products']) {
      await sql.raw(`prepare review_sync_doctor as ${await statement(name)}`).execute(trx);
      await sql.raw('deallocate review_sync_doctor').execute(trx);
    }
    // A single row may still fit into an existing file when the disk is full.
    await sql`create temporary table review_sync_doctor on commit drop as
      select repeat('x', 1000) as filler from generate_series(1, 10000)`.execute(trx);
    await sql`insert into sync.touches (record) values ('review')`.execute(trx);
  } finally {
    // If the connection is gone, the first error is the one to show.
    await trx
      .rollback()
      .execute()
      .catch(() => {});
  }
}

/** The zone in which the views of bi cut days, as of the last migrate. */
export const biTimeZone = async ({ db }: Warehouse) =>
  (await rowOf<{ zone: string }>(db)`select time_zone as zone from sync.settings`).zone;
