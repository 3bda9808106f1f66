-- A version of each month: when its keys were counted. Touches that are not counted yet make another one: their rows are
-- in the snapshot.
with uncounted as (
  select distinct coalesce(date_trunc('month', moment at time zone time_zone)::date, '-infinity') as month, now() as at
  from (
    select dated_at as moment from sync.touches
    union all
    select delivered_at from sync.touches where delivered_at is not null
    union all
    select ordered_at from sync.touches join sync.order_links using (order_code)
    union all
    select s.delivered_at from sync.touches join sync.sub_order_links s using (order_code) where s.delivered_at is not null
  ) as touched
  cross join sync.settings
)
select case when isfinite(month) then regexp_replace(month::text, '-01( BC)?$', '\1') else '' end as name,
  md5(concat_ws(' ', string_agg(counted_at::text, ' ' order by counted_at), max(at))) as version
from sync.product_counts full join uncounted using (month) where month < 'infinity' group by month
