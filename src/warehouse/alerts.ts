import { sql } from 'kysely';
import type { Db } from './index.ts';

export type Alert = { key: string; message: string; raisedAt: Date };
export type Untold = { raised: Alert[]; recovered: Alert[] };

/**
 * Enters what is wrong now and what no longer is, and gives what is to be told.
 *
 * @param trx a transaction; until it ends no other process does the same.
 * @returns undefined while another process is at it.
 */
export async function enterAlerts(
  trx: Db,
  wrong: readonly Omit<Alert, 'raisedAt'>[],
  now: Date,
): Promise<Untold | undefined> {
  const locked = await sql<{
    mine: boolean;
  }>`select pg_try_advisory_xact_lock(hashtext('review-sync alerts')) as mine`.execute(trx);
  if (!locked.rows[0]?.mine) return undefined;
  const keys = wrong.map(({ key }) => key);
  // What was over before anybody was told needs no word.
  await sql`delete from sync.alerts where told_at is null and key <> all(${keys})`.execute(trx);
  await sql`update sync.alerts set cleared_at = ${now} where cleared_at is null and key <> all(${keys})`.execute(trx);
  await sql`
    insert into sync.alerts as known (key, message, raised_at)
    select key, message, ${now} from json_to_recordset(${JSON.stringify(wrong)}::json) as w (key text, message text)
    on conflict (key) do update set cleared_at = null where known.cleared_at is not null`.execute(trx);
  const { rows } = await sql<Alert & { isOver: boolean }>`
    select key, message, raised_at as "raisedAt", cleared_at is not null as "isOver" from sync.alerts
    where told_at is null or cleared_at is not null
    order by raised_at, key`.execute(trx);
  return { raised: rows.filter(({ isOver }) => !isOver), recovered: rows.filter(({ isOver }) => isOver) };
}

export async function markTold(trx: Db, key: string, now: Date): Promise<void> {
  await sql`update sync.alerts set told_at = ${now} where key = ${key}`.execute(trx);
}

export async function forgetAlert(trx: Db, key: string): Promise<void> {
  await sql`delete from sync.alerts where key = ${key}`.execute(trx);
}
