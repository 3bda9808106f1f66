import { sql } from 'kysely';
import { joinOldSpans } from './export-windows.ts';
import { type Db, inTransaction } from './index.ts';
import { compactReviewDays } from './review-days.ts';

/** Days for which runs, late reviews and captures of the overview are kept. */
const keptDays = 90;
const dayMs = 86_400_000;

/**
 * Compacts the history, so that years of runs stay small: old neighbouring spans of the coverage ledger become one row; old runs
 * (except for the newest of each job), old late reviews, and old captures of the overview that equal the one before are deleted.
 *
 * @param readAgainDays age at which a reconcile reads a span again; younger rows keep their own dates.
 */
export async function pruneHistory(db: Db, now: Date, readAgainDays: number): Promise<void> {
  const before = (days: number) => new Date(now.getTime() - days * dayMs);
  await compactReviewDays(db);
  await inTransaction(db, async (trx) => {
    await joinOldSpans(trx, before(readAgainDays + 8));
    await sql`delete from sync.late_reviews where found_at < ${before(keptDays)}`.execute(trx);
    await sql`
      delete from sync.runs r
      where finished_at < ${before(keptDays)}
        and exists (select from sync.runs n where n.job = r.job and n.finished_at is not null and n.started_at > r.started_at)
    `.execute(trx);
    await sql`
      delete from warehouse.review_overview
      where captured_at in (
        select captured_at
        from (
          select captured_at, first_review_created_at as first, last_review_created_at as last,
            lag(first_review_created_at) over (order by captured_at) as first_before,
            lag(last_review_created_at) over (order by captured_at) as last_before,
            lag(captured_at) over (order by captured_at) as captured_before
          from warehouse.review_overview
        ) as captures
        where captured_at < ${before(keptDays)} and captured_before is not null
          and first is not distinct from first_before and last is not distinct from last_before
      )`.execute(trx);
  });
}
