import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { ReviewSyncError } from '../base/errors.ts';
import { packagePath } from '../base/package-path.ts';
import type { Db } from './index.ts';

const folder = packagePath('sql', 'warehouse');

/**
 * Applies sql/warehouse/NNNN_*.sql, each file once, in one transaction under a lock: two machines may call it at the
 * same time.
 *
 * @returns the names of the files that were applied.
 * @throws ReviewSyncError naming the file that failed, or why the warehouse is of another version; then nothing was
 *   applied.
 */
export async function migrateWarehouse(db: Db): Promise<string[]> {
  try {
    await createBookkeeping(db);
    return await db.transaction().execute(async (trx) => {
      // A lock on a table of our own: an advisory lock could be held by any role of the database.
      await sql`lock table review_sync_migrations.lock in exclusive mode`.execute(trx);
      const { pending, newer } = await compareMigrations(trx);
      if (newer.length > 0) throw migrationError(`${newer.join(', ')} belongs to a newer version of this program`);
      for (const name of pending) await applyFile(trx, name);
      return pending;
    });
  } catch (cause) {
    throw cause instanceof ReviewSyncError ? cause : migrationError('the migrations could not be run', cause);
  }
}

async function applyFile(trx: Db, name: string): Promise<void> {
  const text = await readFile(join(folder, `${name}.sql`), 'utf8');
  await sql
    .raw(text)
    .execute(trx)
    .catch((cause) => {
      throw migrationError(`sql/warehouse/${name}.sql failed`, cause);
    });
  await sql`
    insert into review_sync_migrations.applied (name, timestamp) values (${name}, ${new Date().toISOString()})`.execute(
    trx,
  );
}

function migrationError(where: string, cause?: unknown): ReviewSyncError {
  return new ReviewSyncError('migration', `The warehouse could not be migrated: ${where}`, {
    cause,
    hint: 'Nothing was changed. The user of WAREHOUSE_DATABASE_URL must be allowed to create schemas.',
  });
}

/** SQLSTATEs of two sessions that create the same object at the same time, even with `if not exists`. */
const createdMeanwhile = ['23505', '42P06', '42P07'];

async function createBookkeeping(db: Db): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { rows } = await sql<{ there: boolean }>`
      select to_regclass('review_sync_migrations.applied') is not null
        and to_regclass('review_sync_migrations.lock') is not null as there`.execute(db);
    if (rows[0]?.there) return;
    try {
      await sql
        .raw(`create schema if not exists review_sync_migrations;
          create table if not exists review_sync_migrations.applied (
            name varchar(255) not null primary key,
            timestamp varchar(255) not null
          );
          create table if not exists review_sync_migrations.lock (
            id varchar(255) not null primary key,
            is_locked integer not null default 0
          )`)
        .execute(db);
    } catch (error) {
      const isRace = error instanceof pg.DatabaseError && createdMeanwhile.includes(error.code ?? '');
      if (!isRace || attempt === 5) throw error;
    }
  }
}

/**
 * What a warehouse lacks (`pending`), and what a newer version of this program applied (`newer`): names of migrations.
 */
export type MigrationState = { pending: string[]; newer: string[] };

/**
 * Compares the applied migrations with sql/warehouse/, by name. Changes nothing.
 *
 * @throws ReviewSyncError for the schema of a version before the first release, which had other names.
 */
export async function compareMigrations(db: Db): Promise<MigrationState> {
  const names = await migrationNames();
  const applied = await appliedMigrations(db);
  const pending = names.filter((name) => !applied.includes(name));
  const unknown = applied.filter((name) => !names.includes(name));
  const last = names.at(-1) ?? '';
  // A newer version only adds names after our last one.
  if (unknown.every((name) => name > last)) return { pending, newer: unknown };
  const found = `${unknown[0]}${unknown.length > 1 ? ` and ${unknown.length - 1} others` : ''}`;
  throw new ReviewSyncError(
    'unreleased-schema',
    `The warehouse has the schema of a version before the first release: review_sync_migrations.applied lists ${found}, expected are ${names[0]} to ${last}`,
    {
      hint: 'Let WAREHOUSE_DATABASE_URL name a new, empty database and run: npx review-sync migrate. Everything in it is read again from the service and the shop.',
    },
  );
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

async function migrationNames(): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{4}_.*\.sql$/.test(file)).sort();
  return files.map((file) => file.replace(/\.sql$/, ''));
}
