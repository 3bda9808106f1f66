-- Score by product: the ten products with the most reviews.
select
  coalesce(product_code, '(none)') as product,
  count(*) as reviews,
  round(avg(score), 2) as average_score,
  count(*) filter (where score <= 2) as unhappy,
  max(created_at)::date as newest
from warehouse.reviews
where deleted_at is null
group by 1
order by reviews desc, product
limit 10
