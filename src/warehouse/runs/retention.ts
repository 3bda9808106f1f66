import { sql } from 'kysely';
import { type Db, inTransaction } from '../index.ts';
import { joinOldSpans } from '../reviews/export-windows.ts';

/** Days that runs and their errors, resolved dead letters and all captures of the overview are kept. docs/privacy.md names them. */
const keptDays = 90;

/**
 * Compacts the history, so that its size follows the shop and not the years of runs:
 *
 * 1. Old neighbouring spans of the coverage ledger become one row.
 * 2. Runs of more than 90 days ago are deleted, except for the newest run of each job, and for runs
 *    whose spans are not yet read again.
 * 3. Errors of runs that ended 90 days ago are cleared.
 * 4. Dead letters that were resolved 90 days ago are deleted, except for discarded ones that the service still shows.
 * 5. Of captures of the overview that are older than 90 days, the first of each day stays, after a year the first of
 *    each month.
 *
 * @param readAgainDays age at which a reconcile reads a span again; younger rows keep their own dates.
 */
export async function pruneHistory(db: Db, now: Date, readAgainDays: number): Promise<void> {
  const before = daysBefore(now);
  await inTransaction(db, async (trx) => {
    await joinOldSpans(trx, 'created', before(Math.min(readAgainDays, 365) + 8));
    await joinOldSpans(trx, 'updated', before(30 + 8));
    await sql`
      delete from sync.runs r
      where finished_at < ${before(Math.max(keptDays, readAgainDays + 8))}
        and exists (select from sync.runs n where n.job = r.job and n.finished_at is not null and n.started_at > r.started_at)
    `.execute(trx);
    await sql`
      update sync.runs set error = null
      where error is not null and finished_at < ${before(keptDays)}`.execute(trx);
    await sql`
      delete from sync.dead_letters where resolved_at < ${before(keptDays)}
        and (discarded_hash is null or checked_at < ${before(keptDays)})`.execute(trx);
    // The first one proves best what `coverageByMonth` asks of captures: that no review came after those that were
    // read.
    await sql`
      delete from warehouse.review_overview
      where captured_at in (
        select captured_at
        from (
          select captured_at, row_number() over (
            partition by date_trunc(case when captured_at < ${before(365)} then 'month' else 'day' end, captured_at, 'UTC')
            order by captured_at
          ) as place
          from warehouse.review_overview
          where captured_at < ${before(keptDays)}
        ) as captures
        where place > 1
      )`.execute(trx);
  });
}

const daysBefore = (now: Date) => (days: number) => new Date(now.getTime() - days * 86_400_000);
