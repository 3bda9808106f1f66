import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { ReviewSyncError } from '../base/errors.ts';
import { packagePath } from '../base/package-path.ts';
import { type Db, scalarOf, valuesOf, write } from './index.ts';
import { sessionsOnOurTables } from './lock-waits.ts';

const folder = packagePath('sql', 'warehouse');

/** How long a migration waits for locks. While it waits, every other statement on the table waits behind it. */
const lockWait = { timeoutMs: 5000, tries: 5, pauseMs: 5000 };

/**
 * Applies sql/warehouse/NNNN_*.sql, each file once, in one transaction under a lock: two machines may call it at the
 * same time. If another session holds a lock, everything is rolled back, so writers go on, and tried again.
 *
 * @returns the names of the files that were applied.
 * @throws ReviewSyncError if a file failed, other sessions hold the lock, the warehouse has a newer version, or its
 *   encoding is not UTF-8. Nothing was applied.
 */
export async function migrateWarehouse(db: Db, wait = lockWait): Promise<string[]> {
  await requireUtf8(db);
  let file: string | undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      file = undefined;
      return await db.transaction().execute(async (trx) => {
        await lockBookkeeping(trx);
        const { pending, newer } = await compareMigrations(trx);
        if (newer.length > 0) {
          const where = `${newer.join(', ')} belongs to a newer version of this program`;
          throw migrationError(where, { hint: 'Run one version of review-sync on all machines.' });
        }
        await write(trx)`select set_config('lock_timeout', ${String(wait.timeoutMs)}, true)`;
        for (const name of pending) {
          file = name;
          await sql.raw(await readFile(join(folder, `${name}.sql`), 'utf8')).execute(trx);
          await write(trx)`insert into review_sync_migrations.applied (name) values (${name})`;
        }
        return pending;
      });
    } catch (error) {
      if (error instanceof ReviewSyncError) throw error;
      const isInTheWay = error instanceof pg.DatabaseError && (file ? isLocked : isCreated).includes(error.code ?? '');
      if (isInTheWay && file && attempt === wait.tries) throw await blockedError(db, file, wait);
      if (!isInTheWay || attempt === wait.tries)
        throw migrationError(file ? `sql/warehouse/${file}.sql failed` : 'the migrations could not be run', {
          cause: error,
          hint: 'review-sync doctor says what is broken.',
        });
      await delay(file ? wait.pauseMs : 0);
    }
  }
}

/** No lock in time, or a deadlock: a worker that pushes orders locks the same tables in another order. */
const isLocked = ['55P03', '40P01'];
/** Two machines created the bookkeeping at the same time, which fails even with `if not exists`. */
const isCreated = ['23505', '42P06', '42P07'];

/** In any other encoding, one Korean letter written as `\uXXXX` stops its run. */
async function requireUtf8(db: Db): Promise<void> {
  const encoding = await scalarOf<string>(db)`select current_setting('server_encoding')`;
  if (encoding === 'UTF8') return;
  throw migrationError(`its database has the encoding ${encoding}, expected UTF8`, {
    hint: `Let WAREHOUSE_DATABASE_URL name a new database: ${createInUtf8}`,
  });
}

/** Works also on a server whose default encoding is another one. */
export const createInUtf8 = `create database … encoding 'UTF8' template template0`;

/** Waits while another machine migrates. Not an advisory lock, which any role of the database could hold. */
async function lockBookkeeping(trx: Db): Promise<void> {
  if (!(await hasBookkeeping(trx))) {
    await write(trx)`create schema if not exists review_sync_migrations;
      create table if not exists review_sync_migrations.applied (name text primary key, at timestamptz not null default now())`;
  }
  await write(trx)`lock table review_sync_migrations.applied in share row exclusive mode`;
}

const hasBookkeeping = (db: Db) =>
  scalarOf<boolean>(db)`select to_regclass('review_sync_migrations.applied') is not null`;

async function blockedError(db: Db, file: string, { timeoutMs, tries }: typeof lockWait): Promise<ReviewSyncError> {
  const rows = await sessionsOnOurTables(db);
  const who = rows.length > 0 ? `: ${rows.map(({ what }) => what).join('; ')}` : '';
  const end = rows.map(({ pid }) => `select pg_terminate_backend(${pid});`).join(' ');
  return new ReviewSyncError(
    'migration-blocked',
    `The warehouse could not be migrated: sql/warehouse/${file}.sql did not get a lock in ${tries} tries of ${timeoutMs / 1000} s. Another session holds it${who}`,
    { hint: `Nothing was changed. End that session's transaction${end && ` (${end})`}, then run migrate again.` },
  );
}

function migrationError(where: string, { cause, hint }: { cause?: unknown; hint: string }): ReviewSyncError {
  // If the connection broke, perhaps only the response to the commit is lost.
  const isLost = cause !== undefined && !(cause instanceof pg.DatabaseError);
  const end = isLost ? 'all was changed, or nothing: run migrate again' : 'nothing was changed';
  return new ReviewSyncError('migration', `The warehouse could not be migrated (${end}): ${where}`, { cause, hint });
}

/** Names of migrations. `pending`: the warehouse lacks them. `newer`: a newer version of this program applied them. */
export type MigrationState = { pending: string[]; newer: string[] };

/** Compares the applied migrations with sql/warehouse/, by name. Changes nothing. */
export async function compareMigrations(db: Db): Promise<MigrationState> {
  const files = (await readdir(folder)).filter((file) => /^\d{4}_.*\.sql$/.test(file)).sort();
  const names = files.map((file) => file.replace('.sql', ''));
  const applied = (await hasBookkeeping(db))
    ? await valuesOf<string>(db)`select name from review_sync_migrations.applied order by name`
    : [];
  return {
    pending: names.filter((name) => !applied.includes(name)),
    newer: applied.filter((name) => !names.includes(name)),
  };
}
