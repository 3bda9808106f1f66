import { sql } from 'kysely';
import type { Db } from '../index.ts';

/**
 * A calendar day `yyyy-mm-dd` in the zone of bi. `isHole`: it was not read completely, and is before the day on which
 * the last run of reviews began. A later day that is not read yet is no hole: how far the runs are behind says that.
 */
export type DayCoverage = { day: string; isRead: boolean; isHole: boolean; reviews: number };

/** bi.coverage_by_day and the number of reviews: the days between the bounds of the newest overview, in order. */
export async function coverageByDay(db: Db): Promise<DayCoverage[]> {
  const { rows } = await sql<DayCoverage>`
    select to_char(day, 'YYYY-MM-DD') as day, is_complete as "isRead",
      not is_complete and day < coalesce(last_run.day_of, 'infinity') as "isHole",
      coalesce(reviews, 0)::integer as reviews
    from bi.coverage_by_day
    cross join (
      select ((reviews_cursor ->> 'readTo')::timestamptz at time zone time_zone)::date as day_of from sync.settings
    ) as last_run
    left join (select day, sum(reviews) as reviews from sync.review_day_counts group by day) as held using (day)
    order by 1`.execute(db);
  return rows;
}
