-- The median of a month looks at the changed orders once, not once for each month: with 60,000 changed orders the view took
-- minutes.
create or replace view bi.reviews_per_delivered_sub_order as
with counted as (
  select month, sum(delivered_sub_orders)::numeric as delivered_sub_orders, sum(reviews)::numeric as reviews,
    sum(reviewed_sub_orders)::numeric as reviewed_sub_orders
  from sync.deliveries_by_product
  group by month
  having sum(delivered_sub_orders) > 0
),
-- The hours in which the two middle values lie (one value, where their number is odd), and which value of its hour each is.
hours as (
  select
    month,
    hours_to_review as hour,
    sum(deliveries) as deliveries,
    sum(sum(deliveries)) over (partition by month order by hours_to_review) as up_to,
    sum(sum(deliveries)) over (partition by month) as of_month
  from sync.deliveries_by_delay
  where hours_to_review is not null
  group by month, hours_to_review
  having sum(deliveries) > 0
),
middle as (
  select month, hour, (place - (up_to - deliveries))::bigint - 1 as offset_in_hour
  from hours
  cross join lateral (values (div(of_month + 1, 2)), (div(of_month, 2) + 1)) as middle (place)
  where place > up_to - deliveries and place <= up_to
),
changed as materialized (
  select month, seconds_to_review
  from sync.deliveries
  where seconds_to_review is not null and order_code = any (array(select order_code from sync.changed_orders))
),
medians as (
  select middle.month, round(avg(found.seconds_to_review) / 86400, 1) as days
  from middle
  cross join lateral (
    select seconds_to_review
    from sync.counted_deliveries c
    where c.month = middle.month and seconds_to_review >= hour * 3600::numeric
      and seconds_to_review < (hour + 1) * 3600::numeric
      and order_code not in (select order_code from sync.changed_orders)
    union all
    select seconds_to_review
    from changed
    where changed.month = middle.month and seconds_to_review >= hour * 3600::numeric
      and seconds_to_review < (hour + 1) * 3600::numeric
    order by seconds_to_review
    offset middle.offset_in_hour
    limit 1
  ) as found
  group by middle.month
)
select
  month,
  delivered_sub_orders::bigint as delivered_sub_orders,
  reviews::bigint as reviews,
  round(reviews / delivered_sub_orders, 4) as reviews_per_sub_order,
  reviewed_sub_orders::bigint as reviewed_sub_orders,
  round(reviewed_sub_orders / delivered_sub_orders, 4) as reviewed_share,
  medians.days as median_days_to_review
from counted
left join medians using (month);
drop view sync.review_delays;
