import { type Db, listOf, write } from './index.ts';

export type Alert = { key: string; message: string; raisedAt: Date };

/**
 * Records the current urgent issues and finds the messages to post: new issues and recovered ones.
 *
 * @param trx a transaction: until it ends, no other process posts alerts.
 * @throws DatabaseError, see isLockedOut, while another process does this.
 */
export async function enterAlerts(
  trx: Db,
  urgent: readonly Omit<Alert, 'raisedAt'>[],
  now: Date,
): Promise<{ raised: Alert[]; recovered: Alert[] }> {
  // Not an advisory lock, which every role of the database could hold. It stops no reader.
  await write(trx)`lock table sync.alerts in exclusive mode nowait`;
  const keys = urgent.map(({ key }) => key);
  // An issue that ended before it was posted needs no message.
  await write(trx)`delete from sync.alerts where told_at is null and key <> all(${keys})`;
  await write(trx)`update sync.alerts set cleared_at = ${now} where cleared_at is null and key <> all(${keys})`;
  await write(trx)`
    insert into sync.alerts as known (key, message, raised_at)
    select key, message, ${now} from json_to_recordset(${JSON.stringify(urgent)}::json) as w (key text, message text)
    on conflict (key) do update set cleared_at = null where known.cleared_at is not null`;
  const rows = await listOf<Alert & { isOver: boolean }>(trx)`
    select key, message, raised_at as "raisedAt", cleared_at is not null as "isOver" from sync.alerts
    where told_at is null or cleared_at is not null
    order by raised_at, key`;
  return { raised: rows.filter(({ isOver }) => !isOver), recovered: rows.filter(({ isOver }) => isOver) };
}

export const markPosted = (trx: Db, key: string, now: Date) =>
  write(trx)`update sync.alerts set told_at = ${now} where key = ${key}`;

export const forgetAlert = (trx: Db, key: string) => write(trx)`delete from sync.alerts where key = ${key}`;

/** A process that has not looked for so long is taken for dead, in seconds. */
const watchSeconds = 90;

/** Whether this process is the one that posts alerts, until the next look. */
export async function takeWatch(db: Db, watcher: string): Promise<boolean> {
  const taken = await write(db)`
    update sync.alert_watch set watcher = ${watcher}, watched_at = clock_timestamp()
    where watcher is null or watcher = ${watcher}
      or watched_at < clock_timestamp() - make_interval(secs => ${watchSeconds})`;
  return taken > 0;
}

/** Another process may take the place of this one at once. */
export const leaveWatch = (db: Db, watcher: string) =>
  write(db)`update sync.alert_watch set watcher = null where watcher = ${watcher}`;
