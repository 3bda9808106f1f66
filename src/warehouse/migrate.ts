import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { ReviewSyncError } from '../errors.ts';
import { packagePath } from '../package-root.ts';
import type { Db } from './index.ts';

const bookkeeping = {
  migrationTableSchema: 'review_sync_migrations',
  migrationTableName: 'applied',
  migrationLockTableName: 'lock',
};

/**
 * Brings the warehouse up to sql/warehouse/NNNN_*.sql, each file once, all in one transaction under a lock: two
 * machines may call it at the same time. There is no way back: what was added stays.
 *
 * @param upTo the file to end with, as an earlier version of this program did; default: the last.
 * @returns the names of the files applied now.
 * @throws ReviewSyncError naming the file that failed; then nothing was applied.
 */
export async function migrateWarehouse(db: Db, upTo?: string): Promise<string[]> {
  const all = migrator(db);
  const { error, results } = await (upTo === undefined ? all.migrateToLatest() : all.migrateTo(upTo));
  if (error !== undefined) {
    const failed = results?.find((result) => result.status === 'Error');
    const where = failed ? `sql/warehouse/${failed.migrationName}.sql failed` : 'the migrations could not be run';
    throw new ReviewSyncError('migration', `The warehouse could not be migrated: ${where}`, {
      cause: error,
      hint: 'Nothing was changed. The user of WAREHOUSE_DATABASE_URL must be allowed to create schemas.',
    });
  }
  return (results ?? []).map((result) => result.migrationName);
}

/** The files not applied yet; empty when the schema is up to date. Changes nothing. */
export async function pendingMigrations(db: Db): Promise<string[]> {
  const applied = new Set(await appliedMigrations(db));
  return Object.keys(await migrationFiles()).filter((file) => !applied.has(file));
}

/** What was applied by a newer version of this program than this one. Changes nothing. */
export async function unknownMigrations(db: Db): Promise<string[]> {
  const files = await migrationFiles();
  return (await appliedMigrations(db)).filter((name) => !(name in files));
}

async function appliedMigrations(db: Db): Promise<string[]> {
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass('review_sync_migrations.applied') is not null as there`.execute(db);
  if (!rows[0]?.there) return [];
  const applied = await sql<{ name: string }>`select name from review_sync_migrations.applied order by name`.execute(
    db,
  );
  return applied.rows.map((row) => row.name);
}

function migrator(db: Db): Migrator {
  return new Migrator({ db, provider: { getMigrations: migrationFiles }, ...bookkeeping });
}

async function migrationFiles(): Promise<Record<string, Migration>> {
  const folder = packagePath('sql', 'warehouse');
  const files = (await readdir(folder)).filter((file) => /^\d{4}_.*\.sql$/.test(file)).sort();
  return Object.fromEntries(
    files.map((file) => [
      file.replace(/\.sql$/, ''),
      { up: async (db) => void (await sql.raw(await readFile(join(folder, file), 'utf8')).execute(db)) },
    ]),
  );
}
