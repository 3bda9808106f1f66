-- Counts from which the views of bi, `status` and the calendar are answered, so that a question does not read every
-- review and every order; and a version of each month, by which `export parquet` knows which months to write again.
--
-- 1. Triggers log what a statement changed, with a random number: sync.review_changes, sync.order_changes. They only
--    insert, so that no two writers wait for each other.
-- 2. Runs call sync.fold_changes(): it adds the logged changes to the counts, and counts the logged orders again.
-- 3. Views add the changes that are not folded yet to the counts, so they are exact at any moment.
-- 4. The version of a month is the sum of the numbers of its changes. A fold moves that sum to sync.month_changes, so
--    it changes no version.
-- 5. sync.rebuild_aggregates() makes the counts again from the reviews and orders: after a truncate, after the time
--    zone changed, and for `migrate --rebuild`.

-- The log of reviews, and the triggers that write it. The widest columns come first: rows without gaps.
create table sync.review_changes (
  created_at   timestamptz not null,
  product_id   bigint,
  reviews      integer not null,
  change       integer not null,
  score        smallint,
  has_photo    boolean not null,
  has_video    boolean not null,
  is_displayed boolean not null,
  source       text,
  product_code text,
  order_code   text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
comment on table sync.review_changes is 'Changes of reviews that are not in the counts behind bi and in sync.month_changes yet. An edit is two rows: the review as it was, and as it is. Edits that change no count are one row for each month.';
comment on column sync.review_changes.created_at is 'When the review was written.';
comment on column sync.review_changes.product_id is 'The service''s id of the product.';
comment on column sync.review_changes.reviews is 'Reviews like this that came; negative for those that went; 0: reviews of this month changed, but no count.';
comment on column sync.review_changes.change is 'A random number above 0, the same for all rows of a statement: what the change adds to the version of its month.';
comment on column sync.review_changes.score is 'Rating; null: no rating was given.';
comment on column sync.review_changes.has_photo is 'As in bi.reviews.';
comment on column sync.review_changes.has_video is 'As in bi.reviews.';
comment on column sync.review_changes.is_displayed is 'As in bi.reviews.';
comment on column sync.review_changes.source is 'Where it came from.';
comment on column sync.review_changes.product_code is 'The shop''s code of the product.';
comment on column sync.review_changes.order_code is 'The shop''s code of the order it is about.';

create function sync.log_review_changes() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  new_change constant integer := 1 + floor(random() * 2147483647);
begin
  if tg_op = 'INSERT' then
    insert into sync.review_changes (reviews, change, created_at, score, source, has_photo, has_video, is_displayed,
      product_id, product_code, order_code)
    select 1, new_change, created_at, score, source,
      coalesce(images_count > 0, review_type in ('photo', 'video&photo'), false),
      coalesce(videos_count > 0, review_type in ('video', 'video&photo'), false),
      coalesce(display, true), product_id, product_code, order_code
    from added where deleted_at is null;
  elsif tg_op = 'DELETE' then
    insert into sync.review_changes (reviews, change, created_at, score, source, has_photo, has_video, is_displayed,
      product_id, product_code, order_code)
    select -1, new_change, created_at, score, source,
      coalesce(images_count > 0, review_type in ('photo', 'video&photo'), false),
      coalesce(videos_count > 0, review_type in ('video', 'video&photo'), false),
      coalesce(display, true), product_id, product_code, order_code
    from removed where deleted_at is null;
  -- Each page that lands is an UPDATE too (on conflict do update), mostly of no row: +2 % of the rate of landing.
  elsif exists (select from added) then
    insert into sync.review_changes (reviews, change, created_at, score, source, has_photo, has_video, is_displayed,
      product_id, product_code, order_code)
    with changed as (
      select sum(one) as reviews, created_at, score, source,
        coalesce(images_count > 0, review_type in ('photo', 'video&photo'), false) as has_photo,
        coalesce(videos_count > 0, review_type in ('video', 'video&photo'), false) as has_video,
        coalesce(display, true) as is_displayed, product_id, product_code, order_code
      from (
        select 1 as one, created_at, score, source, images_count, videos_count, review_type, display, product_id, product_code,
          order_code
        from added where deleted_at is null
        union all
        select -1, created_at, score, source, images_count, videos_count, review_type, display, product_id, product_code,
          order_code
        from removed where deleted_at is null
      ) as version
      group by created_at, score, source, has_photo, has_video, is_displayed, product_id, product_code, order_code
    )
    select reviews, new_change, created_at, score, source, has_photo, has_video, is_displayed, product_id, product_code,
      order_code
    from changed where reviews <> 0
    union all
    -- No count changes, but bi.reviews may show something else, such as likes.
    select 0, new_change, min(created_at), null, null, false, false, false, null, null, null
    from changed where reviews = 0
    group by date_trunc('month', created_at at time zone (select time_zone from sync.settings));
  end if;
  return null;
end
$$;
comment on function sync.log_review_changes() is 'Enters what a statement changed in warehouse.reviews into sync.review_changes. A review that is and stays marked deleted is left out.';
create trigger review_changes_insert after insert on warehouse.reviews
  referencing new table as added for each statement execute function sync.log_review_changes();
create trigger review_changes_update after update on warehouse.reviews
  referencing new table as added old table as removed for each statement execute function sync.log_review_changes();
create trigger review_changes_delete after delete on warehouse.reviews
  referencing old table as removed for each statement execute function sync.log_review_changes();

-- The log of orders and their lines, and the triggers that write it.
create table sync.order_changes (
  order_code text,
  ordered_at timestamptz,
  change     integer not null default 0
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
comment on table sync.order_changes is 'Changes of orders and their lines that are not in the counts behind bi and in sync.month_changes yet. An order may be here several times.';
comment on column sync.order_changes.order_code is 'The shop''s code of an order whose delivered lines or reviews changed: it is to be counted again. Null: lines of the month changed, but no count.';
comment on column sync.order_changes.ordered_at is 'When the order was made, or one order of the same month; null: orders without a date.';
comment on column sync.order_changes.change is 'A random number above 0, the same for all rows of a statement: what the change adds to the version of its month of bi.sub_orders. 0: nothing.';

create function sync.log_order_changes() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  new_change constant integer := 1 + floor(random() * 2147483647);
begin
  if tg_op = 'INSERT' then
    insert into sync.order_changes (order_code, ordered_at, change)
    select case when is_counted then line.order_code end as counted_code, min(o.ordered_at), new_change
    from (
      select order_code, bool_or(delivered_at is not null) as is_counted
      from added where sub_order_id is not null group by order_code
    ) as line
    left join sync.order_links o on o.order_code = line.order_code
    group by counted_code, date_trunc('month', o.ordered_at at time zone (select time_zone from sync.settings));
  elsif tg_op = 'DELETE' then
    insert into sync.order_changes (order_code, ordered_at, change)
    select case when is_counted then line.order_code end as counted_code, min(o.ordered_at), new_change
    from (
      select order_code, bool_or(delivered_at is not null) as is_counted
      from removed where sub_order_id is not null group by order_code
    ) as line
    left join sync.order_links o on o.order_code = line.order_code
    group by counted_code, date_trunc('month', o.ordered_at at time zone (select time_zone from sync.settings));
  elsif exists (select from added) then
    -- Only what bi.sub_orders shows: a push writes each line again. An order is counted again where its deliveries changed.
    insert into sync.order_changes (order_code, ordered_at, change)
    select case when is_counted then line.order_code end as counted_code, min(o.ordered_at), new_change
    from (
      select order_code, bool_or(delivered_at is not null and lines <> 0) as is_counted
      from (
        select order_code, product_id, delivered_at, sum(lines) as lines
        from (
          select order_code, product_id, delivered_at, status, price, sum(one) as lines
          from (
            select 1 as one, order_code, product_id, delivered_at, status, content ->> 'price' as price
            from added where sub_order_id is not null
            union all
            select -1, order_code, product_id, delivered_at, status, content ->> 'price'
            from removed where sub_order_id is not null
          ) as version
          group by order_code, product_id, delivered_at, status, price
          having sum(one) <> 0
        ) as shown
        group by order_code, product_id, delivered_at
      ) as delivered
      group by order_code
    ) as line
    left join sync.order_links o on o.order_code = line.order_code
    group by counted_code, date_trunc('month', o.ordered_at at time zone (select time_zone from sync.settings));
  end if;
  return null;
end
$$;
comment on function sync.log_order_changes() is 'Enters orders of which a statement changed lines in sync.sub_order_links into sync.order_changes.';
create trigger order_changes_insert after insert on sync.sub_order_links
  referencing new table as added for each statement execute function sync.log_order_changes();
create trigger order_changes_update after update on sync.sub_order_links
  referencing new table as added old table as removed for each statement execute function sync.log_order_changes();
create trigger order_changes_delete after delete on sync.sub_order_links
  referencing old table as removed for each statement execute function sync.log_order_changes();

create function sync.log_order_dates() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  new_change constant integer := 1 + floor(random() * 2147483647);
begin
  if tg_op = 'INSERT' then
    insert into sync.order_changes (ordered_at, change)
    select min(ordered_at), new_change
    from added where ordered_at is not null
    group by date_trunc('month', ordered_at at time zone (select time_zone from sync.settings));
  elsif tg_op = 'DELETE' then
    insert into sync.order_changes (ordered_at, change)
    select min(ordered_at), new_change
    from removed
    group by date_trunc('month', ordered_at at time zone (select time_zone from sync.settings));
  elsif exists (select from added) then
    -- Grouped, not joined: a plan that is kept from a statement of one order would compare each order with each other.
    insert into sync.order_changes (ordered_at, change)
    select min(ordered_at), new_change
    from (
      select ordered_at
      from (
        select 1 as one, order_code, ordered_at from added
        union all
        select -1, order_code, ordered_at from removed
      ) as version
      group by order_code, ordered_at
      having sum(one) <> 0
    ) as moved
    group by date_trunc('month', ordered_at at time zone (select time_zone from sync.settings));
  end if;
  return null;
end
$$;
comment on function sync.log_order_dates() is 'Enters the months that orders come to or leave into sync.order_changes.';
create trigger order_dates_insert after insert on sync.order_links
  referencing new table as added for each statement execute function sync.log_order_dates();
create trigger order_dates_update after update on sync.order_links
  referencing new table as added old table as removed for each statement execute function sync.log_order_dates();
create trigger order_dates_delete after delete on sync.order_links
  referencing old table as removed for each statement execute function sync.log_order_dates();

create view sync.changed_orders as
select order_code from sync.order_changes where order_code is not null
union all
select order_code from sync.review_changes where order_code is not null;
comment on view sync.changed_orders is 'Orders that are to be counted again.';
comment on column sync.changed_orders.order_code is 'The shop''s order code.';

-- Reviews by day.
create table sync.review_day_counts (
  day          date not null,
  source       text,
  score        smallint,
  has_photo    boolean not null,
  has_video    boolean not null,
  is_displayed boolean not null,
  reviews      bigint not null
) with (fillfactor = 70);
-- A unique index takes two nulls for different: a sentinel makes them equal. '=' tells an empty text from none.
create unique index review_day_counts_key on sync.review_day_counts
  (day, coalesce(score, -32768), coalesce('=' || source, ''), has_photo, has_video, is_displayed);
comment on table sync.review_day_counts is 'Reviews that are not marked deleted, by day and by what the views of bi ask for. sync.review_changes is to be added.';
comment on column sync.review_day_counts.day is 'Day of creation in the time zone of sync.settings.';
comment on column sync.review_day_counts.source is 'Where the reviews came from.';
comment on column sync.review_day_counts.score is 'Rating; null: no rating was given.';
comment on column sync.review_day_counts.has_photo is 'As in bi.reviews.';
comment on column sync.review_day_counts.has_video is 'As in bi.reviews.';
comment on column sync.review_day_counts.is_displayed is 'As in bi.reviews.';
comment on column sync.review_day_counts.reviews is 'Number of reviews; 0: there were some.';
comment on index sync.review_day_counts_key is 'One row for each combination.';

create view sync.review_days as
select day, source, score, has_photo, has_video, is_displayed, reviews
from sync.review_day_counts
union all
select (created_at at time zone (select time_zone from sync.settings))::date, source, score, has_photo, has_video,
  is_displayed, reviews
from sync.review_changes
where reviews <> 0;
comment on view sync.review_days is 'sync.review_day_counts with the changes that are not folded yet: the sum over a combination is its number of reviews.';
comment on column sync.review_days.day is 'Day of creation in the time zone of sync.settings.';
comment on column sync.review_days.source is 'Where the reviews came from.';
comment on column sync.review_days.score is 'Rating; null: no rating was given.';
comment on column sync.review_days.has_photo is 'As in bi.reviews.';
comment on column sync.review_days.has_video is 'As in bi.reviews.';
comment on column sync.review_days.is_displayed is 'As in bi.reviews.';
comment on column sync.review_days.reviews is 'Number of reviews to add.';

-- Reviews by product and month. By product and day there would be nearly as many rows as reviews.
create table sync.review_product_counts (
  month           date not null,
  product_id      bigint,
  product_code    text,
  reviews         integer not null,
  displayed       integer not null,
  rated           integer not null,
  stars           integer not null,
  displayed_rated integer not null,
  displayed_stars integer not null,
  score_5         integer not null,
  score_4         integer not null,
  score_3         integer not null,
  score_2         integer not null,
  score_1         integer not null,
  with_photo      integer not null
) with (fillfactor = 70);
create unique index review_product_counts_key on sync.review_product_counts
  (month, coalesce(product_id, -9223372036854775808), coalesce('=' || product_code, ''));
comment on table sync.review_product_counts is 'Reviews that are not marked deleted, by month and product. sync.review_changes is to be added.';
comment on column sync.review_product_counts.month is 'First day of the month of creation, in the time zone of sync.settings.';
comment on column sync.review_product_counts.product_id is 'The service''s id of the product.';
comment on column sync.review_product_counts.product_code is 'The shop''s code of the product.';
comment on column sync.review_product_counts.reviews is 'Number of reviews.';
comment on column sync.review_product_counts.displayed is 'Those that the shop shows.';
comment on column sync.review_product_counts.rated is 'Those with a rating.';
comment on column sync.review_product_counts.stars is 'Sum of the ratings.';
comment on column sync.review_product_counts.displayed_rated is 'Those with a rating that the shop shows.';
comment on column sync.review_product_counts.displayed_stars is 'Sum of their ratings.';
comment on column sync.review_product_counts.score_5 is 'Reviews with 5.';
comment on column sync.review_product_counts.score_4 is 'Reviews with 4.';
comment on column sync.review_product_counts.score_3 is 'Reviews with 3.';
comment on column sync.review_product_counts.score_2 is 'Reviews with 2.';
comment on column sync.review_product_counts.score_1 is 'Reviews with 1.';
comment on column sync.review_product_counts.with_photo is 'Reviews with at least one photo.';
comment on index sync.review_product_counts_key is 'One row for each month, product id and product code.';

create view sync.review_products as
select * from sync.review_product_counts
union all
select
  date_trunc('month', created_at at time zone (select time_zone from sync.settings))::date,
  product_id,
  product_code,
  reviews,
  case when is_displayed then reviews else 0 end,
  case when score is not null then reviews else 0 end,
  coalesce(reviews * score, 0),
  case when is_displayed and score is not null then reviews else 0 end,
  case when is_displayed then coalesce(reviews * score, 0) else 0 end,
  case score when 5 then reviews else 0 end,
  case score when 4 then reviews else 0 end,
  case score when 3 then reviews else 0 end,
  case score when 2 then reviews else 0 end,
  case score when 1 then reviews else 0 end,
  case when has_photo then reviews else 0 end
from sync.review_changes
where reviews <> 0;
comment on view sync.review_products is 'sync.review_product_counts with the changes that are not folded yet: the sums over a month and product are its numbers.';
comment on column sync.review_products.month is 'First day of the month of creation, in the time zone of sync.settings.';
comment on column sync.review_products.product_id is 'The service''s id of the product.';
comment on column sync.review_products.product_code is 'The shop''s code of the product.';
comment on column sync.review_products.reviews is 'Number of reviews.';
comment on column sync.review_products.displayed is 'Those that the shop shows.';
comment on column sync.review_products.rated is 'Those with a rating.';
comment on column sync.review_products.stars is 'Sum of the ratings.';
comment on column sync.review_products.displayed_rated is 'Those with a rating that the shop shows.';
comment on column sync.review_products.displayed_stars is 'Sum of their ratings.';
comment on column sync.review_products.score_5 is 'Reviews with 5.';
comment on column sync.review_products.score_4 is 'Reviews with 4.';
comment on column sync.review_products.score_3 is 'Reviews with 3.';
comment on column sync.review_products.score_2 is 'Reviews with 2.';
comment on column sync.review_products.score_1 is 'Reviews with 1.';
comment on column sync.review_products.with_photo is 'Reviews with at least one photo.';

-- Deliveries: each product of each order, and what was counted of it. sync.ordered_products is one aggregate over lines
-- and reviews, without a join: a condition on order_code reaches the indexes of both tables.
create view sync.ordered_products as
select
  order_code,
  product_id,
  sum(line)::bigint as sub_orders,
  count(delivered_at) as delivered_sub_orders,
  min(delivered_at) as delivered_at,
  sum(1 - line)::bigint as reviews,
  min(created_at) as first_review_at,
  count(score) as rated_reviews,
  coalesce(sum(score), 0) as stars
from (
  select order_code, product_id, 1 as line, delivered_at, null::timestamptz as created_at, null::smallint as score
  from sync.sub_order_links
  where sub_order_id is not null
  union all
  select order_code, product_id, 0, null, created_at, score
  from warehouse.reviews
  where deleted_at is null and order_code is not null and product_id is not null
) as found
group by order_code, product_id
having sum(line) > 0;
comment on view sync.ordered_products is 'Each product of each pushed order with its reviews. The views of bi about delivery read this view. A review belongs to it by order code and product: the service does not always name the sub-order.';
comment on column sync.ordered_products.order_code is 'The shop''s order code.';
comment on column sync.ordered_products.product_id is 'The service''s id of the product.';
comment on column sync.ordered_products.sub_orders is 'Sub-orders of this product in this order.';
comment on column sync.ordered_products.delivered_sub_orders is 'Those of them that were delivered.';
comment on column sync.ordered_products.delivered_at is 'When the first of them was delivered.';
comment on column sync.ordered_products.reviews is 'Reviews of this product that name this order, deleted ones left out.';
comment on column sync.ordered_products.first_review_at is 'When the first of them was written.';
comment on column sync.ordered_products.rated_reviews is 'Those of its reviews that have a rating.';
comment on column sync.ordered_products.stars is 'Sum of their ratings.';

create view sync.deliveries as
select
  order_code,
  product_id,
  date_trunc('month', delivered_at at time zone (select time_zone from sync.settings))::date as month,
  delivered_sub_orders,
  reviews,
  least(reviews, delivered_sub_orders) as reviewed_sub_orders,
  rated_reviews,
  stars,
  case
    when isfinite(first_review_at) and isfinite(delivered_at) then extract(epoch from first_review_at - delivered_at)
  end as seconds_to_review
from sync.ordered_products
where delivered_at is not null;
comment on view sync.deliveries is 'Each product of each order that was delivered at least once, with its reviews.';
comment on column sync.deliveries.order_code is 'The shop''s order code.';
comment on column sync.deliveries.product_id is 'The service''s id of the product.';
comment on column sync.deliveries.month is 'First day of the month of delivery, in the time zone of sync.settings.';
comment on column sync.deliveries.delivered_sub_orders is 'Sub-orders that were delivered.';
comment on column sync.deliveries.reviews is 'Reviews of them.';
comment on column sync.deliveries.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';
comment on column sync.deliveries.rated_reviews is 'Reviews with a rating.';
comment on column sync.deliveries.stars is 'Sum of the ratings.';
comment on column sync.deliveries.seconds_to_review is 'Seconds from the first delivery to the first review; null: no review.';

create table sync.counted_deliveries (
  order_code           text not null,
  product_id           bigint,
  month                date not null,
  delivered_sub_orders bigint not null,
  reviews              bigint not null,
  reviewed_sub_orders  bigint not null,
  rated_reviews        bigint not null,
  stars                bigint not null,
  seconds_to_review    numeric
);
create index counted_deliveries_by_order on sync.counted_deliveries (order_code);
create index counted_deliveries_by_delay on sync.counted_deliveries (month, seconds_to_review)
  where seconds_to_review is not null;
comment on table sync.counted_deliveries is 'sync.deliveries as they were when they were last counted in sync.delivery_counts and sync.delivery_delays: what is taken away when an order is counted again.';
comment on column sync.counted_deliveries.order_code is 'The shop''s order code.';
comment on column sync.counted_deliveries.product_id is 'The service''s id of the product.';
comment on column sync.counted_deliveries.month is 'First day of the month of delivery, in the time zone of sync.settings.';
comment on column sync.counted_deliveries.delivered_sub_orders is 'Sub-orders that were delivered.';
comment on column sync.counted_deliveries.reviews is 'Reviews of them.';
comment on column sync.counted_deliveries.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';
comment on column sync.counted_deliveries.rated_reviews is 'Reviews with a rating.';
comment on column sync.counted_deliveries.stars is 'Sum of the ratings.';
comment on column sync.counted_deliveries.seconds_to_review is 'Seconds from the first delivery to the first review; null: no review.';
comment on index sync.counted_deliveries_by_order is 'What was counted of an order.';
comment on index sync.counted_deliveries_by_delay is 'The median of a month.';

create table sync.delivery_counts (
  month                date not null,
  product_id           bigint,
  delivered_sub_orders integer not null,
  reviews              integer not null,
  reviewed_sub_orders  integer not null
) with (fillfactor = 70);
create unique index delivery_counts_key on sync.delivery_counts (month, coalesce(product_id, -9223372036854775808));
comment on table sync.delivery_counts is 'Sums of sync.counted_deliveries by month and product.';
comment on column sync.delivery_counts.month is 'First day of the month of delivery, in the time zone of sync.settings.';
comment on column sync.delivery_counts.product_id is 'The service''s id of the product.';
comment on column sync.delivery_counts.delivered_sub_orders is 'Sub-orders that were delivered.';
comment on column sync.delivery_counts.reviews is 'Reviews of them.';
comment on column sync.delivery_counts.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';
comment on index sync.delivery_counts_key is 'One row for each month and product.';

create table sync.delivery_delays (
  month           date not null,
  hours_to_review bigint,
  deliveries      bigint not null,
  rated_reviews   bigint not null,
  stars           bigint not null
) with (fillfactor = 70);
create unique index delivery_delays_key on sync.delivery_delays (month, coalesce(hours_to_review, -9223372036854775808));
comment on table sync.delivery_delays is 'Sums of sync.counted_deliveries by month and whole hours from delivery to the first review. The median lies in one of these hours; its exact value is looked up in sync.counted_deliveries.';
comment on column sync.delivery_delays.month is 'First day of the month of delivery, in the time zone of sync.settings.';
comment on column sync.delivery_delays.hours_to_review is 'Whole hours from the first delivery to the first review, rounded down; null: no review.';
comment on column sync.delivery_delays.deliveries is 'Delivered products of orders.';
comment on column sync.delivery_delays.rated_reviews is 'Reviews with a rating.';
comment on column sync.delivery_delays.stars is 'Sum of the ratings.';
comment on index sync.delivery_delays_key is 'One row for each month and hour.';

-- What changed orders add to the counts, and take away from them.
create view sync.delivery_changes as
select 1 as sign, d.* from sync.deliveries d where order_code = any (array(select order_code from sync.changed_orders))
union all
select -1, c.* from sync.counted_deliveries c where order_code = any (array(select order_code from sync.changed_orders));
comment on view sync.delivery_changes is 'Changed orders as they are now, and (sign -1) as they are counted.';
comment on column sync.delivery_changes.sign is '1: to add, -1: to take away.';
comment on column sync.delivery_changes.order_code is 'The shop''s order code.';
comment on column sync.delivery_changes.product_id is 'The service''s id of the product.';
comment on column sync.delivery_changes.month is 'First day of the month of delivery, in the time zone of sync.settings.';
comment on column sync.delivery_changes.delivered_sub_orders is 'Sub-orders that were delivered.';
comment on column sync.delivery_changes.reviews is 'Reviews of them.';
comment on column sync.delivery_changes.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';
comment on column sync.delivery_changes.rated_reviews is 'Reviews with a rating.';
comment on column sync.delivery_changes.stars is 'Sum of the ratings.';
comment on column sync.delivery_changes.seconds_to_review is 'Seconds from the first delivery to the first review; null: no review.';

create view sync.deliveries_by_product as
select month, product_id, delivered_sub_orders, reviews, reviewed_sub_orders from sync.delivery_counts
union all
select month, product_id, (sign * delivered_sub_orders)::integer, (sign * reviews)::integer,
  (sign * reviewed_sub_orders)::integer
from sync.delivery_changes;
comment on view sync.deliveries_by_product is 'sync.delivery_counts with the changes that are not folded yet.';
comment on column sync.deliveries_by_product.month is 'First day of the month of delivery, in the time zone of sync.settings.';
comment on column sync.deliveries_by_product.product_id is 'The service''s id of the product.';
comment on column sync.deliveries_by_product.delivered_sub_orders is 'Sub-orders that were delivered.';
comment on column sync.deliveries_by_product.reviews is 'Reviews of them.';
comment on column sync.deliveries_by_product.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';

create view sync.deliveries_by_delay as
select month, hours_to_review, deliveries, rated_reviews, stars from sync.delivery_delays
union all
select month, floor(seconds_to_review / 3600)::bigint, sign, sign * rated_reviews, sign * stars from sync.delivery_changes;
comment on view sync.deliveries_by_delay is 'sync.delivery_delays with the changes that are not folded yet.';
comment on column sync.deliveries_by_delay.month is 'First day of the month of delivery, in the time zone of sync.settings.';
comment on column sync.deliveries_by_delay.hours_to_review is 'Whole hours from the first delivery to the first review, rounded down; null: no review.';
comment on column sync.deliveries_by_delay.deliveries is 'Delivered products of orders.';
comment on column sync.deliveries_by_delay.rated_reviews is 'Reviews with a rating.';
comment on column sync.deliveries_by_delay.stars is 'Sum of the ratings.';

-- Versions of months. The newest synced_at of a month cannot serve: a review that moved or was deleted by hand leaves
-- no row in the month that it left. Random numbers, so that versions differ also after a backup was restored.
create table sync.month_changes (
  id       bigint generated always as identity primary key,
  relation text not null check (relation in ('reviews', 'sub_orders', '*')),
  month    date,
  change   bigint not null default floor(random() * 4294967296)
);
comment on table sync.month_changes is 'Changes of bi.reviews and bi.sub_orders, by month. sync.fold_changes() adds a row for each month in which reviews or lines changed, and each change of a product''s code does; review-sync joins the rows of a month from time to time.';
comment on column sync.month_changes.id is 'Identifies the row.';
comment on column sync.month_changes.relation is 'reviews or sub_orders: the view of bi. *: all months of both.';
comment on column sync.month_changes.month is 'First day of the month in which the reviews were written, or the orders made, in the time zone of sync.settings. Null: orders without a date, or all months.';
comment on column sync.month_changes.change is 'A random number, or the sum of several.';

create view sync.month_versions as
select relation, month, sum(change) + (select coalesce(sum(change), 0) from sync.month_changes where relation = '*') as version
from (
  select relation, month, change from sync.month_changes where relation <> '*'
  union all
  select 'reviews', date_trunc('month', created_at at time zone (select time_zone from sync.settings))::date, change
  from sync.review_changes
  union all
  select 'sub_orders', date_trunc('month', ordered_at at time zone (select time_zone from sync.settings))::date, change
  from sync.order_changes
  where change <> 0
) as changes
group by relation, month;
comment on view sync.month_versions is 'Versions of the months of bi.reviews and bi.sub_orders: `export parquet` writes a month again when its version is another one. Months that had rows once stay.';
comment on column sync.month_versions.relation is 'reviews or sub_orders: the view of bi.';
comment on column sync.month_versions.month is 'First day of the month, in the time zone of sync.settings. Null: orders without a date.';
comment on column sync.month_versions.version is 'Sum of the numbers of all changes.';

create function sync.month_of_order(ordered_at timestamptz) returns date
language sql stable set search_path = pg_catalog, pg_temp as $$
  select date_trunc('month', ordered_at at time zone (select time_zone from sync.settings))::date
$$;
comment on function sync.month_of_order(timestamptz) is 'First day of the month of an order, in the time zone of sync.settings.';

-- The code of a product may become known after its sub-orders.
create function sync.note_month_of_products() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  products bigint[];
begin
  if tg_op = 'INSERT' then
    products := array(select product_id from added);
  elsif tg_op = 'DELETE' then
    products := array(select product_id from removed);
  else
    products := array(select product_id from added union select product_id from removed);
  end if;
  insert into sync.month_changes (relation, month)
  select distinct 'sub_orders', sync.month_of_order(o.ordered_at)
  from sync.sub_order_links l
  left join sync.order_links o on o.order_code = l.order_code
  where l.product_id = any (products) and l.sub_order_id is not null;
  return null;
end
$$;
comment on function sync.note_month_of_products() is 'Enters the months with sub-orders of a product whose code changed into sync.month_changes.';
create trigger product_months_insert after insert on sync.product_links
  referencing new table as added for each statement execute function sync.note_month_of_products();
create trigger product_months_update after update on sync.product_links
  referencing new table as added old table as removed for each statement execute function sync.note_month_of_products();
create trigger product_months_delete after delete on sync.product_links
  referencing old table as removed for each statement execute function sync.note_month_of_products();

create function sync.note_all_months() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into sync.month_changes (relation) values ('*');
  return null;
end
$$;
comment on function sync.note_all_months() is 'Enters a change of all months into sync.month_changes: a table was emptied by truncate, or the time zone or the salt of the keys changed.';
create trigger review_months_truncate after truncate on warehouse.reviews
  for each statement execute function sync.note_all_months();
create trigger line_months_truncate after truncate on sync.sub_order_links
  for each statement execute function sync.note_all_months();
create trigger order_months_truncate after truncate on sync.order_links
  for each statement execute function sync.note_all_months();
create trigger product_months_truncate after truncate on sync.product_links
  for each statement execute function sync.note_all_months();
create trigger settings_months after update on sync.settings
  for each statement execute function sync.note_all_months();

-- Folding and rebuilding.
create function sync.fold_changes() returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  zone constant text := (select time_zone from sync.settings);
  folded bigint := 0;
  one bigint;
begin
  perform from sync.locks where name = 'aggregates' for update skip locked;
  if not found then
    return null;
  end if;
  with taken as (
    delete from sync.review_changes returning *
  ),
  months as (
    insert into sync.month_changes (relation, month, change)
    select 'reviews', date_trunc('month', created_at at time zone zone)::date as month, sum(change) from taken group by month
  ),
  orders as (
    insert into sync.order_changes (order_code) select distinct order_code from taken where order_code is not null
  ),
  days as (
    insert into sync.review_day_counts as kept (day, source, score, has_photo, has_video, is_displayed, reviews)
    select (created_at at time zone zone)::date, source, score, has_photo, has_video, is_displayed, sum(reviews)
    from taken
    group by 1, 2, 3, 4, 5, 6
    having sum(reviews) <> 0
    on conflict (day, coalesce(score, -32768), coalesce('=' || source, ''), has_photo, has_video, is_displayed)
    do update set reviews = kept.reviews + excluded.reviews
  ),
  products as (
    insert into sync.review_product_counts as kept
    select
      date_trunc('month', created_at at time zone zone)::date,
      product_id,
      product_code,
      sum(reviews),
      coalesce(sum(reviews) filter (where is_displayed), 0),
      coalesce(sum(reviews) filter (where score is not null), 0),
      coalesce(sum(reviews * score), 0),
      coalesce(sum(reviews) filter (where is_displayed and score is not null), 0),
      coalesce(sum(reviews * score) filter (where is_displayed), 0),
      coalesce(sum(reviews) filter (where score = 5), 0),
      coalesce(sum(reviews) filter (where score = 4), 0),
      coalesce(sum(reviews) filter (where score = 3), 0),
      coalesce(sum(reviews) filter (where score = 2), 0),
      coalesce(sum(reviews) filter (where score = 1), 0),
      coalesce(sum(reviews) filter (where has_photo), 0)
    from taken
    where reviews <> 0
    group by 1, 2, 3
    on conflict (month, coalesce(product_id, -9223372036854775808), coalesce('=' || product_code, '')) do update set
      reviews = kept.reviews + excluded.reviews,
      displayed = kept.displayed + excluded.displayed,
      rated = kept.rated + excluded.rated,
      stars = kept.stars + excluded.stars,
      displayed_rated = kept.displayed_rated + excluded.displayed_rated,
      displayed_stars = kept.displayed_stars + excluded.displayed_stars,
      score_5 = kept.score_5 + excluded.score_5,
      score_4 = kept.score_4 + excluded.score_4,
      score_3 = kept.score_3 + excluded.score_3,
      score_2 = kept.score_2 + excluded.score_2,
      score_1 = kept.score_1 + excluded.score_1,
      with_photo = kept.with_photo + excluded.with_photo
  )
  select count(*) into folded from taken;
  loop
    with changed as (
      delete from sync.order_changes
      where ctid = any (array(select ctid from sync.order_changes limit 20000))
      returning *
    ),
    months as (
      insert into sync.month_changes (relation, month, change)
      select 'sub_orders', date_trunc('month', ordered_at at time zone zone)::date as month, sum(change)
      from changed
      where change <> 0
      group by month
    ),
    gone as (
      delete from sync.counted_deliveries where order_code = any (array(select distinct order_code from changed where order_code is not null))
      returning *
    ),
    come as (
      insert into sync.counted_deliveries
      select * from sync.deliveries where order_code = any (array(select distinct order_code from changed where order_code is not null))
      returning *
    ),
    moved as (
      select -1 as sign, gone.* from gone
      union all
      select 1, come.* from come
    ),
    counts as (
      insert into sync.delivery_counts as kept
      select month, product_id, sum(sign * delivered_sub_orders), sum(sign * reviews), sum(sign * reviewed_sub_orders)
      from moved
      group by month, product_id
      on conflict (month, coalesce(product_id, -9223372036854775808)) do update set
        delivered_sub_orders = kept.delivered_sub_orders + excluded.delivered_sub_orders,
        reviews = kept.reviews + excluded.reviews,
        reviewed_sub_orders = kept.reviewed_sub_orders + excluded.reviewed_sub_orders
    ),
    delays as (
      insert into sync.delivery_delays as kept
      select month, floor(seconds_to_review / 3600)::bigint, sum(sign), sum(sign * rated_reviews), sum(sign * stars)
      from moved
      group by 1, 2
      on conflict (month, coalesce(hours_to_review, -9223372036854775808)) do update set
        deliveries = kept.deliveries + excluded.deliveries,
        rated_reviews = kept.rated_reviews + excluded.rated_reviews,
        stars = kept.stars + excluded.stars
    )
    select count(*) into one from changed;
    exit when one = 0;
    folded := folded + one;
  end loop;
  return folded;
end
$$;
comment on function sync.fold_changes() is 'Adds the logged changes to the counts behind bi and to the versions of months. Returns the number of log rows, or null while another session does this.';

create function sync.rebuild_aggregates() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set work_mem = '128MB' as $$
begin
  perform from sync.locks where name = 'aggregates' for update;
  -- What is written meanwhile waits, and is logged after this.
  lock table sync.sub_order_links in share mode;
  lock table warehouse.reviews in share mode;
  with gone as (
    delete from sync.review_changes returning created_at, change
  )
  insert into sync.month_changes (relation, month, change)
  select 'reviews', date_trunc('month', created_at at time zone (select time_zone from sync.settings))::date as month, sum(change)
  from gone
  group by month;
  with gone as (
    delete from sync.order_changes returning ordered_at, change
  )
  insert into sync.month_changes (relation, month, change)
  select 'sub_orders', date_trunc('month', ordered_at at time zone (select time_zone from sync.settings))::date as month, sum(change)
  from gone
  where change <> 0
  group by month;
  delete from sync.review_day_counts;
  insert into sync.review_day_counts
  select created_on, source, score, has_photo, has_video, is_displayed, count(*)
  from bi.reviews
  group by created_on, source, score, has_photo, has_video, is_displayed;
  delete from sync.review_product_counts;
  insert into sync.review_product_counts
  select
    created_month,
    product_id,
    product_code,
    count(*),
    count(*) filter (where is_displayed),
    count(score),
    coalesce(sum(score), 0),
    count(score) filter (where is_displayed),
    coalesce(sum(score) filter (where is_displayed), 0),
    count(*) filter (where score = 5),
    count(*) filter (where score = 4),
    count(*) filter (where score = 3),
    count(*) filter (where score = 2),
    count(*) filter (where score = 1),
    count(*) filter (where has_photo)
  from bi.reviews
  group by created_month, product_id, product_code;
  delete from sync.counted_deliveries;
  insert into sync.counted_deliveries select * from sync.deliveries;
  delete from sync.delivery_counts;
  insert into sync.delivery_counts
  select month, product_id, sum(delivered_sub_orders), sum(reviews), sum(reviewed_sub_orders)
  from sync.counted_deliveries
  group by month, product_id;
  delete from sync.delivery_delays;
  insert into sync.delivery_delays
  select month, floor(seconds_to_review / 3600)::bigint, count(*), sum(rated_reviews), sum(stars)
  from sync.counted_deliveries
  group by 1, 2;
  -- Another time zone may have made months that were none before.
  insert into sync.month_changes (relation, month, change)
  select distinct 'reviews', month, 0 from sync.review_product_counts
  union all
  select distinct 'sub_orders', date_trunc('month', ordered_at at time zone (select time_zone from sync.settings))::date, 0
  from sync.order_links
  where ordered_at is not null;
  analyze sync.review_day_counts, sync.review_product_counts, sync.counted_deliveries, sync.delivery_counts,
    sync.delivery_delays;
end
$$;
comment on function sync.rebuild_aggregates() is 'Makes the counts behind bi again from the reviews and orders. Writers wait meanwhile; readers do not.';

create function sync.rebuild_aggregates_after() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform sync.rebuild_aggregates();
  return null;
end
$$;
comment on function sync.rebuild_aggregates_after() is 'Makes the counts behind bi again: after the time zone changed, or after a table was emptied by truncate.';
create trigger review_changes_truncate after truncate on warehouse.reviews
  for each statement execute function sync.rebuild_aggregates_after();
create trigger order_changes_truncate after truncate on sync.sub_order_links
  for each statement execute function sync.rebuild_aggregates_after();
create trigger aggregates_zone after update of time_zone on sync.settings
  for each statement execute function sync.rebuild_aggregates_after();
