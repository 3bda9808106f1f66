-- Which products rate worst, of those with at least ten ratings?
select product_id, product_code, rated_reviews, average_score, score_1 + score_2 as low_ratings
from bi.reviews_by_product
where rated_reviews >= 10 and coalesce(product_id::text, product_code) is not null
order by average_score, rated_reviews desc, product_id, product_code
limit 8
