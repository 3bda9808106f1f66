-- Days read, holes, and the number of reviews (DayCoverage).
select to_char(day, 'YYYY-MM-DD') as day, is_complete as "isRead",
  not is_complete and day < coalesce(last_run.day_of, 'infinity') as "isHole",
  coalesce(reviews, 0)::integer as reviews
from bi.coverage_by_day
cross join (
  select ((reviews_cursor ->> 'readTo')::timestamptz at time zone time_zone)::date as day_of from sync.settings
) as last_run
left join (select day, sum(reviews) as reviews from sync.review_day_counts group by day) as held using (day)
order by 1
