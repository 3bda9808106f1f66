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

/** By calendar month in the zone, between the bounds of the newest overview. */
export async function coverageByMonth(db: Db, timeZone: string): Promise<MonthCoverage[]> {
  const { rows } = await sql<MonthCoverage>`
    select to_char(day, 'YYYY-MM') as month, count(*)::integer as days,
      count(*) filter (where is_read)::integer as "readDays", sum(reviews)::integer as reviews,
      to_char(min(day) filter (where not is_read), 'YYYY-MM-DD') as "firstHole"
    from (${days(timeZone)}) as d
    group by 1
    order by 1`.execute(db);
  return rows;
}

/** A calendar day `yyyy-mm-dd`. */
export type DayCoverage = { day: string; isRead: boolean; reviews: number };

/** The days from `first` to `last` (`yyyy-mm-dd`, both inclusive) in the zone, those between the overview's bounds. */
export async function coverageByDay(db: Db, { timeZone, first, last }: Days): Promise<DayCoverage[]> {
  const { rows } = await sql<DayCoverage>`
    select to_char(day, 'YYYY-MM-DD') as day, is_read as "isRead", reviews
    from (${days(timeZone)}) as d
    where day between ${first}::timestamp and ${last}::timestamp
    order by 1`.execute(db);
  return rows;
}

/**
 * A period counts as read in three cases:
 *
 * 1. A coverage row of the created axis has it.
 * 2. It lies after the start of the coverage of the updated axis that reaches to the cursor without a break: a review
 *    that was created since then was updated since then too.
 * 3. It lies between the two, and an overview that was taken after that start names no newer review.
 */
const days = (timeZone: string) => sql`
  with cursor as (
    select (reviews_cursor ->> 'at')::timestamptz as at from sync.settings where reviews_cursor is not null
  ),
  joined as (
    select unnest(range_agg(tstzrange(start_at, end_at, '[]'))) as span
    from sync.export_windows where axis = 'updated'
  ),
  followed as (
    select coalesce(lower(joined.span), cursor.at) as since
    from cursor left join joined on joined.span @> cursor.at
  ),
  spans as (
    select coalesce(range_agg(span), '{}') as read
    from (
      select tstzrange(start_at, end_at + interval '1 second') as span
      from sync.export_windows where axis = 'created'
      union all
      select tstzrange(since, null) from followed
      union all
      select tstzrange(max(end_at), since)
      from followed join sync.export_windows on axis = 'created' and end_at <= since
      group by since
      having exists (
        select from warehouse.review_overview
        where captured_at >= since and last_review_created_at <= max(end_at)
      )
    ) as known
  ),
  held as (
    select day::timestamp as day, sum(reviews)::integer as reviews from sync.review_day_counts group by 1
  ),
  bounds as (
    -- One review of the year 1 or 9999 must not make a month of each year between.
    select greatest(first_review_created_at, '2000-01-01T00:00:00Z') as first,
      least(last_review_created_at, now() + interval '1 day') as last
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
