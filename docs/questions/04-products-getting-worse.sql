-- Which products rate lower in the last six calendar months than before? At least five ratings on each side.
with since as materialized (
  select date_trunc('month', newest_review_at at time zone time_zone) - interval '6 months' as month
  from bi.freshness
),
monthly as (
  select product_id, product_code, m.month, stars, rated_reviews, m.month > since.month as is_recent
  from bi.reviews_by_product_month m
  cross join since
  where coalesce(product_id::text, product_code) is not null
),
-- By id: the code of a product may change.
compared as (
  select
    product_id,
    (array_agg(product_code order by month desc) filter (where product_code is not null))[1] as product_code,
    sum(stars) filter (where not is_recent) / nullif(sum(rated_reviews) filter (where not is_recent), 0) as before,
    sum(stars) filter (where is_recent) / nullif(sum(rated_reviews) filter (where is_recent), 0) as recent,
    sum(rated_reviews) filter (where not is_recent) as ratings_before,
    sum(rated_reviews) filter (where is_recent) as recent_ratings
  from monthly
  group by product_id, case when product_id is null then product_code end
)
select product_id, product_code, round(before, 2) as before, round(recent, 2) as last_six_months, recent_ratings
from compared
where ratings_before >= 5 and recent_ratings >= 5 and recent < before
order by recent - before, product_id, product_code
limit 8
