-- Which products rate lower in their last 180 days than before? At least five ratings on each side.
with recent as (
  select product_code, score, created_at > newest_review_at - interval '180 days' as is_recent
  from bi.reviews
  cross join bi.freshness
)
select
  product_code,
  round(avg(score) filter (where not is_recent), 2) as before,
  round(avg(score) filter (where is_recent), 2) as last_180_days,
  count(score) filter (where is_recent) as recent_ratings
from recent
group by product_code
having count(score) filter (where is_recent) >= 5 and count(score) filter (where not is_recent) >= 5
  and avg(score) filter (where is_recent) < avg(score) filter (where not is_recent)
order by avg(score) filter (where is_recent) - avg(score) filter (where not is_recent), product_code
limit 8
