-- Averages of the service have 16 digits. They are rounded as ours are.
create or replace view bi.product_ratings as
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
full join (select * from bi.reviews_by_product where product_id is not null) o on o.product_id = t.product_id;
comment on view bi.product_ratings is 'The service''s summary of each product beside the reviews in the warehouse. Summaries come by webhook: the service''s columns are null for a product without one.';
comment on column bi.product_ratings.product_id is 'The service''s id of the product.';
comment on column bi.product_ratings.product_code is 'The shop''s code of the product.';
comment on column bi.product_ratings.service_reviews is 'Number of reviews in the service''s newest summary.';
comment on column bi.product_ratings.service_score is 'Average rating in the service''s newest summary.';
comment on column bi.product_ratings.service_meta_reviews is 'Number of reviews with those of set products, in the service''s newest summary.';
comment on column bi.product_ratings.service_meta_score is 'Average rating with set products, in the service''s newest summary.';
comment on column bi.product_ratings.service_told_at is 'When the newest summary came. Later reviews make a difference.';
comment on column bi.product_ratings.displayed_reviews is 'Reviews in the warehouse that the shop shows.';
comment on column bi.product_ratings.displayed_average_score is 'Their average rating.';
comment on column bi.product_ratings.reviews_difference is 'service_reviews minus displayed_reviews.';
comment on column bi.product_ratings.score_difference is 'service_score minus displayed_average_score.';
