-- Whether the reviews of a day were all read. `status` shows the same by month, and the calendar of its page by day. A
-- period counts as read in three cases:
--
-- 1. A coverage row of the created axis has it.
-- 2. It lies between the start of the coverage of the updated axis that reaches to the cursor without a break, and the
--    beginning of the last run: a review that was created since then was updated since then too.
-- 3. It lies after the last review that an overview names, and before the capture of that overview. A review that
--    appears later than its date may lie there.
--
-- Open gaps of both axes are left out of 2 and 3.
--
-- Today need only be read up to the last review that the newest overview names, every other day to its end.
create or replace view bi.coverage_by_day as
with zone as materialized (
  select time_zone as name, (reviews_cursor ->> 'at')::timestamptz as cursor,
    (reviews_cursor ->> 'readTo')::timestamptz as read_to
  from sync.settings
),
joined as (
  select unnest(range_agg(tstzrange(start_at, end_at, '[]'))) as span from sync.export_windows where axis = 'updated'
),
followed as (
  select coalesce(lower(joined.span), cursor) as since, read_to
  from zone left join joined on joined.span @> cursor
  where cursor is not null
),
said as (
  select tstzrange(since, greatest(since, read_to), '[]') as span from followed
  union all
  select tstzrange(last_review_created_at, captured_at, '(]')
  from warehouse.review_overview where last_review_created_at <= captured_at
),
gaps as (
  select coalesce(range_agg(tstzrange(start_at, end_at)), '{}') as unread from sync.open_gaps
),
spans as (
  select coalesce(range_agg(span), '{}') as read
  from (
    select tstzrange(start_at, end_at) as span from sync.export_windows where axis = 'created'
    union all
    select unnest((select range_agg(span) from said) - (select unread from gaps))
  ) as known
),
bounds as (
  -- A review of the year 1 or 9999 must not make a row for each day between.
  select greatest(first_review_created_at, '2000-01-01T00:00:00Z') as first,
    least(last_review_created_at, now() + interval '1 day') as last
  from warehouse.review_overview
  where first_review_created_at is not null
  order by captured_at desc
  limit 1
),
days as (
  select day::date as day, day at time zone name as start_at, (day + interval '1 day') at time zone name as end_at
  from zone cross join bounds cross join lateral generate_series(
    date_trunc('day', first at time zone name), date_trunc('day', last at time zone name), '1 day'
  ) as day
)
select
  day,
  read @> tstzrange(
    greatest(start_at, first), case when end_at > now() then least(end_at, last + interval '1 second') else end_at end
  ) as is_complete
from days cross join spans cross join bounds;
comment on view bi.coverage_by_day is 'Which days were read completely, from the service''s first review to its last. On any other day, few reviews may only mean that not all were read.';
comment on column bi.coverage_by_day.day is 'The day, in the zone of bi.freshness.';
comment on column bi.coverage_by_day.is_complete is 'Whether a complete reading of the day is proven: by creation, or, since that ended, by update up to the beginning of the last run. Today counts up to the last review that the service named.';
