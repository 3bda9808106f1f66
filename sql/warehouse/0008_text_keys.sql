-- Text keys are ordered by their bytes (collate "C"). The order of the database's own collation belongs to the
-- operating system. If another version of it sorts otherwise, as after a change of the image, an index misses rows:
-- orders look as if they had never been pushed, and are sent with contact (promise 7).
--
-- 1. Let the views of bi that use these columns read no table meanwhile: a column that a view uses cannot be altered.
--    The views are replaced and not dropped, so that other people's views upon them, rights and comments stay.
-- 2. Alter the columns. Postgres makes their indexes again and does not write the tables again: a million orders with
--    two lines each took 15 s on two busy cores.
-- 3. Make the views again. Their texts keep the database's collation, by which people sort.
create or replace view bi.coverage_by_day as select null::date as day, null::boolean as is_complete;
create or replace view bi.sub_orders as
select null::text as order_key, null::bigint as product_id, null::text as product_code, null::text as status,
  null::timestamptz as ordered_at, null::timestamptz as delivered_at, null::date as delivered_on, null::numeric as price;
create or replace view bi.response_by_order as
select null::text as order_key, null::timestamptz as ordered_at, null::timestamptz as delivered_at, null::date as delivered_on,
  null::bigint as sub_orders, null::bigint as delivered_sub_orders, null::bigint as reviews, null::boolean as has_review,
  null::numeric as average_score, null::timestamptz as first_review_at, null::numeric as days_from_order_to_review,
  null::numeric as days_from_delivery_to_review;
create or replace view bi.reviews_per_delivered_sub_order_by_product as
select null::bigint as product_id, null::text as product_code, null::bigint as delivered_sub_orders, null::bigint as reviews,
  null::numeric as reviews_per_sub_order, null::bigint as reviewed_sub_orders, null::numeric as reviewed_share;

alter table sync.runs
  alter column id type text collate "C", alter column job type text collate "C", alter column key type text collate "C";
alter table sync.dead_letters
  alter column kind type text collate "C", alter column key type text collate "C", alter column order_code type text collate "C";
alter table sync.rate_limit alter column key type varchar(255) collate "C";
alter table sync.order_links
  alter column order_code type text collate "C", alter column user_grade_code type text collate "C";
alter table sync.sub_order_links alter column order_code type text collate "C", alter column line_code type text collate "C";
alter table sync.product_links alter column product_code type text collate "C";
alter table sync.user_grade_links alter column user_grade_code type text collate "C";
alter table sync.category_links alter column category_code type text collate "C";
alter table sync.export_windows alter column axis type text collate "C", alter column run_id type text collate "C";
alter table sync.open_gaps alter column axis type text collate "C";
alter table sync.alerts alter column key type text collate "C";

-- Views of other people use the columns of warehouse.reviews, so only the index changes. It serves comparisons with the
-- columns above.
drop index if exists warehouse.reviews_by_order;
create index reviews_by_order on warehouse.reviews (order_code collate "C") include (product_id, created_at, score)
  where deleted_at is null and order_code is not null;
comment on index warehouse.reviews_by_order is 'The reviews of an order, when it is counted again.';

create or replace view bi.sub_orders as
select
  md5((select order_salt from sync.settings) || l.order_code collate "default") as order_key,
  l.product_id,
  p.product_code collate "default" as product_code,
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
create or replace view bi.response_by_order as
select
  md5((select order_salt from sync.settings) || l.order_code collate "default") as order_key,
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

create or replace view bi.reviews_per_delivered_sub_order_by_product as
select
  d.product_id,
  p.product_code collate "default" as product_code,
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

-- An altered column has lost its statistics.
analyze sync.runs, sync.dead_letters, sync.order_links, sync.sub_order_links, sync.product_links, sync.export_windows;

-- Which shop the orders belong to (migrate --same-shop).
alter table sync.settings add column same_shop_since timestamptz;
comment on column sync.settings.same_shop_since is 'When a person last said that the shop is the one of this warehouse (migrate --same-shop): only orders pushed since then show which shop it is. Null: never, all do.';
