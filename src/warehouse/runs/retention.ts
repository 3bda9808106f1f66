import { type Db, write } from '../index.ts';

/** Days that history is kept. docs/privacy.md names them. */
const keptDays = 90;

/**
 * Shortens the history, so that its size depends on the shop and not on the years of runs.
 *
 * - Spans of the coverage ledger stay eight days longer than until they are read again, in case a reconcile fails. The
 *   updated axis keeps only the last weeks: the created axis covers earlier updates.
 * - The newest run of each job stays, and the runs of the remaining spans stay.
 * - A discarded dead letter stays while its record fails.
 * - The newest capture of the overview stays.
 *
 * @param readAgainDays age at which a reconcile reads a span again.
 */
export async function pruneHistory(db: Db, now: Date, readAgainDays: number): Promise<void> {
  const before = (days: number) => new Date(now.getTime() - days * 86_400_000);
  await db.transaction().execute(async (trx) => {
    await write(trx)`
      delete from sync.export_windows
      where (axis = 'created' and finished_at < ${before(readAgainDays + 8)})
        or (axis = 'updated' and finished_at < ${before(30 + 8)})`;
    await write(trx)`
      delete from sync.runs r
      where finished_at < ${before(Math.max(keptDays, readAgainDays + 8))}
        and exists (select from sync.runs n where n.job = r.job and n.finished_at is not null and n.started_at > r.started_at)`;
    await write(trx)`update sync.runs set error = null where error is not null and finished_at < ${before(keptDays)}`;
    await write(trx)`
      delete from sync.dead_letters where resolved_at < ${before(keptDays)} and last_failed_at < ${before(keptDays)}`;
    await write(trx)`
      delete from warehouse.review_overview
      where captured_at < ${before(keptDays)}
        and captured_at < (select max(captured_at) from warehouse.review_overview)`;
  });
}
