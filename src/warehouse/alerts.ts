import { type Db, listOf, write } from './index.ts';

export type Alert = { key: string; message: string; postedAt: Date };

/** The alerts without a posted recovery, the oldest first. */
export const openAlerts = (db: Db) => listOf<Alert>(db)`
  select key, message, posted_at as "postedAt" from sync.alerts order by posted_at, key`;

export const noteAlert = (db: Db, { key, message, postedAt }: Alert) => write(db)`
  insert into sync.alerts (key, message, posted_at) values (${key}, ${message}, ${postedAt}) on conflict do nothing`;

export const forgetAlert = (db: Db, key: string) => write(db)`delete from sync.alerts where key = ${key}`;

/** A process that has not looked for this many seconds counts as dead. */
const watchSeconds = 90;

/** Whether this process posts the alerts until the next look. */
export async function takeWatch(db: Db, watcher: string): Promise<boolean> {
  const taken = await write(db)`
    update sync.alert_watch set watcher = ${watcher}, watched_at = clock_timestamp()
    where watcher is null or watcher = ${watcher}
      or watched_at < clock_timestamp() - make_interval(secs => ${watchSeconds})`;
  return taken > 0;
}

/** Lets another process post the alerts at once. */
export const leaveWatch = (db: Db, watcher: string) =>
  write(db)`update sync.alert_watch set watcher = null where watcher = ${watcher}`;
