import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { ReviewSyncError } from '../base/errors.ts';
import { packagePath } from '../base/package-path.ts';
import type { Db } from './index.ts';

const folder = packagePath('sql', 'warehouse');

/** How long a migration waits for locks. While it waits, every other statement on the table waits behind it. */
export type LockPatience = { timeoutMs: number; tries: number; pauseMs: number };
const lockPatience: LockPatience = { timeoutMs: 5000, tries: 5, pauseMs: 5000 };

/**
 * Applies sql/warehouse/NNNN_*.sql, each file once, in one transaction under a lock: two machines may call it at the
 * same time. A migration that does not get a lock in time is rolled back, so that writers go on, and tried again.
 *
 * @returns the names of the files that were applied.
 * @throws ReviewSyncError naming the file that failed, the sessions that hold the lock, or why the warehouse is of
 *   another version; then nothing was applied.
 */
export async function migrateWarehouse(db: Db, patience = lockPatience): Promise<string[]> {
  try {
    await createBookkeeping(db);
    for (let attempt = 1; ; attempt += 1) {
      const result = await applyPending(db, patience);
      if ('applied' in result) return result.applied;
      if (attempt === patience.tries) throw blockedError(result, patience);
      await delay(patience.pauseMs);
    }
  } catch (cause) {
    throw cause instanceof ReviewSyncError ? cause : migrationError('the migrations could not be run', cause);
  }
}

/** A session that holds a lock. `since`: when its transaction began. */
type Blocker = { pid: number; application: string; user: string; state: string; since: Date };
type Blocked = { file: string; blockers: Blocker[] };

async function applyPending(db: Db, { timeoutMs }: LockPatience): Promise<{ applied: string[] } | Blocked> {
  let file = '';
  let blockers: Blocker[] = [];
  let watching: NodeJS.Timeout | undefined;
  try {
    const applied = await db.transaction().execute(async (trx) => {
      // A lock on a table of our own: an advisory lock could be held by any role of the database.
      await sql`lock table review_sync_migrations.lock in exclusive mode`.execute(trx);
      const { pending, newer } = await compareMigrations(trx);
      if (newer.length > 0) throw migrationError(`${newer.join(', ')} belongs to a newer version of this program`);
      const { rows } = await sql<{ pid: number }>`
        select pg_backend_pid() as pid, set_config('lock_timeout', ${String(timeoutMs)}, true)`.execute(trx);
      // On another connection: once the wait is over, Postgres no longer says for whom it was.
      const look = async () => {
        const found = await blockersOf(db, rows[0]?.pid ?? 0);
        if (found.length > 0) blockers = found;
      };
      watching = setInterval(() => void look().catch(() => {}), timeoutMs / 5);
      for (const name of pending) {
        file = name;
        await applyFile(trx, name);
      }
      return pending;
    });
    return { applied };
  } catch (error) {
    const isBlocked =
      error instanceof Error && [error, error.cause].some((one) => (one as pg.DatabaseError)?.code === '55P03');
    if (!isBlocked) throw error;
    return { file, blockers };
  } finally {
    clearInterval(watching);
  }
}

async function blockersOf(db: Db, pid: number): Promise<Blocker[]> {
  const { rows } = await sql<Blocker>`
    select pid, application_name as application, coalesce(usename, '') as user, coalesce(state, '') as state,
      coalesce(xact_start, backend_start) as since
    from pg_stat_activity where pid = any(pg_blocking_pids(${pid}))
    order by since`.execute(db);
  return rows;
}

function blockedError({ file, blockers }: Blocked, { timeoutMs, tries }: LockPatience): ReviewSyncError {
  const sessions = blockers.map(
    ({ pid, application, user, state, since }) =>
      `pid ${pid} (application ${application || 'without a name'}, user ${user}, ${state}, transaction since ${since.toISOString()})`,
  );
  const who = sessions.length > 0 ? `: ${sessions.join('; ')}` : '';
  const pids = blockers.map(({ pid }) => `select pg_terminate_backend(${pid});`).join(' ');
  return new ReviewSyncError(
    'migration-blocked',
    `The warehouse could not be migrated: sql/warehouse/${file}.sql did not get a lock in ${tries} tries of ${timeoutMs / 1000} s. Another session holds it${who}`,
    { hint: `Nothing was changed. End that session's transaction${pids && ` (${pids})`}, then run migrate again.` },
  );
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
