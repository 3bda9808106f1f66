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

-- Orders and their reviews. A view that a later migration replaces is only in that migration (0008, 0014, 0016).
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
-- The mean of the two middle values. If the number of values is odd, the two are the same.
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
