import { sql } from 'kysely';
import type { Db } from './index.ts';

/** `readDays` of the month's days were read completely, on the created axis. */
export type MonthCoverage = { month: string; days: number; readDays: number; reviews: number };

/** By calendar month in the zone, between the bounds that the service's overview told last. */
export async function coverageByMonth(db: Db, timeZone: string): Promise<MonthCoverage[]> {
  const { rows } = await sql<MonthCoverage>`
    select to_char(day, 'YYYY-MM') as month, count(*)::integer as days,
      count(*) filter (where is_read)::integer as "readDays", sum(reviews)::integer as reviews
    from (${days(timeZone)}) as d
    group by 1
    order by 1`.execute(db);
  return rows;
}

/** A calendar day `yyyy-mm-dd`. */
export type DayCoverage = { day: string; isRead: boolean; reviews: number };

/** The days of a year in the zone, those between the overview's bounds. */
export async function coverageByDay(db: Db, timeZone: string, year: number): Promise<DayCoverage[]> {
  const { rows } = await sql<DayCoverage>`
    select to_char(day, 'YYYY-MM-DD') as day, is_read as "isRead", reviews
    from (${days(timeZone)}) as d
    where extract(year from day) = ${year}
    order by 1`.execute(db);
  return rows;
}

const days = (timeZone: string) => sql`
  with spans as (
    select coalesce(range_agg(tstzrange(start_at, end_at + interval '1 second')), '{}') as read
    from sync.export_windows where axis = 'created'
  ),
  held as (
    select date_trunc('day', created_at at time zone ${timeZone}) as day, count(*)::integer as reviews
    from warehouse.reviews where deleted_at is null group by 1
  ),
  bounds as (
    select first_review_created_at as first, last_review_created_at as last
    from warehouse.review_overview
    where first_review_created_at is not null
    order by captured_at desc
    limit 1
  ),
  days as (
    select bounds.*, day
    from bounds
    cross join lateral generate_series(
      date_trunc('day', first at time zone ${timeZone}),
      date_trunc('day', last at time zone ${timeZone}),
      interval '1 day'
    ) as day
  )
  select
    days.day, coalesce(held.reviews, 0) as reviews,
    spans.read @> tstzrange(
      greatest(days.day at time zone ${timeZone}, days.first),
      least((days.day + interval '1 day') at time zone ${timeZone}, days.last), '[]'
    ) as is_read
  from days
  cross join spans
  left join held on held.day = days.day`;
