-- Averages of the service have 16 digits: they are rounded as ours are.
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
