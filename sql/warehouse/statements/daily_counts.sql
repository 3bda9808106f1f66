-- What each flow brought by day; null: not known. $1 timestamptz: now. Index: reviews_by_creation.
with day as (
  select n, $1::timestamptz - make_interval(hours => 24 * (n + 1)) as start, $1::timestamptz - make_interval(hours => 24 * n) as stop
  from generate_series(0, 14) as n
), run as (
  select job, finished_at, coalesce((counts ->> 'orders_pushed')::integer, 0) as orders
  from sync.runs
  where job in ('sync-orders', 'sync-reviews') and outcome in ('done', 'incomplete')
    and started_at >= $1::timestamptz - interval '16 days'
), covered as materialized (
  -- After a first run most days are known by their coverage, although no run ended in them.
  select day from bi.coverage_by_day where is_complete
)
select flow, array_agg(brought order by n) as days
from day
cross join (values ('orders'), ('reviews')) as flow (flow)
cross join sync.settings
cross join lateral (
  select case
    when not exists (select from run where job = 'sync-' || flow and finished_at > start and finished_at <= stop)
      and not (flow = 'reviews' and (start at time zone time_zone)::date in (select day from covered)
        and (stop at time zone time_zone)::date in (select day from covered)) then null
    when flow = 'orders' then (select sum(orders) from run where finished_at > start and finished_at <= stop)
    else (select count(*) from warehouse.reviews r where r.created_at > start and r.created_at <= stop)
  end::integer as brought
) as counted
group by flow
order by flow
