-- Does what the service says of a product agree with the reviews here? The largest differences in the number of reviews.
select product_id, product_code, service_reviews, displayed_reviews, reviews_difference, service_score, displayed_average_score
from bi.product_ratings
where service_reviews is not null
order by abs(reviews_difference) desc, product_id
limit 5
