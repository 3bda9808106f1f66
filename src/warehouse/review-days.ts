import { sql } from 'kysely';
import type { Db } from './index.ts';

/**
 * Joins the counts of reviews by day that triggers on `warehouse.reviews` add for each statement. Safe at any time, beside
 * writers and beside itself; without it the table grows by a few rows a landed page.
 */
export async function compactReviewDays(db: Db): Promise<void> {
  await sql`
    with taken as (
      -- Days that have one row already stay as they are.
      delete from sync.review_day_changes
      where day in (select day from sync.review_day_changes group by day having count(*) > 1 or sum(reviews) = 0)
      returning day, reviews
    )
    insert into sync.review_day_changes (day, reviews)
    select day, sum(reviews) from taken group by day having sum(reviews) <> 0`.execute(db);
}
