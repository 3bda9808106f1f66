import { type Db, write } from '../index.ts';

/** Days that runs and their errors, resolved dead letters and captures of the overview are kept. docs/privacy.md names them. */
const keptDays = 90;

/**
 * Shortens the history, so that its size follows the shop and not the years of runs. Each reconcile
 * calls this, also one with windows that failed.
 *
 * 1. Spans of the coverage ledger that were read more than `readAgainDays` ago are deleted: younger rows of the created
 *    axis cover them again. They stay eight days longer, for reconciles that fail. The updated axis keeps only the
 *    last weeks: what was updated before is covered by creation.
 * 2. Runs of more than 90 days ago are deleted, except for the newest run of each job, and for runs
 *    whose spans are not yet read again.
 * 3. Errors of runs that ended 90 days ago are cleared.
 * 4. Dead letters that were resolved 90 days ago are deleted, except for discarded ones whose record failed since.
 * 5. Captures of the overview that are older than 90 days are deleted, except for the newest.
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
