-- 0. Requests are counted by slots, in place of windows.
comment on table sync.rate_limit is 'The next request''s slot, over all processes (REVIEW_API_REQUESTS_PER_SECOND).';
comment on column sync.rate_limit.points is 'Not used.';
comment on column sync.rate_limit.expire is 'When the next request may be sent, in microseconds since 1970, by the clock of this server.';

-- 1. Reviews without a product are counted under product -1: a service may have a product 0.
-- 2. A product is shown by the code of its newest review, not by the last one in the alphabet.
-- 3. If one size of an image is no number of pixels, questions about other images still work.
drop index if exists warehouse.reviews_by_product;
create index reviews_by_product on warehouse.reviews (coalesce(product_id, -1), created_at) where deleted_at is null;
comment on index warehouse.reviews_by_product is 'The reviews of a product and month, when they are counted again.';
comment on column sync.product_counts.product_id is 'The service''s id of the product; -1: none. Reviews without an id are counted by code.';
comment on column sync.product_counts.product_code is 'The shop''s code of the product, as the newest of the reviews with a code shows it.';
-- The next count counts everything.
update sync.settings set counted_at = null;
update sync.product_counts set product_id = -1 where product_id = 0;

create or replace view bi.reviews_by_product as
select
  nullif(product_id, -1) as product_id,
  (array_agg(product_code order by last_review_at desc) filter (where product_code is not null))[1] as product_code,
  sum(reviews) as reviews,
  sum(displayed) as displayed_reviews,
  sum(rated) as rated_reviews,
  round(sum(stars)::numeric / nullif(sum(rated), 0), 2) as average_score,
  round(sum(displayed_stars)::numeric / nullif(sum(displayed_rated), 0), 2) as displayed_average_score,
  sum(score_5) as score_5,
  sum(score_4) as score_4,
  sum(score_3) as score_3,
  sum(score_2) as score_2,
  sum(score_1) as score_1,
  round(sum(with_photo)::numeric / sum(reviews), 4) as photo_share,
  min(first_review_at) as first_review_at,
  max(last_review_at) as last_review_at
from sync.product_counts c
where reviews > 0
group by c.product_id, case when c.product_id = -1 then product_code end;
comment on view bi.reviews_by_product is 'Reviews and ratings of each product, over all time.';
comment on column bi.reviews_by_product.product_id is 'The service''s id of the product; null: reviews without a product.';
comment on column bi.reviews_by_product.reviews is 'Reviews, hidden ones too.';
comment on column bi.reviews_by_product.displayed_reviews is 'Reviews that the shop shows.';
comment on column bi.reviews_by_product.rated_reviews is 'Reviews with a rating.';
comment on column bi.reviews_by_product.average_score is 'Average rating.';
comment on column bi.reviews_by_product.displayed_average_score is 'Average rating of the reviews that the shop shows.';
comment on column bi.reviews_by_product.score_5 is 'Reviews with 5.';
comment on column bi.reviews_by_product.score_4 is 'Reviews with 4.';
comment on column bi.reviews_by_product.score_3 is 'Reviews with 3.';
comment on column bi.reviews_by_product.score_2 is 'Reviews with 2.';
comment on column bi.reviews_by_product.score_1 is 'Reviews with 1.';
comment on column bi.reviews_by_product.photo_share is 'Share of reviews with a photo, 0 to 1.';
comment on column bi.reviews_by_product.first_review_at is 'When the first review was written.';
comment on column bi.reviews_by_product.last_review_at is 'When the newest review was written.';
comment on column bi.reviews_by_product.product_code is 'The shop''s code of the product, as its newest review with a code shows it.';

create or replace view bi.reviews_by_product_month as
select
  nullif(product_id, -1) as product_id,
  product_code,
  month,
  reviews::bigint as reviews,
  rated::bigint as rated_reviews,
  stars::bigint as stars,
  round(stars::numeric / nullif(rated, 0), 2) as average_score,
  round(with_photo::numeric / reviews, 4) as photo_share
from sync.product_counts
where reviews > 0;
comment on view bi.reviews_by_product_month is 'Reviews and ratings of each product by the month in which they were written. Months without reviews have no row.';
comment on column bi.reviews_by_product_month.product_id is 'The service''s id of the product; null: reviews without a product.';
comment on column bi.reviews_by_product_month.month is 'First day of the month, in the zone of bi.freshness.';
comment on column bi.reviews_by_product_month.reviews is 'Reviews written, hidden ones too.';
comment on column bi.reviews_by_product_month.rated_reviews is 'Those with a rating.';
comment on column bi.reviews_by_product_month.stars is 'Sum of the ratings: averages of several rows are sum(stars) / sum(rated_reviews).';
comment on column bi.reviews_by_product_month.average_score is 'Average rating; null without ratings.';
comment on column bi.reviews_by_product_month.photo_share is 'Share of reviews with a photo, 0 to 1.';
comment on column bi.reviews_by_product_month.product_code is 'The shop''s code of the product, as the newest review of the month with a code shows it.';

create or replace view warehouse.review_images as
select
  r.id as review_id,
  item.ordinality::integer as position,
  item.value ->> 'url' as url,
  item.value ->> 'gallery_url' as gallery_url,
  item.value ->> 'portrait_url' as portrait_url,
  item.value ->> 'thumbnail_url' as thumbnail_url,
  jsonb_path_query_first(item.value, 'strict $.width ? (@ >= 0 && @ < 2147483647)', silent => true)::integer as width,
  jsonb_path_query_first(item.value, 'strict $.height ? (@ >= 0 && @ < 2147483647)', silent => true)::integer as height,
  jsonb_path_query_first(item.value, 'strict $.gallery_width ? (@ >= 0 && @ < 2147483647)', silent => true)::integer as gallery_width,
  jsonb_path_query_first(item.value, 'strict $.gallery_height ? (@ >= 0 && @ < 2147483647)', silent => true)::integer as gallery_height,
  jsonb_path_query_first(item.value, 'strict $.portrait_width ? (@ >= 0 && @ < 2147483647)', silent => true)::integer as portrait_width,
  jsonb_path_query_first(item.value, 'strict $.portrait_height ? (@ >= 0 && @ < 2147483647)', silent => true)::integer as portrait_height,
  jsonb_path_query_first(item.value, 'strict $.thumbnail_width ? (@ >= 0 && @ < 2147483647)', silent => true)::integer as thumbnail_width,
  jsonb_path_query_first(item.value, 'strict $.thumbnail_height ? (@ >= 0 && @ < 2147483647)', silent => true)::integer as thumbnail_height
from warehouse.reviews r
cross join lateral jsonb_array_elements(
  case jsonb_typeof(r.images) when 'array' then r.images else '[]' end
) with ordinality as item (value, ordinality);
comment on view warehouse.review_images is 'The images of the reviews, one row an image. Those of deleted and hidden reviews too: deleted_at and display are in the table reviews.';
comment on column warehouse.review_images.review_id is 'The review, warehouse.reviews.id.';
comment on column warehouse.review_images.position is 'Place in the review''s list, from 1.';
comment on column warehouse.review_images.url is 'Address of the image.';
comment on column warehouse.review_images.gallery_url is 'Address of the gallery variant.';
comment on column warehouse.review_images.portrait_url is 'Address of the portrait variant.';
comment on column warehouse.review_images.thumbnail_url is 'Address of the thumbnail.';
comment on column warehouse.review_images.width is 'Width of the image in pixels.';
comment on column warehouse.review_images.height is 'Height of the image in pixels.';
comment on column warehouse.review_images.gallery_width is 'Width of the gallery variant in pixels.';
comment on column warehouse.review_images.gallery_height is 'Height of the gallery variant in pixels.';
comment on column warehouse.review_images.portrait_width is 'Width of the portrait variant in pixels.';
comment on column warehouse.review_images.portrait_height is 'Height of the portrait variant in pixels.';
comment on column warehouse.review_images.thumbnail_width is 'Width of the thumbnail in pixels.';
comment on column warehouse.review_images.thumbnail_height is 'Height of the thumbnail in pixels.';
