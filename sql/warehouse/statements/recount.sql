-- Counts the touched keys again from the reviews and orders, in one transaction of isolation level repeatable read. All
-- statements see the touches of one moment, and the touched rows, which are committed together with them. A line that
-- ends with `-- touched` is a filter. Without these lines, and with those behind `-- all:`, every key is counted again
-- (src/warehouse/bi/recount.ts).
--
-- 1. Derive the keys: days of reviews, days of deliveries, and products with months, as they were and as they are.
-- 2. Count reviews by day, and by product and month.
-- 3. Read the deliveries of these days and products; count them by product and month, and by day and delay.
-- 4. If a touched product and month has nothing to count, it gets an empty row: every row of sync.product_counts says
--    when its month was last counted.
-- 5. Forget the touches.
set local work_mem = '128MB';
set local jit = off;
-- Counts key by key, by index. The planner does not know the bounds of the keys. It expects so many rows of each key
-- that it would read whole tables.
set local enable_seqscan = off; -- touched
set local enable_hashjoin = off; -- touched
set local enable_mergejoin = off; -- touched
-- all: delete from sync.touches;
analyze sync.touches;

-- 1. Local time does not always rise when clocks are set back. So the bounds `first` and `last`, which an index serves,
--    are three hours wider than the day or month, and the day or month itself is compared too.
create temporary table touched_orders on commit drop as
select order_code, bool_or(record = 'order') as is_changed from sync.touches where order_code is not null group by order_code;
analyze touched_orders;

create temporary table touched_lines on commit drop as
select product_id, dated_at as ordered_at, delivered_at, true as is_changed from sync.touches where record = 'order'
union all
select product_id, ordered_at, delivered_at, is_changed
from touched_orders
join sync.order_links using (order_code)
left join sync.sub_order_links using (order_code);

create temporary table touched_days on commit drop as
select is_of_review, day, day::timestamp at time zone time_zone - interval '3 hours' as first,
  (day + interval '1 day') at time zone time_zone + interval '3 hours' as last
from (
  select distinct is_of_review, (moment at time zone time_zone)::date as day, time_zone
  from (
    select true as is_of_review, dated_at as moment from sync.touches where record = 'review'
    union all
    select false, delivered_at from touched_lines where delivered_at is not null
  ) as touched
  cross join sync.settings
) as days;

create temporary table touched_products on commit drop as
select product_id, month, month::timestamp at time zone time_zone - interval '3 hours' as first,
  (month + interval '1 month') at time zone time_zone + interval '3 hours' as last
from (
  select distinct coalesce(product_id, -1) as product_id, date_trunc('month', moment at time zone time_zone)::date as month, time_zone
  from (
    select product_id, dated_at as moment from sync.touches where record = 'review'
    union all
    select product_id, delivered_at from touched_lines where delivered_at is not null
    union all
    select product_id, coalesce(ordered_at, '-infinity') from touched_lines where is_changed
  ) as touched
  cross join sync.settings
) as products;
analyze touched_days, touched_products;

-- 2. Reviews. Indexes: reviews_by_creation, reviews_by_product.
delete from sync.review_day_counts
where day in (select day from touched_days where is_of_review); -- touched
insert into sync.review_day_counts (day, source, score, has_photo, has_video, is_displayed, reviews, last_review_at)
select created_on, source, score, has_photo, has_video, is_displayed, count(*), max(created_at)
from
touched_days cross join lateral (select * from -- touched
  bi.reviews as r
  where created_at >= first and created_at < last offset 0) as r where is_of_review and created_on = day -- touched
group by created_on, source, score, has_photo, has_video, is_displayed;

delete from sync.product_counts
where (product_id, month) in (select product_id, month from touched_products); -- touched
insert into sync.product_counts (product_id, product_code, month, reviews, displayed, rated, stars, displayed_rated,
  displayed_stars, score_5, score_4, score_3, score_2, score_1, with_photo, first_review_at, last_review_at)
select
  coalesce(r.product_id, -1),
  (array_agg(product_code order by created_at desc, review_id desc) filter (where product_code is not null))[1], created_month,
  count(*), count(*) filter (where is_displayed),
  count(score), coalesce(sum(score), 0),
  count(score) filter (where is_displayed), coalesce(sum(score) filter (where is_displayed), 0),
  count(*) filter (where score = 5), count(*) filter (where score = 4), count(*) filter (where score = 3),
  count(*) filter (where score = 2), count(*) filter (where score = 1),
  count(*) filter (where has_photo), min(created_at), max(created_at)
from bi.reviews r
join touched_products t on coalesce(r.product_id, -1) = t.product_id and created_at >= first and created_at < last and created_month = t.month -- touched
group by created_month, coalesce(r.product_id, -1), case when r.product_id is null then product_code end;

-- 3. Deliveries. Indexes: sub_order_links_by_delivery, sub_order_links_by_product, its primary key, reviews_by_order.
create temporary table counted_orders on commit drop as
select order_code from sync.sub_order_links
join touched_days on not is_of_review and delivered_at >= first and delivered_at < last
union
select order_code from sync.sub_order_links s
join touched_products t on s.product_id = t.product_id and delivered_at >= first and delivered_at < last;
analyze counted_orders;

create temporary table deliveries on commit drop as
select
  product_id,
  (min(delivered_at) at time zone min(time_zone))::date as day,
  count(delivered_at) as delivered_sub_orders,
  count(created_at) as reviews,
  count(score) as rated_reviews,
  coalesce(sum(score), 0) as stars,
  case
    when isfinite(min(created_at)) and isfinite(min(delivered_at))
      then floor(extract(epoch from min(created_at) - min(delivered_at)) / 3600)::integer
  end as hours_to_review
from (
  select order_code, product_id, delivered_at, null::timestamptz as created_at, null::smallint as score
  from sync.sub_order_links
  where sub_order_id is not null and product_id is not null
    and order_code in (select order_code from counted_orders) -- touched
  union all
  select r.order_code, product_id, null, created_at, score
  from
  counted_orders as c cross join lateral (select * from -- touched
    warehouse.reviews as r
    where deleted_at is null and order_code is not null and product_id is not null
    and r.order_code = c.order_code offset 0) as r -- touched
    -- all: and order_code in (select order_code from sync.sub_order_links where delivered_at is not null)
) as found
cross join sync.settings
group by order_code, product_id
having count(delivered_at) > 0;

-- Only temporary tables are joined from here on.
set local enable_hashjoin = on; -- touched
insert into sync.product_counts (product_id, month, delivered_sub_orders, reviews_of_deliveries, reviewed_sub_orders)
select product_id, date_trunc('month', day::timestamp)::date as month, sum(delivered_sub_orders), sum(reviews),
  sum(least(reviews, delivered_sub_orders))
from deliveries
where (product_id, date_trunc('month', day::timestamp)::date) in (select product_id, month from touched_products) -- touched
group by 1, 2;

delete from sync.delivery_delay_counts
where day in (select day from touched_days where not is_of_review); -- touched
insert into sync.delivery_delay_counts (day, hours_to_review, deliveries, rated_reviews, stars)
select day, hours_to_review, count(*), sum(rated_reviews), sum(stars)
from deliveries
where day in (select day from touched_days where not is_of_review) -- touched
group by day, hours_to_review;

-- 4. Empty rows. Index: product_counts_by_key.
insert into sync.product_counts (product_id, month)
select product_id, month
from (
  select product_id, month from touched_products -- touched
  -- all: select distinct -1::bigint as product_id, coalesce(date_trunc('month', ordered_at at time zone time_zone)::date, '-infinity') as month
  -- all: from sync.order_links cross join sync.settings
) as key
where not exists (select from sync.product_counts c where c.product_id = key.product_id and c.month = key.month);

delete from sync.touches;
-- all: analyze sync.review_day_counts, sync.product_counts, sync.delivery_delay_counts;
