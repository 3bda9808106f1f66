with reviews as (
  select
    product_id,
    created_month as month,
    count(*) as reviews,
    count(score) as rated_reviews,
    round(avg(score), 2) as average_score
  from {{ source('review_sync', 'reviews') }}
  where product_id is not null
  group by product_id, created_month
),

delivered as (
  select
    product_id,
    cast(date_trunc('month', delivered_on) as date) as month,
    count(*) as delivered_sub_orders
  from {{ source('review_sync', 'sub_orders') }}
  where delivered_on is not null and product_id is not null
  group by product_id, cast(date_trunc('month', delivered_on) as date)
)

select
  product_id,
  month,
  coalesce(reviews.reviews, 0) as reviews,
  coalesce(reviews.rated_reviews, 0) as rated_reviews,
  reviews.average_score,
  coalesce(delivered.delivered_sub_orders, 0) as delivered_sub_orders
from reviews
full join delivered using (product_id, month)
