-- The views of bi that are answered from counts, by reading every row: what the counts must agree with. Each has the
-- same columns, in the same order, as in sql/warehouse/0006_bi.sql.
create schema by_row;

create view by_row.ordered_products as
with lines as (
  select
    order_code, product_id,
    count(*) as sub_orders,
    count(delivered_at) as delivered_sub_orders,
    min(delivered_at) as delivered_at
  from sync.sub_order_links
  where sub_order_id is not null and product_id is not null
  group by order_code, product_id
),
answers as (
  select order_code, product_id, count(*) as reviews, count(score) as rated, coalesce(sum(score), 0) as stars,
    min(created_at) as first_review_at
  from warehouse.reviews
  where deleted_at is null and order_code is not null
  group by order_code, product_id
)
select
  lines.*,
  coalesce(answers.reviews, 0) as reviews,
  coalesce(answers.rated, 0) as rated,
  coalesce(answers.stars, 0) as stars,
  answers.first_review_at,
  floor(extract(epoch from answers.first_review_at - lines.delivered_at) / 3600) as hours_to_review
from lines
left join answers on answers.order_code = lines.order_code and answers.product_id = lines.product_id;

create view by_row.reviews_by_day as
with counted as (
  select
    created_on, count(*) as reviews, count(*) filter (where not is_displayed) as hidden_reviews,
    count(score) as rated_reviews, avg(score) as average_score,
    count(*) filter (where has_photo) as photo_reviews, count(*) filter (where has_video) as video_reviews
  from bi.reviews
  group by created_on
)
select
  day::date as day,
  coalesce(c.reviews, 0) as reviews,
  coalesce(c.hidden_reviews, 0) as hidden_reviews,
  coalesce(c.rated_reviews, 0) as rated_reviews,
  round(c.average_score, 2) as average_score,
  coalesce(c.photo_reviews, 0) as photo_reviews,
  coalesce(c.video_reviews, 0) as video_reviews,
  round(c.photo_reviews::numeric / c.reviews, 4) as photo_share
from (select min(created_on)::timestamp as first, max(created_on)::timestamp as last from counted) as bounds
cross join lateral generate_series(bounds.first, bounds.last, interval '1 day') as day
left join counted c on c.created_on = day::date;

create view by_row.reviews_by_product as
select
  product_id,
  (array_agg(product_code order by created_at desc, review_id desc) filter (where product_code is not null))[1] as product_code,
  count(*) as reviews,
  count(*) filter (where is_displayed) as displayed_reviews,
  count(score) as rated_reviews,
  round(avg(score), 2) as average_score,
  round(avg(score) filter (where is_displayed), 2) as displayed_average_score,
  count(*) filter (where score = 5) as score_5,
  count(*) filter (where score = 4) as score_4,
  count(*) filter (where score = 3) as score_3,
  count(*) filter (where score = 2) as score_2,
  count(*) filter (where score = 1) as score_1,
  round(count(*) filter (where has_photo)::numeric / count(*), 4) as photo_share,
  min(created_at) as first_review_at,
  max(created_at) as last_review_at
from bi.reviews
group by product_id, case when product_id is null then product_code end;

create view by_row.reviews_by_score as
select
  score,
  count(*) as reviews,
  round(count(*) / sum(count(*)) over (), 4) as share,
  round(count(*) filter (where has_photo)::numeric / count(*), 4) as photo_share,
  count(*) filter (where not is_displayed) as hidden_reviews
from bi.reviews
group by score;

create view by_row.reviews_by_source as
select
  source,
  count(*) as reviews,
  round(count(*) / sum(count(*)) over (), 4) as share,
  round(avg(score), 2) as average_score,
  round(count(*) filter (where has_photo)::numeric / count(*), 4) as photo_share,
  max(created_at) as last_review_at
from bi.reviews
group by source;

create view by_row.score_trend as
with monthly as (
  select created_month as month, count(*) as reviews, count(score) as rated, sum(score) as stars,
    count(*) filter (where score <= 2) as low
  from bi.reviews
  group by created_month
)
select
  month,
  reviews,
  rated as rated_reviews,
  round(stars::numeric / nullif(rated, 0), 2) as average_score,
  round((sum(stars) over quarter)::numeric / nullif(sum(rated) over quarter, 0), 2) as average_score_3_months,
  round(stars::numeric / nullif(rated, 0) - lag(stars::numeric / nullif(rated, 0)) over (order by month), 2) as change,
  round(low::numeric / nullif(rated, 0), 4) as low_share
from monthly
window quarter as (order by month range between interval '2 months' preceding and current row);

create view by_row.photo_share as
select
  created_month as month,
  count(*) as reviews,
  count(*) filter (where has_photo) as photo_reviews,
  round(count(*) filter (where has_photo)::numeric / count(*), 4) as photo_share,
  count(*) filter (where has_video) as video_reviews,
  round(count(*) filter (where has_video)::numeric / count(*), 4) as video_share,
  round(avg(score) filter (where has_photo), 2) as average_score_with_photo,
  round(avg(score) filter (where not has_photo), 2) as average_score_without_photo
from bi.reviews
group by created_month;

create view by_row.product_ratings as
select
  coalesce(t.product_id, o.product_id) as product_id,
  coalesce(t.product_code, o.product_code) as product_code,
  t.reviews_count as service_reviews,
  round(t.score, 2) as service_score,
  t.meta_reviews_count as service_meta_reviews,
  round(t.meta_score, 2) as service_meta_score,
  t.received_at as service_told_at,
  coalesce(o.displayed_reviews, 0) as displayed_reviews,
  o.displayed_average_score,
  t.reviews_count - coalesce(o.displayed_reviews, 0) as reviews_difference,
  round(t.score - o.displayed_average_score, 2) as score_difference
from warehouse.product_ratings t
full join (select * from by_row.reviews_by_product where product_id is not null) o on o.product_id = t.product_id;

create view by_row.response_by_order as
with orders as (
  select order_code, count(*) as sub_orders, count(delivered_at) as delivered_sub_orders,
    min(delivered_at) as delivered_at
  from sync.sub_order_links
  where sub_order_id is not null
  group by order_code
),
answers as (
  select order_code, count(*) as reviews, avg(score) as average_score, min(created_at) as first_review_at
  from warehouse.reviews
  where deleted_at is null and order_code is not null
  group by order_code
)
select
  md5((select order_salt from sync.settings) || o.order_code) as order_key,
  l.ordered_at,
  o.delivered_at,
  (o.delivered_at at time zone (select time_zone from sync.settings))::date as delivered_on,
  o.sub_orders,
  o.delivered_sub_orders,
  coalesce(a.reviews, 0) as reviews,
  coalesce(a.reviews, 0) > 0 as has_review,
  round(a.average_score, 2) as average_score,
  a.first_review_at,
  round(extract(epoch from a.first_review_at - l.ordered_at) / 86400, 2) as days_from_order_to_review,
  round(extract(epoch from a.first_review_at - o.delivered_at) / 86400, 2) as days_from_delivery_to_review
from orders o
left join sync.order_links l on l.order_code = o.order_code
left join answers a on a.order_code = o.order_code;

create view by_row.reviews_per_delivered_sub_order as
select
  date_trunc('month', delivered_at at time zone (select time_zone from sync.settings))::date as month,
  sum(delivered_sub_orders)::bigint as delivered_sub_orders,
  sum(reviews)::bigint as reviews,
  round(sum(reviews) / sum(delivered_sub_orders), 4) as reviews_per_sub_order,
  sum(least(reviews, delivered_sub_orders))::bigint as reviewed_sub_orders,
  round(sum(least(reviews, delivered_sub_orders)) / sum(delivered_sub_orders), 4) as reviewed_share,
  round((percentile_cont(0.5) within group (order by hours_to_review) / 24)::numeric, 1) as median_days_to_review
from by_row.ordered_products
where delivered_at is not null
group by 1;

create view by_row.reviews_per_delivered_sub_order_by_product as
select
  d.product_id,
  p.product_code,
  d.delivered_sub_orders,
  d.reviews,
  round(d.reviews::numeric / d.delivered_sub_orders, 4) as reviews_per_sub_order,
  d.reviewed_sub_orders,
  round(d.reviewed_sub_orders::numeric / d.delivered_sub_orders, 4) as reviewed_share
from (
  select product_id, sum(delivered_sub_orders)::bigint as delivered_sub_orders, sum(reviews)::bigint as reviews,
    sum(least(reviews, delivered_sub_orders))::bigint as reviewed_sub_orders
  from by_row.ordered_products
  where delivered_at is not null
  group by product_id
) d
left join (
  select distinct on (product_id) product_id, product_code from sync.product_links order by product_id, linked_at desc, product_code
) p on p.product_id = d.product_id;

create view by_row.reviews_by_product_month as
select
  product_id,
  (array_agg(product_code order by created_at desc, review_id desc) filter (where product_code is not null))[1] as product_code,
  created_month as month,
  count(*) as reviews,
  count(score) as rated_reviews,
  coalesce(sum(score), 0) as stars,
  round(avg(score), 2) as average_score,
  round(avg(has_photo::integer), 4) as photo_share
from bi.reviews
group by product_id, case when product_id is null then product_code end, created_month;

create view by_row.time_to_review as
select
  date_trunc('month', delivered_at at time zone (select time_zone from sync.settings))::date as month,
  floor(hours_to_review / 24)::integer as days,
  count(*) as deliveries,
  sum(rated)::bigint as rated_reviews,
  sum(stars)::bigint as stars,
  round(sum(stars) / nullif(sum(rated), 0), 2) as average_score
from by_row.ordered_products
where delivered_at is not null
group by 1, 2;
