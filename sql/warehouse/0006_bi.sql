-- Views for analysts, which show no member. The role bi_reader and its rights are in statements/open_bi_to_readers.sql,
-- which `migrate` runs after the migrations: roles belong to the server and not to this database.
create schema bi;
comment on schema bi is 'Views for analysts, open to the role bi_reader. They show no name, code or e-mail address of a member. Days and months are in the time zone of bi.freshness. Deleted reviews are left out; hidden reviews are in, with is_displayed false. The views run with the rights of their owner (security_invoker is off): their readers need no right on the tables beneath.';

create view bi.freshness as
select
  s.time_zone,
  (select max(created_at) from warehouse.reviews where deleted_at is null) as newest_review_at,
  (s.reviews_cursor ->> 'readTo')::timestamptz as reviews_read_to,
  (s.orders_cursor ->> 'at')::timestamptz as orders_pushed_to,
  (select count(*) from sync.dead_letters where resolved_at is null) as records_not_synced,
  s.counted_at
from sync.settings s;
comment on view bi.freshness is 'How new the data is, and the time zone of all days and months. One row.';
comment on column bi.freshness.time_zone is 'IANA zone in which days and months are cut.';
comment on column bi.freshness.newest_review_at is 'When the newest review here was written.';
comment on column bi.freshness.reviews_read_to is 'When the last finished run of sync reviews began; null before the first.';
comment on column bi.freshness.orders_pushed_to is 'The shop''s newest change of an order that was pushed; null before the first run.';
comment on column bi.freshness.records_not_synced is 'Open dead letters: orders, lines, reviews and other records that could not be synced.';
comment on column bi.freshness.counted_at is 'The views that count show every change up to then: the end of the last run, or, during a long one, a minute ago. bi.reviews, bi.sub_orders and bi.response_by_order show the rows of now. Null: nothing was counted yet.';

-- Reviews.
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
comment on column bi.reviews.product_code is 'The shop''s code of the product; null: the service names none.';
comment on column bi.reviews.score is 'Rating as the service shows it, 1 to 5; null: no rating was given. Averages leave such reviews out.';
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
comment on column bi.reviews.is_by_member is 'Whether a member of the shop wrote it. The member is not shown.';
comment on column bi.reviews.order_key is 'Stands for the order and is the same in all views of bi. The code of the order cannot be read from it. Null: the review is about no order.';
comment on column bi.reviews.first_seen_at is 'When review-sync first read it.';

create view bi.reviews_by_day as
with counted as (
  select
    day as created_on,
    sum(reviews) as reviews,
    coalesce(sum(reviews) filter (where not is_displayed), 0) as hidden_reviews,
    coalesce(sum(reviews) filter (where score is not null), 0) as rated_reviews,
    sum(reviews * score) as stars,
    coalesce(sum(reviews) filter (where has_photo), 0) as photo_reviews,
    coalesce(sum(reviews) filter (where has_video), 0) as video_reviews
  from sync.review_day_counts
  group by day
)
select
  day::date as day,
  coalesce(c.reviews, 0)::bigint as reviews,
  coalesce(c.hidden_reviews, 0)::bigint as hidden_reviews,
  coalesce(c.rated_reviews, 0)::bigint as rated_reviews,
  round(c.stars / nullif(c.rated_reviews, 0), 2) as average_score,
  coalesce(c.photo_reviews, 0)::bigint as photo_reviews,
  coalesce(c.video_reviews, 0)::bigint as video_reviews,
  round(c.photo_reviews / c.reviews, 4) as photo_share
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
  nullif(product_id, 0) as product_id,
  max(product_code) as product_code,
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
group by c.product_id, case when c.product_id = 0 then product_code end;
comment on view bi.reviews_by_product is 'Reviews and ratings of each product, over all time.';
comment on column bi.reviews_by_product.product_id is 'The service''s id of the product; null: reviews without a product.';
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

create view bi.reviews_by_product_month as
select
  nullif(product_id, 0) as product_id,
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
comment on column bi.reviews_by_product_month.product_code is 'The shop''s code of the product.';
comment on column bi.reviews_by_product_month.month is 'First day of the month, in the zone of bi.freshness.';
comment on column bi.reviews_by_product_month.reviews is 'Reviews written, hidden ones too.';
comment on column bi.reviews_by_product_month.rated_reviews is 'Those with a rating.';
comment on column bi.reviews_by_product_month.stars is 'Sum of the ratings: averages of several rows are sum(stars) / sum(rated_reviews).';
comment on column bi.reviews_by_product_month.average_score is 'Average rating; null without ratings.';
comment on column bi.reviews_by_product_month.photo_share is 'Share of reviews with a photo, 0 to 1.';

create view bi.reviews_by_score as
select
  score,
  sum(reviews)::bigint as reviews,
  round(sum(reviews) / sum(sum(reviews)) over (), 4) as share,
  round(coalesce(sum(reviews) filter (where has_photo), 0) / sum(reviews), 4) as photo_share,
  coalesce(sum(reviews) filter (where not is_displayed), 0)::bigint as hidden_reviews
from sync.review_day_counts
group by score;
comment on view bi.reviews_by_score is 'How the reviews rate, over all time.';
comment on column bi.reviews_by_score.score is 'Rating as the service shows it, 1 to 5; null: no rating was given.';
comment on column bi.reviews_by_score.reviews is 'Reviews with it, hidden ones too.';
comment on column bi.reviews_by_score.share is 'Their share of all reviews, 0 to 1.';
comment on column bi.reviews_by_score.photo_share is 'Share of them with a photo, 0 to 1.';
comment on column bi.reviews_by_score.hidden_reviews is 'Those of them that the shop does not show.';

create view bi.reviews_by_source as
select
  source,
  sum(reviews)::bigint as reviews,
  round(sum(reviews) / sum(sum(reviews)) over (), 4) as share,
  round(sum(reviews * score) / nullif(sum(reviews) filter (where score is not null), 0), 2) as average_score,
  round(coalesce(sum(reviews) filter (where has_photo), 0) / sum(reviews), 4) as photo_share,
  max(last_review_at) as last_review_at
from sync.review_day_counts
group by source;
comment on view bi.reviews_by_source is 'Where the reviews came from, over all time.';
comment on column bi.reviews_by_source.source is 'The service''s name of the source, such as brand_pc or sms; null: it names none.';
comment on column bi.reviews_by_source.reviews is 'Reviews from there, hidden ones too.';
comment on column bi.reviews_by_source.share is 'Their share of all reviews, 0 to 1.';
comment on column bi.reviews_by_source.average_score is 'Average rating.';
comment on column bi.reviews_by_source.photo_share is 'Share of them with a photo, 0 to 1.';
comment on column bi.reviews_by_source.last_review_at is 'When the newest of them was written.';

create view bi.score_trend as
with monthly as (
  select
    date_trunc('month', day)::date as month,
    sum(reviews)::bigint as reviews,
    coalesce(sum(reviews) filter (where score is not null), 0)::bigint as rated,
    sum(reviews * score)::bigint as stars,
    coalesce(sum(reviews) filter (where score <= 2), 0)::bigint as low
  from sync.review_day_counts
  group by 1
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
comment on view bi.score_trend is 'Ratings by the month in which the reviews were written. Months without reviews have no row.';
comment on column bi.score_trend.month is 'First day of the month, in the zone of bi.freshness.';
comment on column bi.score_trend.reviews is 'Reviews written, hidden ones too.';
comment on column bi.score_trend.rated_reviews is 'Those with a rating.';
comment on column bi.score_trend.average_score is 'Average rating of the month; null without ratings.';
comment on column bi.score_trend.average_score_3_months is 'Average rating of the ratings of this month and the two calendar months before.';
comment on column bi.score_trend.change is 'Average rating minus that of the row before; null in the first month.';
comment on column bi.score_trend.low_share is 'Share of ratings of 1 or 2, 0 to 1.';

create view bi.photo_share as
select
  date_trunc('month', day)::date as month,
  sum(reviews)::bigint as reviews,
  coalesce(sum(reviews) filter (where has_photo), 0)::bigint as photo_reviews,
  round(coalesce(sum(reviews) filter (where has_photo), 0) / sum(reviews), 4) as photo_share,
  coalesce(sum(reviews) filter (where has_video), 0)::bigint as video_reviews,
  round(coalesce(sum(reviews) filter (where has_video), 0) / sum(reviews), 4) as video_share,
  round(
    sum(reviews * score) filter (where has_photo)
    / nullif(sum(reviews) filter (where has_photo and score is not null), 0), 2
  ) as average_score_with_photo,
  round(
    sum(reviews * score) filter (where not has_photo)
    / nullif(sum(reviews) filter (where not has_photo and score is not null), 0), 2
  ) as average_score_without_photo
from sync.review_day_counts
group by 1;
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

-- Orders and their reviews.
create view bi.sub_orders as
select
  md5((select order_salt from sync.settings) || l.order_code) as order_key,
  l.product_id,
  p.product_code,
  l.status,
  o.ordered_at,
  l.delivered_at,
  (l.delivered_at at time zone (select time_zone from sync.settings))::date as delivered_on,
  (l.content ->> 'price')::numeric as price
from sync.sub_order_links l
left join sync.order_links o on o.order_code = l.order_code
left join (
  select distinct on (product_id) product_id, product_code from sync.product_links order by product_id, linked_at desc, product_code
) p on p.product_id = l.product_id
where l.sub_order_id is not null;
comment on view bi.sub_orders is 'The purchased products that were pushed to the service, one row each. Orders that were deleted at the service are not among them.';
comment on column bi.sub_orders.order_key is 'Stands for the order, the same in all views of bi.';
comment on column bi.sub_orders.product_id is 'The service''s id of the product.';
comment on column bi.sub_orders.product_code is 'The shop''s code of the product; null: not known yet.';
comment on column bi.sub_orders.status is 'Status of the order line as the shop''s query gives it, such as delivery_finished or returned.';
comment on column bi.sub_orders.ordered_at is 'When the order was made; null: no push of it was recorded yet.';
comment on column bi.sub_orders.delivered_at is 'When it was delivered; null: not delivered, or the shop''s query has no such date.';
comment on column bi.sub_orders.delivered_on is 'That day, in the zone of bi.freshness.';
comment on column bi.sub_orders.price is 'What it cost, in whole units of the shop''s currency, as pushed last.';

-- One order at a time, so that a condition on ordered_at reads only its orders.
create view bi.response_by_order as
select
  md5((select order_salt from sync.settings) || l.order_code) as order_key,
  l.ordered_at,
  o.delivered_at,
  (o.delivered_at at time zone (select time_zone from sync.settings))::date as delivered_on,
  o.sub_orders,
  o.delivered_sub_orders,
  a.reviews,
  a.reviews > 0 as has_review,
  round(a.average_score, 2) as average_score,
  a.first_review_at,
  round(extract(epoch from a.first_review_at - l.ordered_at) / 86400, 2) as days_from_order_to_review,
  round(extract(epoch from a.first_review_at - o.delivered_at) / 86400, 2) as days_from_delivery_to_review
from sync.order_links l
cross join lateral (
  select count(*) as sub_orders, count(delivered_at) as delivered_sub_orders, min(delivered_at) as delivered_at
  from sync.sub_order_links s
  where s.order_code = l.order_code and sub_order_id is not null
) o
cross join lateral (
  select count(*) as reviews, avg(score) as average_score, min(created_at) as first_review_at
  from warehouse.reviews r
  where r.order_code = l.order_code and deleted_at is null
) a
where o.sub_orders > 0;
comment on view bi.response_by_order is 'Each order that was pushed to the service, with its reviews. Orders that were deleted at the service, and orders without a pushed line, are left out.';
comment on column bi.response_by_order.order_key is 'Stands for the order, the same in all views of bi.';
comment on column bi.response_by_order.ordered_at is 'When the order was made; null: no push of it was recorded yet.';
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
with counted as (
  select month, sum(delivered_sub_orders) as delivered_sub_orders, sum(reviews_of_deliveries) as reviews,
    sum(reviewed_sub_orders) as reviewed_sub_orders
  from sync.product_counts
  where delivered_sub_orders > 0
  group by month
),
-- How many reviewed deliveries of the month had their first review by the end of each hour.
hours as (
  select
    date_trunc('month', day)::date as month,
    hours_to_review as hour,
    sum(sum(deliveries)) over (partition by date_trunc('month', day) order by hours_to_review) as up_to,
    sum(sum(deliveries)) over (partition by date_trunc('month', day)) as of_month
  from sync.delivery_delay_counts
  where hours_to_review is not null
  group by date_trunc('month', day), hours_to_review
),
-- The mean of the two middle values; of an odd number they are the same.
medians as (
  select
    month,
    round((
      min(hour) filter (where up_to >= div(of_month + 1, 2)) + min(hour) filter (where up_to >= div(of_month, 2) + 1)
    ) / 48.0, 1) as days
  from hours
  group by month
)
select
  month,
  delivered_sub_orders,
  reviews,
  round(reviews::numeric / delivered_sub_orders, 4) as reviews_per_sub_order,
  reviewed_sub_orders,
  round(reviewed_sub_orders::numeric / delivered_sub_orders, 4) as reviewed_share,
  medians.days as median_days_to_review
from counted
left join medians using (month);
comment on view bi.reviews_per_delivered_sub_order is 'Reviews of delivered products, by the month of delivery. The newest months still grow: reviews are written for weeks.';
comment on column bi.reviews_per_delivered_sub_order.month is 'First day of the month of delivery, in the zone of bi.freshness.';
comment on column bi.reviews_per_delivered_sub_order.delivered_sub_orders is 'Purchased products delivered in it; several of one product in one order count in the month of the first.';
comment on column bi.reviews_per_delivered_sub_order.reviews is 'Reviews of them, whenever written.';
comment on column bi.reviews_per_delivered_sub_order.reviews_per_sub_order is 'reviews divided by delivered_sub_orders.';
comment on column bi.reviews_per_delivered_sub_order.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';
comment on column bi.reviews_per_delivered_sub_order.reviewed_share is 'Their share, 0 to 1.';
comment on column bi.reviews_per_delivered_sub_order.median_days_to_review is 'Median of the time from delivery to the first review, over the sub-orders with a review: in whole hours, as days.';

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
  select product_id, sum(delivered_sub_orders)::bigint as delivered_sub_orders, sum(reviews_of_deliveries)::bigint as reviews,
    sum(reviewed_sub_orders)::bigint as reviewed_sub_orders
  from sync.product_counts
  where delivered_sub_orders > 0
  group by product_id
) d
left join (
  select distinct on (product_id) product_id, product_code from sync.product_links order by product_id, linked_at desc, product_code
) p on p.product_id = d.product_id;
comment on view bi.reviews_per_delivered_sub_order_by_product is 'Reviews of delivered products, by product, over all time.';
comment on column bi.reviews_per_delivered_sub_order_by_product.product_id is 'The service''s id of the product.';
comment on column bi.reviews_per_delivered_sub_order_by_product.product_code is 'The shop''s code of the product; null: not known yet.';
comment on column bi.reviews_per_delivered_sub_order_by_product.delivered_sub_orders is 'How often it was delivered.';
comment on column bi.reviews_per_delivered_sub_order_by_product.reviews is 'Reviews that name one of those orders. Reviews without an order are only in bi.reviews_by_product.';
comment on column bi.reviews_per_delivered_sub_order_by_product.reviews_per_sub_order is 'reviews divided by delivered_sub_orders.';
comment on column bi.reviews_per_delivered_sub_order_by_product.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';
comment on column bi.reviews_per_delivered_sub_order_by_product.reviewed_share is 'Their share, 0 to 1.';

create view bi.time_to_review as
select
  date_trunc('month', day)::date as month,
  floor(hours_to_review / 24.0)::integer as days,
  sum(deliveries) as deliveries,
  sum(rated_reviews) as rated_reviews,
  sum(stars) as stars,
  round(sum(stars)::numeric / nullif(sum(rated_reviews), 0), 2) as average_score
from sync.delivery_delay_counts
group by 1, 2;
comment on view bi.time_to_review is 'How long after delivery the first review of a product comes, by month of delivery. Several sub-orders of one product in one order count once. The newest months still grow.';
comment on column bi.time_to_review.month is 'First day of the month of delivery, in the zone of bi.freshness.';
comment on column bi.time_to_review.days is 'Whole days from the first delivery to the first review, rounded down; below 0: written before; null: no review yet.';
comment on column bi.time_to_review.deliveries is 'Delivered products of orders.';
comment on column bi.time_to_review.rated_reviews is 'Ratings in their reviews.';
comment on column bi.time_to_review.stars is 'Sum of these ratings.';
comment on column bi.time_to_review.average_score is 'Average of these ratings; null without any.';

-- Whether the reviews of a day were all read. `status` shows the same by month, the calendar of its page by day. A period
-- counts as read in three cases:
--
-- 1. A coverage row of the created axis has it.
-- 2. It lies between the start of the coverage of the updated axis that reaches to the cursor without a break, and the
--    beginning of the last run: a review that was created since then was updated since then too. Open gaps are left out.
-- 3. It lies between the last review that an overview names and the capture of that overview.
--
-- Today need only be read up to the last review that the newest overview names, every other day to its end.
create view bi.coverage_by_day as
with zone as materialized (
  select time_zone as name, (reviews_cursor ->> 'at')::timestamptz as cursor,
    (reviews_cursor ->> 'readTo')::timestamptz as read_to
  from sync.settings
),
joined as (
  select unnest(range_agg(tstzrange(start_at, end_at, '[]'))) as span from sync.export_windows where axis = 'updated'
),
followed as (
  select coalesce(lower(joined.span), cursor) as since, read_to
  from zone left join joined on joined.span @> cursor
  where cursor is not null
),
spans as (
  select coalesce(range_agg(span), '{}') as read
  from (
    select tstzrange(start_at, end_at + interval '1 second') as span from sync.export_windows where axis = 'created'
    union all
    select unnest(tstzmultirange(tstzrange(since, greatest(since, read_to), '[]')) - updates_unread)
    from followed cross join (
      select coalesce(range_agg(tstzrange(start_at, end_at)), '{}') as updates_unread from sync.open_gaps where axis = 'updated'
    ) as gaps
    union all
    select tstzrange(last_review_created_at, captured_at, '[]')
    from warehouse.review_overview where last_review_created_at <= captured_at
  ) as known
),
bounds as (
  -- One review of the year 1 or 9999 must not make a row of each day between.
  select greatest(first_review_created_at, '2000-01-01T00:00:00Z') as first,
    least(last_review_created_at, now() + interval '1 day') as last
  from warehouse.review_overview
  where first_review_created_at is not null
  order by captured_at desc
  limit 1
),
days as (
  select day::date as day, day at time zone name as start_at, (day + interval '1 day') at time zone name as end_at
  from zone cross join bounds cross join lateral generate_series(
    date_trunc('day', first at time zone name), date_trunc('day', last at time zone name), '1 day'
  ) as day
)
select
  day,
  read @> tstzrange(greatest(start_at, first), case when end_at > now() then least(end_at, last) else end_at end, '[]') as is_complete
from days cross join spans cross join bounds;
comment on view bi.coverage_by_day is 'Which days were read completely, from the service''s first review to its last. On any other day, few reviews may only mean that not all were read.';
comment on column bi.coverage_by_day.day is 'The day, in the zone of bi.freshness.';
comment on column bi.coverage_by_day.is_complete is 'Whether a complete reading of the day is proven: by creation, or, since that ended, by update up to the beginning of the last run. Of today: up to the last review that the service named.';
