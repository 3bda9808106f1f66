-- Compares the counts behind bi, changes that are not folded yet included, with the reviews and orders.
-- Gives one row for each kind of count: name, and differing, the number of combinations of which the count is wrong.
select 'reviews by day' as name, count(*)::integer as differing
from (
  select from (
    select day, source, score, has_photo, has_video, is_displayed, reviews from sync.review_days
    union all
    select created_on, source, score, has_photo, has_video, is_displayed, -1 from bi.reviews
  ) as found
  group by day, source, score, has_photo, has_video, is_displayed
  having sum(reviews) <> 0
) as wrong
union all
select 'reviews by product and month', count(*)::integer
from (
  select from (
    select * from sync.review_products
    union all
    select created_month, product_id, product_code, -count(*), -count(*) filter (where is_displayed), -count(score),
      -coalesce(sum(score), 0), -count(score) filter (where is_displayed),
      -coalesce(sum(score) filter (where is_displayed), 0), -count(*) filter (where score = 5),
      -count(*) filter (where score = 4), -count(*) filter (where score = 3), -count(*) filter (where score = 2),
      -count(*) filter (where score = 1), -count(*) filter (where has_photo)
    from bi.reviews
    group by created_month, product_id, product_code
  ) as found
  group by month, product_id, product_code
  having (
    sum(reviews), sum(displayed), sum(rated), sum(stars), sum(displayed_rated), sum(displayed_stars), sum(score_5),
    sum(score_4), sum(score_3), sum(score_2), sum(score_1), sum(with_photo)
  ) <> (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
) as wrong
union all
select 'counted deliveries', count(*)::integer
from (
  select from (
    select c.*, 1 as sign from sync.counted_deliveries c
    where not exists (select from sync.changed_orders o where o.order_code = c.order_code)
    union all
    select d.*, -1 from sync.deliveries d
    where not exists (select from sync.changed_orders o where o.order_code = d.order_code)
  ) as found
  group by order_code, product_id, month, delivered_sub_orders, reviews, reviewed_sub_orders, rated_reviews, stars,
    seconds_to_review
  having sum(sign) <> 0
) as wrong
-- The sums of counted deliveries are the sums of the rows where what was counted is right: the rows need not be read
-- again.
union all
select 'deliveries by product and month', count(*)::integer
from (
  select from (
    select month, product_id, delivered_sub_orders, reviews, reviewed_sub_orders from sync.delivery_counts
    union all
    select month, product_id, -sum(delivered_sub_orders), -sum(reviews), -sum(reviewed_sub_orders)
    from sync.counted_deliveries
    group by month, product_id
  ) as found
  group by month, product_id
  having (sum(delivered_sub_orders), sum(reviews), sum(reviewed_sub_orders)) <> (0, 0, 0)
) as wrong
union all
select 'time to review', count(*)::integer
from (
  select from (
    select month, hours_to_review, deliveries, rated_reviews, stars from sync.delivery_delays
    union all
    select month, floor(seconds_to_review / 3600)::bigint as hour, -count(*), -sum(rated_reviews), -sum(stars)
    from sync.counted_deliveries
    group by month, hour
  ) as found
  group by month, hours_to_review
  having (sum(deliveries), sum(rated_reviews), sum(stars)) <> (0, 0, 0)
) as wrong
