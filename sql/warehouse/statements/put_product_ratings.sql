-- $1 text: a JSON array of the summaries. A new product gets a row only while fewer than a million products have one,
-- so that webhooks do not fill the disk.
insert into warehouse.product_ratings as kept
  (product_id, product_code, reviews_count, score, meta_reviews_count, meta_score, received_at)
select id, code, "reviewsCount", score, "metaReviewsCount", "metaScore",
  coalesce("receivedAt", now())
from jsonb_to_recordset($1::text::jsonb) as r (
  id bigint, code text, "reviewsCount" integer, score numeric, "metaReviewsCount" integer, "metaScore" numeric,
  "receivedAt" timestamptz
)
where id in (select product_id from warehouse.product_ratings)
  or (select count(*) from (select from warehouse.product_ratings limit 1000000) kept) < 1000000
order by id
on conflict (product_id) do update set
  product_code = coalesce(excluded.product_code, kept.product_code), reviews_count = excluded.reviews_count,
  score = excluded.score, meta_reviews_count = excluded.meta_reviews_count, meta_score = excluded.meta_score,
  received_at = excluded.received_at
where excluded.received_at >= kept.received_at
