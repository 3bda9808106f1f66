-- Three views of bi at ten million reviews. Columns and meaning are those they had.

-- Counts of a month without logged changes need no sum over the log, and products have few codes: 250,000 rows are grouped once
-- in place of twice, and integers are summed in place of numerics.
create or replace view bi.reviews_by_product_month as
with changed as materialized (
  select distinct date_trunc('month', created_at at time zone (select time_zone from sync.settings))::date as month
  from sync.review_changes
),
counted as (
  select product_id, product_code, month, reviews, rated, stars, with_photo
  from sync.review_product_counts
  where reviews > 0 and month not in (select month from changed)
  union all
  select product_id, product_code, month, sum(reviews)::integer, sum(rated)::integer, sum(stars)::integer,
    sum(with_photo)::integer
  from sync.review_products
  where month = any (array(select month from changed))
  group by product_id, product_code, month
  having sum(reviews) > 0
)
select
  product_id,
  max(product_code) as product_code,
  month,
  sum(reviews) as reviews,
  sum(rated) as rated_reviews,
  sum(stars) as stars,
  round(sum(stars)::numeric / nullif(sum(rated), 0), 2) as average_score,
  round(sum(with_photo)::numeric / sum(reviews), 4) as photo_share
from counted
group by product_id, case when product_id is null then product_code end, month;

-- 1. Changed orders are looked at once, in place of five times.
-- 2. The median leaves out no order: what changes take away from an hour is subtracted there. `order_code not in (changed orders)`
--    took minutes as soon as Postgres expected that the changed orders exceed work_mem.
create or replace view bi.reviews_per_delivered_sub_order as
with changes as materialized (
  select sign, month, floor(seconds_to_review / 3600)::bigint as hour, seconds_to_review,
    sign * delivered_sub_orders as delivered_sub_orders, sign * reviews as reviews,
    sign * reviewed_sub_orders as reviewed_sub_orders
  from sync.delivery_changes
),
counted as (
  select month, sum(delivered_sub_orders)::numeric as delivered_sub_orders, sum(reviews)::numeric as reviews,
    sum(reviewed_sub_orders)::numeric as reviewed_sub_orders
  from (
    select month, sum(delivered_sub_orders) as delivered_sub_orders, sum(reviews) as reviews,
      sum(reviewed_sub_orders) as reviewed_sub_orders
    from sync.delivery_counts
    group by month
    union all
    select month, delivered_sub_orders, reviews, reviewed_sub_orders from changes
  ) as found
  group by month
  having sum(delivered_sub_orders) > 0
),
-- The hours in which the two middle values lie (one value, where their number is odd), and which value of its hour each is.
hours as (
  select
    month,
    hour,
    sum(deliveries) as deliveries,
    sum(sum(deliveries)) over (partition by month order by hour) as up_to,
    sum(sum(deliveries)) over (partition by month) as of_month
  from (
    select month, hours_to_review as hour, deliveries from sync.delivery_delays
    union all
    select month, hour, sign from changes
  ) as found
  where hour is not null
  group by month, hour
  having sum(deliveries) > 0
),
middle as (
  select month, hour, place - (up_to - deliveries) as place
  from hours
  cross join lateral (values (div(of_month + 1, 2)), (div(of_month, 2) + 1)) as middle (place)
  where place > up_to - deliveries and place <= up_to
),
middle_hours as (
  select distinct month, hour from middle
),
-- The values of these hours, and how many of its hour are not above each: what changes take away is among the counted ones.
seconds as (
  select month, hour, seconds_to_review, sum(sum(deliveries)) over (partition by month, hour order by seconds_to_review) as up_to
  from (
    select m.month, m.hour, c.seconds_to_review, c.deliveries
    from middle_hours m
    cross join lateral (
      select seconds_to_review, count(*) as deliveries
      from sync.counted_deliveries
      where month = m.month and seconds_to_review >= m.hour * 3600::numeric
        and seconds_to_review < (m.hour + 1) * 3600::numeric
      group by seconds_to_review
    ) as c
    union all
    select month, hour, seconds_to_review, sign from changes join middle_hours using (month, hour)
  ) as found
  group by month, hour, seconds_to_review
  having sum(deliveries) > 0
),
medians as (
  select month, round(avg(seconds_to_review) / 86400, 1) as days
  from (
    select month, place, min(seconds_to_review) as seconds_to_review
    from middle
    join seconds using (month, hour)
    where seconds.up_to >= middle.place
    group by month, hour, place
  ) as found
  group by month
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

-- The first and the last review of a product are one entry of the index each. min() and max() read all entries of the product:
-- Postgres takes code and id for independent, and expects a single review.
create or replace view bi.reviews_by_product as
with counted as (
  select
    product_id,
    product_code,
    sum(reviews) as reviews,
    sum(displayed) as displayed,
    sum(rated) as rated,
    sum(stars) as stars,
    sum(displayed_rated) as displayed_rated,
    sum(displayed_stars) as displayed_stars,
    sum(score_5) as score_5,
    sum(score_4) as score_4,
    sum(score_3) as score_3,
    sum(score_2) as score_2,
    sum(score_1) as score_1,
    sum(with_photo) as with_photo
  from sync.review_products
  group by product_id, product_code
  having sum(reviews) > 0
)
select
  product_id,
  max(product_code) as product_code,
  sum(reviews)::bigint as reviews,
  sum(displayed)::bigint as displayed_reviews,
  sum(rated)::bigint as rated_reviews,
  round(sum(stars) / nullif(sum(rated), 0), 2) as average_score,
  round(sum(displayed_stars) / nullif(sum(displayed_rated), 0), 2) as displayed_average_score,
  sum(score_5)::bigint as score_5,
  sum(score_4)::bigint as score_4,
  sum(score_3)::bigint as score_3,
  sum(score_2)::bigint as score_2,
  sum(score_1)::bigint as score_1,
  round(sum(with_photo) / sum(reviews), 4) as photo_share,
  min(bounds.first) as first_review_at,
  max(bounds.last) as last_review_at
from counted c
-- Null never equals null, so each of the four cases has a condition that the index serves.
cross join lateral (
  select min(created_at) as first, max(created_at) as last
  from (
    (select created_at from warehouse.reviews
    where deleted_at is null and product_code = c.product_code and product_id = c.product_id
    order by created_at limit 1)
    union all
    (select created_at from warehouse.reviews
    where deleted_at is null and product_code = c.product_code and product_id = c.product_id
    order by created_at desc limit 1)
    union all
    (select created_at from warehouse.reviews
    where deleted_at is null and product_code is null and product_id = c.product_id and c.product_code is null
    order by created_at limit 1)
    union all
    (select created_at from warehouse.reviews
    where deleted_at is null and product_code is null and product_id = c.product_id and c.product_code is null
    order by created_at desc limit 1)
    union all
    (select created_at from warehouse.reviews
    where deleted_at is null and product_code = c.product_code and product_id is null and c.product_id is null
    order by created_at limit 1)
    union all
    (select created_at from warehouse.reviews
    where deleted_at is null and product_code = c.product_code and product_id is null and c.product_id is null
    order by created_at desc limit 1)
    union all
    (select created_at from warehouse.reviews
    where deleted_at is null and product_code is null and product_id is null and c.product_code is null and c.product_id is null
    order by created_at limit 1)
    union all
    (select created_at from warehouse.reviews
    where deleted_at is null and product_code is null and product_id is null and c.product_code is null and c.product_id is null
    order by created_at desc limit 1)
  ) as found
) as bounds
group by product_id, case when product_id is null then product_code end;
