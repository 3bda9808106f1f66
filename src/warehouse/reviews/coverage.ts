import { sql } from 'kysely';
import type { Db } from '../index.ts';
import type { Days } from '../runs/history.ts';

/** `readDays` of the month's days were read completely; `firstHole` is the first `yyyy-mm-dd` that was not. */
export type MonthCoverage = {
  month: string;
  days: number;
  readDays: number;
  reviews: number;
  firstHole: string | null;
};

/** By calendar month, between the bounds of the newest overview, in the zone of bi. */
export async function coverageByMonth(db: Db): Promise<MonthCoverage[]> {
  const { rows } = await sql<MonthCoverage>`
    select to_char(day, 'YYYY-MM') as month, count(*)::integer as days,
      count(*) filter (where is_complete)::integer as "readDays", sum(reviews)::integer as reviews,
      to_char(min(day) filter (where not is_complete), 'YYYY-MM-DD') as "firstHole"
    from (${days}) as d
    group by 1
    order by 1`.execute(db);
  return rows;
}

/** A calendar day `yyyy-mm-dd`. */
export type DayCoverage = { day: string; isRead: boolean; reviews: number };

/** The days from `first` to `last` (`yyyy-mm-dd`, both inclusive), those between the overview's bounds. */
export async function coverageByDay(db: Db, { first, last }: Pick<Days, 'first' | 'last'>): Promise<DayCoverage[]> {
  const { rows } = await sql<DayCoverage>`
    select to_char(day, 'YYYY-MM-DD') as day, is_complete as "isRead", reviews
    from (${days}) as d
    where day between ${first}::date and ${last}::date
    order by 1`.execute(db);
  return rows;
}

/** bi.coverage_by_day, with the number of reviews. */
const days = sql`
  select day, is_complete, coalesce(reviews, 0)::integer as reviews
  from bi.coverage_by_day
  left join (select day, sum(reviews) as reviews from sync.review_day_counts group by day) as held using (day)`;
