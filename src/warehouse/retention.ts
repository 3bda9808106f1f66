import { sql } from 'kysely';
import type { Db } from './index.ts';

/** Days that resolved dead letters and the errors of runs are kept. docs/privacy.md names them. */
export const reasonDays = 90;
/** Days that the row of an applied webhook is kept. Its body is deleted when it is applied. */
export const webhookDays = 7;

/** Deletes outdated rows: reasons after `reasonDays`, applied webhooks after `webhookDays`. */
export async function deleteOutdated(db: Db, now: Date): Promise<void> {
  const before = (days: number) => new Date(now.getTime() - days * 86_400_000);
  await sql`delete from sync.dead_letters where resolved_at < ${before(reasonDays)}`.execute(db);
  await sql`
    update sync.runs set error = null
    where error is not null and finished_at < ${before(reasonDays)}`.execute(db);
  await sql`delete from sync.webhook_inbox where applied_at < ${before(webhookDays)}`.execute(db);
}
