import { sql } from 'kysely';
import type { Db } from '../index.ts';

/** `readDays` of the month's days were read completely; `firstHole` is the first `yyyy-mm-dd` that was not. */
export type MonthCoverage = {
  month: string;
  days: number;
  readDays: number;
  reviews: number;
  firstHole: string | null;
};

/** bi.coverage_by_day and the number of reviews, by calendar month, between the bounds of the newest overview, in the zone of bi. */
export async function coverageByMonth(db: Db): Promise<MonthCoverage[]> {
  const { rows } = await sql<MonthCoverage>`
    select to_char(day, 'YYYY-MM') as month, count(*)::integer as days,
      count(*) filter (where is_complete)::integer as "readDays", coalesce(sum(reviews), 0)::integer as reviews,
      to_char(min(day) filter (where not is_complete), 'YYYY-MM-DD') as "firstHole"
    from bi.coverage_by_day
    left join (select day, sum(reviews) as reviews from sync.review_day_counts group by day) as held using (day)
    group by 1
    order by 1`.execute(db);
  return rows;
}

/** A calendar day `yyyy-mm-dd`. */
export type DayCoverage = { day: string; isRead: boolean; reviews: number };

/** The same by day, of the last twelve months in which the overview names reviews. */
export async function coverageByDay(db: Db): Promise<DayCoverage[]> {
  const { rows } = await sql<DayCoverage>`
    select to_char(day, 'YYYY-MM-DD') as day, is_complete as "isRead", coalesce(reviews, 0)::integer as reviews
    from bi.coverage_by_day
    left join (select day, sum(reviews) as reviews from sync.review_day_counts group by day) as held using (day)
    where day > (select date_trunc('month', max(day)) - interval '11 months 1 day' from bi.coverage_by_day)
    order by 1`.execute(db);
  return rows;
}
