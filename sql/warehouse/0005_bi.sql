-- What analysts ask, as views that show no member: who they may be read by is settled by migrate, since roles belong to
-- the server and not to this database (statements/open_bi_to_readers.sql).

-- Views cannot read the environment, yet a day begins where the service's zone says.
create table sync.settings (
  is_only    boolean primary key default true check (is_only),
  time_zone  text not null default 'Asia/Seoul',
  order_salt text not null default gen_random_uuid()::text
);
insert into sync.settings default values;
comment on table sync.settings is 'What the views of bi need to know. One row.';
comment on column sync.settings.is_only is 'Always true: keeps the table at one row.';
comment on column sync.settings.time_zone is 'REVIEW_API_TIME_ZONE as of the last migrate: days and months of bi are in this zone.';
comment on column sync.settings.order_salt is 'Goes into order_key of bi, so that no order code can be found by trying codes.';

-- What the push knows of delivery, as columns: a million casts out of content would take longer than the query.
alter table sync.order_links add column ordered_at timestamptz;
comment on column sync.order_links.ordered_at is 'The shop''s created_at of what was last pushed; null where that was before this column was there.';
alter table sync.sub_order_links
  add column product_id bigint,
  add column status text,
  add column delivered_at timestamptz;
update sync.sub_order_links set
  product_id = (content ->> 'product_id')::bigint,
  status = content ->> 'status',
  delivered_at = (content ->> 'delivered_at')::timestamptz;
comment on column sync.sub_order_links.product_id is 'The service''s product id, out of content.';
comment on column sync.sub_order_links.status is 'Where the line stands, out of content.';
comment on column sync.sub_order_links.delivered_at is 'When the line was delivered, out of content; null: not delivered, or the shop does not tell.';

-- With these columns in the index most views read it alone: a fifth of the table's size.
create index reviews_by_creation_for_bi on warehouse.reviews (created_at) include (
  deleted_at, display, score, product_id, product_code, review_type, images_count, videos_count, source, order_code
);
drop index warehouse.reviews_by_creation;
alter index warehouse.reviews_by_creation_for_bi rename to reviews_by_creation;

create view sync.ordered_products as
with lines as (
  select
    order_code, product_id,
    count(*) as sub_orders,
    count(delivered_at) as delivered_sub_orders,
    min(delivered_at) as delivered_at
  from sync.sub_order_links
  where sub_order_id is not null
  group by order_code, product_id
),
answers as (
  select order_code, product_id, count(*) as reviews, min(created_at) as first_review_at
  from warehouse.reviews
  where deleted_at is null and order_code is not null
  group by order_code, product_id
)
select
  lines.*,
  coalesce(answers.reviews, 0) as reviews,
  answers.first_review_at
from lines
left join answers on answers.order_code = lines.order_code and answers.product_id = lines.product_id;
comment on view sync.ordered_products is 'Each product of each pushed order with its reviews; what the views of bi about delivery are made of. A review belongs to it by order code and product: the service does not always tell the sub-order.';
comment on column sync.ordered_products.order_code is 'The shop''s order code.';
comment on column sync.ordered_products.product_id is 'The service''s id of the product.';
comment on column sync.ordered_products.sub_orders is 'Sub-orders of this product in this order.';
comment on column sync.ordered_products.delivered_sub_orders is 'Those of them that were delivered.';
comment on column sync.ordered_products.delivered_at is 'When the first of them was delivered.';
comment on column sync.ordered_products.reviews is 'Reviews of this product out of this order, deleted ones left out.';
comment on column sync.ordered_products.first_review_at is 'When the first of them was written.';

create schema bi;
comment on schema bi is 'Views for analysts, open to the role bi_reader: no name, code or e-mail of a member is in them. Days and months are in the zone that bi.freshness tells. Deleted reviews are left out; hidden ones are in, told by is_displayed. The views run with their owner''s rights (security_invoker is off): who may read one needs no right on what is beneath.';

create view bi.freshness as
select
  s.time_zone,
  (select max(created_at) from warehouse.reviews where deleted_at is null) as newest_review_at,
  (select (position ->> 'readTo')::timestamptz from sync.cursors where flow = 'reviews') as reviews_read_to,
  (select (position ->> 'at')::timestamptz from sync.cursors where flow = 'orders') as orders_pushed_to,
  (select count(*) from sync.dead_letters where resolved_at is null) as records_not_synced
from sync.settings s;
comment on view bi.freshness is 'How new the data are, and the zone of all days and months. One row.';
comment on column bi.freshness.time_zone is 'IANA zone in which days and months are cut.';
comment on column bi.freshness.newest_review_at is 'When the newest review here was written.';
comment on column bi.freshness.reviews_read_to is 'The service''s clock when the last finished run of sync reviews began; null before the first.';
comment on column bi.freshness.orders_pushed_to is 'The shop''s newest change of an order that was pushed; null before the first run.';
comment on column bi.freshness.records_not_synced is 'Orders, lines, reviews and the like that could not be synced and are open.';

create view bi.reviews as
select
  r.id as review_id,
  r.created_at,
  (r.created_at at time zone (select time_zone from sync.settings))::date as created_on,
  date_trunc('month', r.created_at at time zone (select time_zone from sync.settings))::date as created_month,
  r.updated_at,
  r.product_id,
  r.product_code,
  r.score,
  r.review_type,
  r.source,
  coalesce(r.images_count > 0, r.review_type in ('photo', 'video&photo'), false) as has_photo,
  coalesce(r.videos_count > 0, r.review_type in ('video', 'video&photo'), false) as has_video,
  coalesce(r.display, true) as is_displayed,
  r.images_count as photos,
  r.videos_count as videos,
  r.likes_count as votes,
  r.plus_likes_count as helpful_votes,
  r.comments_count as comments,
  length(r.message) as message_length,
  r.store_order as is_store_order,
  r.store_name,
  r.third_party_name,
  r.sub_brand_id,
  r.tag_name,
  r.user_code is not null as is_by_member,
  md5((select order_salt from sync.settings) || r.order_code) as order_key,
  r.first_seen_at
from warehouse.reviews r
where r.deleted_at is null;
comment on view bi.reviews is 'One row per review that the service has, hidden ones too. Left out: who wrote it, the codes of its order, and the text, the options and the additional information, in which customers write their names, initials and measures.';
comment on column bi.reviews.review_id is 'The service''s id of the review.';
comment on column bi.reviews.created_at is 'When it was written. Cut long tables by this column: it is indexed.';
comment on column bi.reviews.created_on is 'Day on which it was written, in the zone of bi.freshness.';
comment on column bi.reviews.created_month is 'First day of that month.';
comment on column bi.reviews.updated_at is 'When it last changed at the service.';
comment on column bi.reviews.product_id is 'The service''s id of the product.';
comment on column bi.reviews.product_code is 'The shop''s code of the product; null: the service tells none.';
comment on column bi.reviews.score is 'Rating, 1 to 5; null: no rating was given. Averages leave such reviews out.';
comment on column bi.reviews.review_type is 'text, photo, video or video&photo.';
comment on column bi.reviews.source is 'Where it came from, such as brand_pc or sms.';
comment on column bi.reviews.has_photo is 'Whether it has at least one photo.';
comment on column bi.reviews.has_video is 'Whether it has at least one video.';
comment on column bi.reviews.is_displayed is 'Whether the shop shows it. False: hidden from customers, but still a review that was written.';
comment on column bi.reviews.photos is 'Number of photos.';
comment on column bi.reviews.videos is 'Number of videos.';
comment on column bi.reviews.votes is 'Helpful and not-helpful votes together.';
comment on column bi.reviews.helpful_votes is 'Helpful votes.';
comment on column bi.reviews.comments is 'Number of comments.';
comment on column bi.reviews.message_length is 'Length of the text in characters.';
comment on column bi.reviews.is_store_order is 'Whether the order was made in an offline store.';
comment on column bi.reviews.store_name is 'Name of that store.';
comment on column bi.reviews.third_party_name is 'External partner the review came through.';
comment on column bi.reviews.sub_brand_id is 'Sub-brand, where the shop has any.';
comment on column bi.reviews.tag_name is 'Tag of the review.';
comment on column bi.reviews.is_by_member is 'Whether a member of the shop wrote it; not which.';
comment on column bi.reviews.order_key is 'Stands for the order, the same in all views of bi; says nothing else. Null: the review is about no order.';
comment on column bi.reviews.first_seen_at is 'When review-sync first read it.';

create view bi.reviews_by_day as
with counted as (
  select
    created_on, count(*) as reviews, count(*) filter (where not is_displayed) as hidden_reviews,
    count(score) as rated_reviews, avg(score) as average_score,
    count(*) filter (where has_photo) as photo_reviews, count(*) filter (where has_video) as video_reviews
  from bi.reviews
  group by created_on
)
select
  day::date as day,
  coalesce(c.reviews, 0) as reviews,
  coalesce(c.hidden_reviews, 0) as hidden_reviews,
  coalesce(c.rated_reviews, 0) as rated_reviews,
  round(c.average_score, 2) as average_score,
  coalesce(c.photo_reviews, 0) as photo_reviews,
  coalesce(c.video_reviews, 0) as video_reviews,
  round(c.photo_reviews::numeric / c.reviews, 4) as photo_share
from (select min(created_on)::timestamp as first, max(created_on)::timestamp as last from counted) as bounds
cross join lateral generate_series(bounds.first, bounds.last, interval '1 day') as day
left join counted c on c.created_on = day::date;
comment on view bi.reviews_by_day is 'Reviews by the day on which they were written: one row for every day from the first review to the last, days without any too.';
comment on column bi.reviews_by_day.day is 'The day, in the zone of bi.freshness.';
comment on column bi.reviews_by_day.reviews is 'Reviews written, hidden ones too; 0: none.';
comment on column bi.reviews_by_day.hidden_reviews is 'Those of them that the shop does not show.';
comment on column bi.reviews_by_day.rated_reviews is 'Those with a rating.';
comment on column bi.reviews_by_day.average_score is 'Average rating; null on a day without ratings.';
comment on column bi.reviews_by_day.photo_reviews is 'Those with at least one photo.';
comment on column bi.reviews_by_day.video_reviews is 'Those with at least one video.';
comment on column bi.reviews_by_day.photo_share is 'Share of reviews with a photo, 0 to 1; null on a day without reviews.';

create view bi.reviews_by_product as
select
  product_id,
  max(product_code) as product_code,
  count(*) as reviews,
  count(*) filter (where is_displayed) as displayed_reviews,
  count(score) as rated_reviews,
  round(avg(score), 2) as average_score,
  round(avg(score) filter (where is_displayed), 2) as displayed_average_score,
  count(*) filter (where score = 5) as score_5,
  count(*) filter (where score = 4) as score_4,
  count(*) filter (where score = 3) as score_3,
  count(*) filter (where score = 2) as score_2,
  count(*) filter (where score = 1) as score_1,
  round(count(*) filter (where has_photo)::numeric / count(*), 4) as photo_share,
  min(created_at) as first_review_at,
  max(created_at) as last_review_at
from bi.reviews
group by product_id, case when product_id is null then product_code end;
comment on view bi.reviews_by_product is 'Reviews and ratings of each product, over all time.';
comment on column bi.reviews_by_product.product_id is 'The service''s id of the product; null: reviews for which it tells none.';
comment on column bi.reviews_by_product.product_code is 'The shop''s code of the product.';
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

create view bi.reviews_by_score as
select
  score,
  count(*) as reviews,
  round(count(*) / sum(count(*)) over (), 4) as share,
  round(count(*) filter (where has_photo)::numeric / count(*), 4) as photo_share,
  count(*) filter (where not is_displayed) as hidden_reviews
from bi.reviews
group by score;
comment on view bi.reviews_by_score is 'How the reviews rate, over all time.';
comment on column bi.reviews_by_score.score is 'Rating, 1 to 5; null: no rating was given.';
comment on column bi.reviews_by_score.reviews is 'Reviews with it, hidden ones too.';
comment on column bi.reviews_by_score.share is 'Their share of all reviews, 0 to 1.';
comment on column bi.reviews_by_score.photo_share is 'Share of them with a photo, 0 to 1.';
comment on column bi.reviews_by_score.hidden_reviews is 'Those of them that the shop does not show.';

create view bi.reviews_by_source as
select
  source,
  count(*) as reviews,
  round(count(*) / sum(count(*)) over (), 4) as share,
  round(avg(score), 2) as average_score,
  round(count(*) filter (where has_photo)::numeric / count(*), 4) as photo_share,
  max(created_at) as last_review_at
from bi.reviews
group by source;
comment on view bi.reviews_by_source is 'Where the reviews came from, over all time.';
comment on column bi.reviews_by_source.source is 'The service''s word for it, such as brand_pc or sms; null: it tells none.';
comment on column bi.reviews_by_source.reviews is 'Reviews from there, hidden ones too.';
comment on column bi.reviews_by_source.share is 'Their share of all reviews, 0 to 1.';
comment on column bi.reviews_by_source.average_score is 'Average rating.';
comment on column bi.reviews_by_source.photo_share is 'Share of them with a photo, 0 to 1.';
comment on column bi.reviews_by_source.last_review_at is 'When the newest of them was written.';

create view bi.score_trend as
with monthly as (
  select created_month as month, count(*) as reviews, count(score) as rated, sum(score) as stars,
    count(*) filter (where score <= 2) as low
  from bi.reviews
  group by created_month
)
select
  month,
  reviews,
  rated as rated_reviews,
  round(stars::numeric / nullif(rated, 0), 2) as average_score,
  round((sum(stars) over quarter)::numeric / nullif(sum(rated) over quarter, 0), 2) as average_score_3_months,
  round(stars::numeric / nullif(rated, 0) - lag(stars::numeric / nullif(rated, 0)) over (order by month), 2) as change,
  round(low::numeric / nullif(rated, 0), 4) as low_share
from monthly
window quarter as (order by month range between interval '2 months' preceding and current row);
comment on view bi.score_trend is 'How the ratings go, by the month in which the reviews were written. Months without reviews have no row.';
comment on column bi.score_trend.month is 'First day of the month, in the zone of bi.freshness.';
comment on column bi.score_trend.reviews is 'Reviews written, hidden ones too.';
comment on column bi.score_trend.rated_reviews is 'Those with a rating.';
comment on column bi.score_trend.average_score is 'Average rating of the month; null without ratings.';
comment on column bi.score_trend.average_score_3_months is 'Average rating of the ratings of this month and the two calendar months before.';
comment on column bi.score_trend.change is 'Average rating less that of the row before; null in the first month.';
comment on column bi.score_trend.low_share is 'Share of ratings of 1 or 2, 0 to 1.';

create view bi.photo_share as
select
  created_month as month,
  count(*) as reviews,
  count(*) filter (where has_photo) as photo_reviews,
  round(count(*) filter (where has_photo)::numeric / count(*), 4) as photo_share,
  count(*) filter (where has_video) as video_reviews,
  round(count(*) filter (where has_video)::numeric / count(*), 4) as video_share,
  round(avg(score) filter (where has_photo), 2) as average_score_with_photo,
  round(avg(score) filter (where not has_photo), 2) as average_score_without_photo
from bi.reviews
group by created_month;
comment on view bi.photo_share is 'How many reviews carry photos or videos, by the month in which they were written.';
comment on column bi.photo_share.month is 'First day of the month, in the zone of bi.freshness.';
comment on column bi.photo_share.reviews is 'Reviews written, hidden ones too.';
comment on column bi.photo_share.photo_reviews is 'Those with at least one photo.';
comment on column bi.photo_share.photo_share is 'Their share, 0 to 1.';
comment on column bi.photo_share.video_reviews is 'Reviews with at least one video.';
comment on column bi.photo_share.video_share is 'Their share, 0 to 1.';
comment on column bi.photo_share.average_score_with_photo is 'Average rating of the reviews with photos.';
comment on column bi.photo_share.average_score_without_photo is 'Average rating of the others.';

create view bi.product_ratings as
select
  coalesce(t.product_id, o.product_id) as product_id,
  coalesce(t.product_code, o.product_code) as product_code,
  t.reviews_count as service_reviews,
  t.score as service_score,
  t.meta_reviews_count as service_meta_reviews,
  t.meta_score as service_meta_score,
  t.received_at as service_told_at,
  coalesce(o.displayed_reviews, 0) as displayed_reviews,
  o.displayed_average_score,
  t.reviews_count - coalesce(o.displayed_reviews, 0) as reviews_difference,
  round(t.score - o.displayed_average_score, 2) as score_difference
from warehouse.product_ratings t
full join (select * from bi.reviews_by_product where product_id is not null) o on o.product_id = t.product_id;
comment on view bi.product_ratings is 'What the service says of each product beside what the reviews here say. The service''s side comes by webhook, so it is null for a product of which none came.';
comment on column bi.product_ratings.product_id is 'The service''s id of the product.';
comment on column bi.product_ratings.product_code is 'The shop''s code of the product.';
comment on column bi.product_ratings.service_reviews is 'Number of reviews, as the service said last.';
comment on column bi.product_ratings.service_score is 'Average rating, as the service said last.';
comment on column bi.product_ratings.service_meta_reviews is 'Number of reviews with those of set products, as the service said last.';
comment on column bi.product_ratings.service_meta_score is 'Average rating with set products, as the service said last.';
comment on column bi.product_ratings.service_told_at is 'When the service said so. Reviews written since make a difference.';
comment on column bi.product_ratings.displayed_reviews is 'Reviews here that the shop shows.';
comment on column bi.product_ratings.displayed_average_score is 'Their average rating.';
comment on column bi.product_ratings.reviews_difference is 'service_reviews less displayed_reviews.';
comment on column bi.product_ratings.score_difference is 'service_score less displayed_average_score.';

create view bi.sub_orders as
select
  md5((select order_salt from sync.settings) || l.order_code) as order_key,
  l.product_id,
  p.product_code,
  l.status,
  o.ordered_at,
  l.delivered_at,
  (l.delivered_at at time zone (select time_zone from sync.settings))::date as delivered_on
from sync.sub_order_links l
left join sync.order_links o on o.order_code = l.order_code
left join (
  select product_id, max(product_code) as product_code from sync.product_links group by product_id
) p on p.product_id = l.product_id
where l.sub_order_id is not null;
comment on view bi.sub_orders is 'The purchased products that were pushed to the service, one row each. Orders that were deleted at the service are not among them.';
comment on column bi.sub_orders.order_key is 'Stands for the order, the same in all views of bi.';
comment on column bi.sub_orders.product_id is 'The service''s id of the product.';
comment on column bi.sub_orders.product_code is 'The shop''s code of the product; null: not learned yet.';
comment on column bi.sub_orders.status is 'Where it stands, in the words that the shop''s query gives, such as delivery_finished or returned.';
comment on column bi.sub_orders.ordered_at is 'When the order was made; null: the order has not been pushed since review-sync keeps it.';
comment on column bi.sub_orders.delivered_at is 'When it was delivered; null: not delivered, or the shop does not tell.';
comment on column bi.sub_orders.delivered_on is 'That day, in the zone of bi.freshness.';

create view bi.response_by_order as
with orders as (
  select order_code, count(*) as sub_orders, count(delivered_at) as delivered_sub_orders,
    min(delivered_at) as delivered_at
  from sync.sub_order_links
  where sub_order_id is not null
  group by order_code
),
answers as (
  select order_code, count(*) as reviews, avg(score) as average_score, min(created_at) as first_review_at
  from warehouse.reviews
  where deleted_at is null and order_code is not null
  group by order_code
)
select
  md5((select order_salt from sync.settings) || o.order_code) as order_key,
  l.ordered_at,
  o.delivered_at,
  (o.delivered_at at time zone (select time_zone from sync.settings))::date as delivered_on,
  o.sub_orders,
  o.delivered_sub_orders,
  coalesce(a.reviews, 0) as reviews,
  coalesce(a.reviews, 0) > 0 as has_review,
  round(a.average_score, 2) as average_score,
  a.first_review_at,
  round(extract(epoch from a.first_review_at - l.ordered_at) / 86400, 2) as days_from_order_to_review,
  round(extract(epoch from a.first_review_at - o.delivered_at) / 86400, 2) as days_from_delivery_to_review
from orders o
left join sync.order_links l on l.order_code = o.order_code
left join answers a on a.order_code = o.order_code;
comment on view bi.response_by_order is 'Each order that was pushed to the service, and the reviews that came of it. Not the order that was deleted at the service, nor one without a pushed line.';
comment on column bi.response_by_order.order_key is 'Stands for the order, the same in all views of bi.';
comment on column bi.response_by_order.ordered_at is 'When the order was made; null: it has not been pushed since review-sync keeps this.';
comment on column bi.response_by_order.delivered_at is 'When its first sub-order was delivered; null: none was.';
comment on column bi.response_by_order.delivered_on is 'That day, in the zone of bi.freshness.';
comment on column bi.response_by_order.sub_orders is 'Purchased products in it.';
comment on column bi.response_by_order.delivered_sub_orders is 'Those of them that were delivered.';
comment on column bi.response_by_order.reviews is 'Reviews that name this order, hidden ones too.';
comment on column bi.response_by_order.has_review is 'Whether there is one.';
comment on column bi.response_by_order.average_score is 'Their average rating.';
comment on column bi.response_by_order.first_review_at is 'When the first of them was written.';
comment on column bi.response_by_order.days_from_order_to_review is 'Days from the order to its first review.';
comment on column bi.response_by_order.days_from_delivery_to_review is 'Days from the first delivery to the first review; below 0 where it was written before.';

create view bi.reviews_per_delivered_sub_order as
select
  date_trunc('month', delivered_at at time zone (select time_zone from sync.settings))::date as month,
  sum(delivered_sub_orders)::bigint as delivered_sub_orders,
  sum(reviews)::bigint as reviews,
  round(sum(reviews) / sum(delivered_sub_orders), 4) as reviews_per_sub_order,
  sum(least(reviews, delivered_sub_orders))::bigint as reviewed_sub_orders,
  round(sum(least(reviews, delivered_sub_orders)) / sum(delivered_sub_orders), 4) as reviewed_share,
  round((percentile_cont(0.5) within group (
    order by extract(epoch from first_review_at - delivered_at)
  ) / 86400)::numeric, 1) as median_days_to_review
from sync.ordered_products
where delivered_at is not null
group by 1;
comment on view bi.reviews_per_delivered_sub_order is 'What comes of delivered products, by the month of delivery. The newest months still grow: reviews are written for weeks.';
comment on column bi.reviews_per_delivered_sub_order.month is 'First day of the month of delivery, in the zone of bi.freshness.';
comment on column bi.reviews_per_delivered_sub_order.delivered_sub_orders is 'Purchased products delivered in it; several of one product in one order count in the month of the first.';
comment on column bi.reviews_per_delivered_sub_order.reviews is 'Reviews of them, whenever written.';
comment on column bi.reviews_per_delivered_sub_order.reviews_per_sub_order is 'reviews by delivered_sub_orders.';
comment on column bi.reviews_per_delivered_sub_order.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';
comment on column bi.reviews_per_delivered_sub_order.reviewed_share is 'Their share, 0 to 1.';
comment on column bi.reviews_per_delivered_sub_order.median_days_to_review is 'Days from delivery to the first review, of those with one: the one in the middle.';

create view bi.reviews_per_delivered_sub_order_by_product as
select
  d.product_id,
  p.product_code,
  d.delivered_sub_orders,
  d.reviews,
  round(d.reviews::numeric / d.delivered_sub_orders, 4) as reviews_per_sub_order,
  d.reviewed_sub_orders,
  round(d.reviewed_sub_orders::numeric / d.delivered_sub_orders, 4) as reviewed_share
from (
  select product_id, sum(delivered_sub_orders)::bigint as delivered_sub_orders, sum(reviews)::bigint as reviews,
    sum(least(reviews, delivered_sub_orders))::bigint as reviewed_sub_orders
  from sync.ordered_products
  where delivered_at is not null
  group by product_id
) d
left join (
  select product_id, max(product_code) as product_code from sync.product_links group by product_id
) p on p.product_id = d.product_id;
comment on view bi.reviews_per_delivered_sub_order_by_product is 'What comes of delivered products, by product, over all time.';
comment on column bi.reviews_per_delivered_sub_order_by_product.product_id is 'The service''s id of the product.';
comment on column bi.reviews_per_delivered_sub_order_by_product.product_code is 'The shop''s code of the product; null: not learned yet.';
comment on column bi.reviews_per_delivered_sub_order_by_product.delivered_sub_orders is 'How often it was delivered.';
comment on column bi.reviews_per_delivered_sub_order_by_product.reviews is 'Reviews that name one of those orders. Reviews without an order are only in bi.reviews_by_product.';
comment on column bi.reviews_per_delivered_sub_order_by_product.reviews_per_sub_order is 'reviews by delivered_sub_orders.';
comment on column bi.reviews_per_delivered_sub_order_by_product.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';
comment on column bi.reviews_per_delivered_sub_order_by_product.reviewed_share is 'Their share, 0 to 1.';

create view bi.coverage_by_day as
with zone as materialized (select time_zone as name from sync.settings),
spans as (
  select coalesce(range_agg(tstzrange(start_at, end_at + interval '1 second')), '{}') as read
  from sync.export_windows
  where axis = 'created'
),
bounds as (
  select first_review_created_at as first, last_review_created_at as last
  from warehouse.review_overview
  where first_review_created_at is not null
  order by captured_at desc
  limit 1
)
select
  day::date as day,
  spans.read @> tstzrange(
    greatest(day at time zone zone.name, bounds.first),
    least((day + interval '1 day') at time zone zone.name, bounds.last), '[]'
  ) as is_complete
from zone
cross join spans
cross join bounds
cross join lateral generate_series(
  date_trunc('day', bounds.first at time zone zone.name), date_trunc('day', bounds.last at time zone zone.name), '1 day'
) as day;
comment on view bi.coverage_by_day is 'Which days were read completely, from the service''s first review to its last: a dip on a day that was not is none.';
comment on column bi.coverage_by_day.day is 'The day, in the zone of bi.freshness.';
comment on column bi.coverage_by_day.is_complete is 'Whether a complete reading of the day by creation is proven. The days since the last reconcile are only read by update so far: false, though hardly ever anything is missing.';

comment on index warehouse.reviews_by_creation is 'Windows by creation; and, with the columns that go with it, most of bi without the table.';
comment on index warehouse.reviews_by_update is 'Windows by update.';
comment on index warehouse.reviews_by_product is 'The reviews of one product, by date.';
comment on index sync.runs_by_start is 'The last runs of a job.';
comment on index sync.runs_one_scheduled_at_a_time is 'A scheduled run is not started on top of one that is going.';
comment on index sync.export_windows_by_span is 'What was read of a span.';
comment on index sync.export_windows_by_run is 'The windows of a run.';
comment on index sync.dead_letters_one_open_a_record is 'One open letter a record.';
comment on index sync.sub_order_links_by_id is 'The line of a sub-order.';
comment on index sync.product_links_by_id is 'The code of a product.';
comment on index sync.late_reviews_by_find is 'Lateness since a moment.';
comment on index sync.absent_reviews_by_run is 'What a run missed.';
comment on index sync.webhook_inbox_by_due is 'What is to be applied next.';
comment on index sync.webhook_inbox_by_application is 'What can go.';
