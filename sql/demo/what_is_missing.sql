-- What is missing: spans between the service's first and last review that were not read completely, and records that
-- could not be synced. No row: nothing is missing.
with bounds as (
  select tstzrange(first_review_created_at, last_review_created_at, '[]') as held
  from warehouse.review_overview
  order by captured_at desc
  limit 1
),
coverage as (
  select coalesce(range_agg(tstzrange(start_at, end_at + interval '1 second')), '{}') as read
  from sync.export_windows
  where axis = 'created'
)
select 'reviews of ' || lower(gap) || ' to ' || upper(gap) as missing, 'not read yet' as why
from bounds
cross join coverage
cross join lateral unnest(held::tstzmultirange - read) as gap
union all
select count(*) || ' records of kind ' || kind, reason
from sync.dead_letters
where resolved_at is null
group by kind, reason
