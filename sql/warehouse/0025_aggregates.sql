-- Counts from which the views of bi are answered, so that a question does not read every review and every order.
--
-- 1. Triggers log what a statement changed: sync.review_changes, sync.order_changes. They only insert, so that no two writers
--    wait for each other.
-- 2. sync.fold_changes() adds the logged changes to the counts. Runs call it.
-- 3. The views add the changes that are not folded yet to the counts, so they are exact at any moment.

insert into sync.locks (name) values ('aggregates');
comment on column sync.locks.name is 'alerts: compare the issues with sync.alerts and send messages. bi: grant the role bi_reader its rights. aggregates: fold changes into the counts behind bi.';

create table sync.review_changes (
  reviews      integer not null,
  created_at   timestamptz not null,
  score        smallint,
  source       text,
  has_photo    boolean not null,
  has_video    boolean not null,
  is_displayed boolean not null,
  product_id   bigint,
  product_code text,
  order_code   text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
comment on table sync.review_changes is 'Changes of reviews that are not in the counts behind bi yet. An edit is two rows: the review as it was, and as it is.';
comment on column sync.review_changes.reviews is 'Reviews like this that came; negative for those that went.';
comment on column sync.review_changes.created_at is 'When the review was written.';
comment on column sync.review_changes.score is 'Rating; null: no rating was given.';
comment on column sync.review_changes.source is 'Where it came from.';
comment on column sync.review_changes.has_photo is 'As in bi.reviews.';
comment on column sync.review_changes.has_video is 'As in bi.reviews.';
comment on column sync.review_changes.is_displayed is 'As in bi.reviews.';
comment on column sync.review_changes.product_id is 'The service''s id of the product.';
comment on column sync.review_changes.product_code is 'The shop''s code of the product.';
comment on column sync.review_changes.order_code is 'The shop''s code of the order it is about.';

create table sync.order_changes (
  order_code text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
comment on table sync.order_changes is 'Orders whose delivered lines or reviews changed and are not counted again yet. An order may be here several times.';
comment on column sync.order_changes.order_code is 'The shop''s order code.';

create view sync.changed_orders as
select order_code from sync.order_changes
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
-- A unique index takes two nulls for different; a sentinel makes them equal. '=' tells an empty text from none.
create unique index review_day_counts_key on sync.review_day_counts
  (day, coalesce(score, -32768), coalesce('=' || source, ''), has_photo, has_video, is_displayed);
comment on table sync.review_day_counts is 'Reviews that are not marked deleted, by day and by what the views of bi ask for. sync.review_changes is to be added.';
comment on index sync.review_day_counts_key is 'One row for each combination.';
comment on column sync.review_day_counts.day is 'Day of creation in the time zone of sync.settings.';
comment on column sync.review_day_counts.source is 'Where the reviews came from.';
comment on column sync.review_day_counts.score is 'Rating; null: no rating was given.';
comment on column sync.review_day_counts.has_photo is 'As in bi.reviews.';
comment on column sync.review_day_counts.has_video is 'As in bi.reviews.';
comment on column sync.review_day_counts.is_displayed is 'As in bi.reviews.';
comment on column sync.review_day_counts.reviews is 'Number of reviews; 0: there were some.';

create view sync.review_days as
select day, source, score, has_photo, has_video, is_displayed, reviews
from sync.review_day_counts
union all
select (created_at at time zone (select time_zone from sync.settings))::date, source, score, has_photo, has_video,
  is_displayed, reviews
from sync.review_changes;
comment on view sync.review_days is 'sync.review_day_counts with the changes that are not folded yet: the sum over a combination is its number of reviews.';
comment on column sync.review_days.day is 'Day of creation in the time zone of sync.settings.';
comment on column sync.review_days.source is 'Where the reviews came from.';
comment on column sync.review_days.score is 'Rating; null: no rating was given.';
comment on column sync.review_days.has_photo is 'As in bi.reviews.';
comment on column sync.review_days.has_video is 'As in bi.reviews.';
comment on column sync.review_days.is_displayed is 'As in bi.reviews.';
comment on column sync.review_days.reviews is 'Number of reviews to add.';

-- Reviews by product and month: by day and product there would be nearly as many rows as reviews.
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
from sync.review_changes;
comment on view sync.review_products is 'sync.review_product_counts with the changes that are not folded yet: the sums over a month and product are its numbers.';
do $$
declare
  relation text;
begin
  foreach relation in array '{review_product_counts,review_products}'::text[] loop
    execute format($c$
      comment on column sync.%1$I.month is 'First day of the month of creation, in the time zone of sync.settings.';
      comment on column sync.%1$I.product_id is 'The service''s id of the product.';
      comment on column sync.%1$I.product_code is 'The shop''s code of the product.';
      comment on column sync.%1$I.reviews is 'Number of reviews.';
      comment on column sync.%1$I.displayed is 'Those that the shop shows.';
      comment on column sync.%1$I.rated is 'Those with a rating.';
      comment on column sync.%1$I.stars is 'Sum of the ratings.';
      comment on column sync.%1$I.displayed_rated is 'Those with a rating that the shop shows.';
      comment on column sync.%1$I.displayed_stars is 'Sum of their ratings.';
      comment on column sync.%1$I.score_5 is 'Reviews with 5.';
      comment on column sync.%1$I.score_4 is 'Reviews with 4.';
      comment on column sync.%1$I.score_3 is 'Reviews with 3.';
      comment on column sync.%1$I.score_2 is 'Reviews with 2.';
      comment on column sync.%1$I.score_1 is 'Reviews with 1.';
      comment on column sync.%1$I.with_photo is 'Reviews with at least one photo.'
    $c$, relation);
  end loop;
end
$$;

-- Orders. One aggregate over lines and reviews, without a join: a condition on order_code reaches both tables' indexes.
create index reviews_by_order on warehouse.reviews (order_code) include (product_id, created_at, score)
  where deleted_at is null and order_code is not null;
comment on index warehouse.reviews_by_order is 'The reviews of an order, when it is counted again.';

create or replace view sync.ordered_products as
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
comment on table sync.counted_deliveries is 'sync.deliveries as they were when they were last counted in sync.delivery_counts and sync.delivery_delays: what is taken away when an order is counted again.';

create table sync.delivery_counts (
  month                date not null,
  product_id           bigint,
  delivered_sub_orders integer not null,
  reviews              integer not null,
  reviewed_sub_orders  integer not null
) with (fillfactor = 70);
create unique index delivery_counts_key on sync.delivery_counts (month, coalesce(product_id, -9223372036854775808));
comment on table sync.delivery_counts is 'Sums of sync.counted_deliveries by month and product.';
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
comment on index sync.delivery_delays_key is 'One row for each month and hour.';

-- What changed orders add to the counts, and take away from them.
create view sync.delivery_changes as
select 1 as sign, d.* from sync.deliveries d where order_code = any (array(select order_code from sync.changed_orders))
union all
select -1, c.* from sync.counted_deliveries c where order_code = any (array(select order_code from sync.changed_orders));
comment on view sync.delivery_changes is 'Changed orders as they are now, and (sign -1) as they are counted.';
comment on column sync.delivery_changes.sign is '1: to add, -1: to take away.';

create view sync.deliveries_by_product as
select month, product_id, delivered_sub_orders, reviews, reviewed_sub_orders from sync.delivery_counts
union all
select month, product_id, (sign * delivered_sub_orders)::integer, (sign * reviews)::integer,
  (sign * reviewed_sub_orders)::integer
from sync.delivery_changes;
comment on view sync.deliveries_by_product is 'sync.delivery_counts with the changes that are not folded yet.';

create view sync.deliveries_by_delay as
select month, hours_to_review, deliveries, rated_reviews, stars from sync.delivery_delays
union all
select month, floor(seconds_to_review / 3600)::bigint, sign, sign * rated_reviews, sign * stars from sync.delivery_changes;
comment on view sync.deliveries_by_delay is 'sync.delivery_delays with the changes that are not folded yet.';

create view sync.review_delays as
select month, seconds_to_review from sync.counted_deliveries
where seconds_to_review is not null and order_code not in (select order_code from sync.changed_orders)
union all
select month, seconds_to_review from sync.deliveries
where seconds_to_review is not null and order_code = any (array(select order_code from sync.changed_orders));
comment on view sync.review_delays is 'From delivery to the first review, for each delivered product of an order with a review.';

do $$
declare
  relation text;
  texts constant jsonb := jsonb_build_object(
    'order_code', 'The shop''s order code.',
    'product_id', 'The service''s id of the product.',
    'month', 'First day of the month of delivery, in the time zone of sync.settings.',
    'delivered_sub_orders', 'Sub-orders that were delivered.',
    'reviews', 'Reviews of them.',
    'reviewed_sub_orders', 'Delivered sub-orders with a review, each counted once.',
    'rated_reviews', 'Reviews with a rating.',
    'stars', 'Sum of the ratings.',
    'seconds_to_review', 'Seconds from the first delivery to the first review; null: no review.',
    'hours_to_review', 'Whole hours from the first delivery to the first review, rounded down; null: no review.',
    'deliveries', 'Delivered products of orders.'
  );
  attribute record;
begin
  for attribute in
    select c.oid::regclass as relation, a.attname as name
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = 'sync'::regnamespace and c.relname in (
      'deliveries', 'counted_deliveries', 'delivery_counts', 'delivery_delays', 'delivery_changes', 'deliveries_by_product',
      'deliveries_by_delay', 'review_delays'
    ) and a.attname <> 'sign'
  loop
    execute format('comment on column %s.%I is %L', attribute.relation, attribute.name, texts ->> attribute.name::text);
  end loop;
end
$$;

-- Triggers.
create function sync.log_review_changes() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into sync.review_changes
    select 1, created_at, score, source,
      coalesce(images_count > 0, review_type in ('photo', 'video&photo'), false),
      coalesce(videos_count > 0, review_type in ('video', 'video&photo'), false),
      coalesce(display, true), product_id, product_code, order_code
    from added where deleted_at is null;
  elsif tg_op = 'DELETE' then
    insert into sync.review_changes
    select -1, created_at, score, source,
      coalesce(images_count > 0, review_type in ('photo', 'video&photo'), false),
      coalesce(videos_count > 0, review_type in ('video', 'video&photo'), false),
      coalesce(display, true), product_id, product_code, order_code
    from removed where deleted_at is null;
  else
    insert into sync.review_changes
    select sum(one), created_at, score, source,
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
    ) as changed
    group by created_at, score, source, has_photo, has_video, is_displayed, product_id, product_code, order_code
    having sum(one) <> 0;
  end if;
  return null;
end
$$;
comment on function sync.log_review_changes() is 'Enters what a statement changed in warehouse.reviews into sync.review_changes.';

create function sync.log_order_changes() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into sync.order_changes
    select distinct order_code from added where sub_order_id is not null and delivered_at is not null;
  elsif tg_op = 'DELETE' then
    insert into sync.order_changes
    select distinct order_code from removed where sub_order_id is not null and delivered_at is not null;
  else
    insert into sync.order_changes
    select distinct order_code from (
      select order_code from (
        select 1 as one, order_code, product_id, delivered_at from added
        where sub_order_id is not null and delivered_at is not null
        union all
        select -1, order_code, product_id, delivered_at from removed
        where sub_order_id is not null and delivered_at is not null
      ) as line
      group by order_code, product_id, delivered_at
      having sum(one) <> 0
    ) as changed;
  end if;
  return null;
end
$$;
comment on function sync.log_order_changes() is 'Enters orders into sync.order_changes of which a statement changed delivered lines in sync.sub_order_links.';

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
  orders as (
    insert into sync.order_changes select distinct order_code from taken where order_code is not null
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
      returning order_code
    ),
    gone as (
      delete from sync.counted_deliveries where order_code = any (array(select distinct order_code from changed))
      returning *
    ),
    come as (
      insert into sync.counted_deliveries
      select * from sync.deliveries where order_code = any (array(select distinct order_code from changed))
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
comment on function sync.fold_changes() is 'Adds the logged changes to the counts behind bi. Returns the number of log rows, or null while another session does this.';

create function sync.rebuild_aggregates() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set work_mem = '128MB' as $$
begin
  perform from sync.locks where name = 'aggregates' for update;
  -- What is written meanwhile waits, and is logged after this.
  lock table sync.sub_order_links in share mode;
  lock table warehouse.reviews in share mode;
  delete from sync.review_changes;
  delete from sync.order_changes;
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

select sync.rebuild_aggregates();
-- After the rows, which is faster.
create index counted_deliveries_by_order on sync.counted_deliveries (order_code);
create index counted_deliveries_by_delay on sync.counted_deliveries (month, seconds_to_review)
  where seconds_to_review is not null;
comment on index sync.counted_deliveries_by_order is 'What was counted of an order.';
comment on index sync.counted_deliveries_by_delay is 'The median of a month.';

create trigger review_changes_insert after insert on warehouse.reviews
  referencing new table as added for each statement execute function sync.log_review_changes();
create trigger review_changes_update after update on warehouse.reviews
  referencing new table as added old table as removed for each statement execute function sync.log_review_changes();
create trigger review_changes_delete after delete on warehouse.reviews
  referencing old table as removed for each statement execute function sync.log_review_changes();
create trigger review_changes_truncate after truncate on warehouse.reviews
  for each statement execute function sync.rebuild_aggregates_after();
create trigger order_changes_insert after insert on sync.sub_order_links
  referencing new table as added for each statement execute function sync.log_order_changes();
create trigger order_changes_update after update on sync.sub_order_links
  referencing new table as added old table as removed for each statement execute function sync.log_order_changes();
create trigger order_changes_delete after delete on sync.sub_order_links
  referencing old table as removed for each statement execute function sync.log_order_changes();
create trigger order_changes_truncate after truncate on sync.sub_order_links
  for each statement execute function sync.rebuild_aggregates_after();
create trigger aggregates_zone after update of time_zone on sync.settings
  for each statement execute function sync.rebuild_aggregates_after();

-- The views of bi. Columns and meaning are those they had.
-- By code as before, and by both keys of a product: its first and its last review are each one entry.
create index reviews_by_code_and_product on warehouse.reviews (product_code, product_id, created_at) where deleted_at is null;
drop index warehouse.reviews_by_product;
alter index warehouse.reviews_by_code_and_product rename to reviews_by_product;
comment on index warehouse.reviews_by_product is 'The reviews of one product that are not marked deleted, by date.';
create index sub_order_links_by_delivery on sync.sub_order_links (delivered_at) where delivered_at is not null;
comment on index sync.sub_order_links_by_delivery is 'bi.sub_orders of a period.';

create or replace view bi.reviews_by_day as
with counted as (
  select
    day as created_on,
    sum(reviews) as reviews,
    coalesce(sum(reviews) filter (where not is_displayed), 0) as hidden_reviews,
    coalesce(sum(reviews) filter (where score is not null), 0) as rated_reviews,
    sum(reviews * score) as stars,
    coalesce(sum(reviews) filter (where has_photo), 0) as photo_reviews,
    coalesce(sum(reviews) filter (where has_video), 0) as video_reviews
  from sync.review_days
  group by day
  having sum(reviews) > 0
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

create or replace view bi.reviews_by_product as
with counted as (
  select
    product_id,
    product_code,
    sum(reviews) as reviews,
    sum(displayed) as displayed,
    sum(rated) as rated,
    sum(stars) as stars,
    sum(displayed_rated) as displayed_rated,
    sum(displayed_stars) as displayed_stars,
    sum(score_5) as score_5,
    sum(score_4) as score_4,
    sum(score_3) as score_3,
    sum(score_2) as score_2,
    sum(score_1) as score_1,
    sum(with_photo) as with_photo
  from sync.review_products
  group by product_id, product_code
  having sum(reviews) > 0
)
select
  product_id,
  max(product_code) as product_code,
  sum(reviews)::bigint as reviews,
  sum(displayed)::bigint as displayed_reviews,
  sum(rated)::bigint as rated_reviews,
  round(sum(stars) / nullif(sum(rated), 0), 2) as average_score,
  round(sum(displayed_stars) / nullif(sum(displayed_rated), 0), 2) as displayed_average_score,
  sum(score_5)::bigint as score_5,
  sum(score_4)::bigint as score_4,
  sum(score_3)::bigint as score_3,
  sum(score_2)::bigint as score_2,
  sum(score_1)::bigint as score_1,
  round(sum(with_photo) / sum(reviews), 4) as photo_share,
  min(bounds.first) as first_review_at,
  max(bounds.last) as last_review_at
from counted c
-- Null never equals null, so each of the four cases has a condition that the index serves.
cross join lateral (
  select min(first) as first, max(last) as last
  from (
    select min(created_at) as first, max(created_at) as last from warehouse.reviews r
    where r.deleted_at is null and r.product_code = c.product_code and r.product_id = c.product_id
    union all
    select min(created_at), max(created_at) from warehouse.reviews r
    where r.deleted_at is null and r.product_code is null and r.product_id = c.product_id and c.product_code is null
    union all
    select min(created_at), max(created_at) from warehouse.reviews r
    where r.deleted_at is null and r.product_code = c.product_code and r.product_id is null and c.product_id is null
    union all
    select min(created_at), max(created_at) from warehouse.reviews r
    where r.deleted_at is null and r.product_code is null and r.product_id is null and c.product_code is null
      and c.product_id is null
  ) as found
) as bounds
group by product_id, case when product_id is null then product_code end;

create or replace view bi.reviews_by_score as
select
  score,
  sum(reviews)::bigint as reviews,
  round(sum(reviews) / sum(sum(reviews)) over (), 4) as share,
  round(coalesce(sum(reviews) filter (where has_photo), 0) / sum(reviews), 4) as photo_share,
  coalesce(sum(reviews) filter (where not is_displayed), 0)::bigint as hidden_reviews
from sync.review_days
group by score
having sum(reviews) > 0;

create or replace view bi.reviews_by_source as
with by_day as (
  select
    source,
    day,
    sum(reviews) as reviews,
    coalesce(sum(reviews) filter (where score is not null), 0) as rated,
    coalesce(sum(reviews * score), 0) as stars,
    coalesce(sum(reviews) filter (where has_photo), 0) as with_photo
  from sync.review_days
  group by source, day
  having sum(reviews) > 0
),
counted as (
  select source, sum(reviews) as reviews, sum(rated) as rated, sum(stars) as stars, sum(with_photo) as with_photo,
    max(day)::timestamp as last_day
  from by_day
  group by source
)
select
  source,
  reviews::bigint as reviews,
  round(reviews / sum(reviews) over (), 4) as share,
  round(stars / nullif(rated, 0), 2) as average_score,
  round(with_photo / reviews, 4) as photo_share,
  newest.created_at as last_review_at
from counted c
cross join lateral (
  select max(created_at) as created_at
  from warehouse.reviews r
  -- Two hours wider: a midnight may be there twice, or not at all.
  where r.created_at >= c.last_day at time zone (select time_zone from sync.settings) - interval '2 hours'
    and r.created_at <= (c.last_day + interval '1 day') at time zone (select time_zone from sync.settings) + interval '2 hours'
    and r.deleted_at is null and r.source is not distinct from c.source
) as newest;

create or replace view bi.score_trend as
with monthly as (
  select
    date_trunc('month', day)::date as month,
    sum(reviews)::bigint as reviews,
    coalesce(sum(reviews) filter (where score is not null), 0)::bigint as rated,
    sum(reviews * score)::bigint as stars,
    coalesce(sum(reviews) filter (where score <= 2), 0)::bigint as low
  from sync.review_days
  group by 1
  having sum(reviews) > 0
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

create or replace view bi.photo_share as
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
from sync.review_days
group by 1
having sum(reviews) > 0;

-- One order at a time, so that a condition on ordered_at reads only its orders.
create or replace view bi.response_by_order as
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

create or replace view bi.reviews_per_delivered_sub_order as
with counted as (
  select month, sum(delivered_sub_orders)::numeric as delivered_sub_orders, sum(reviews)::numeric as reviews,
    sum(reviewed_sub_orders)::numeric as reviewed_sub_orders
  from sync.deliveries_by_product
  group by month
  having sum(delivered_sub_orders) > 0
),
-- The hours in which the two middle values lie (one value, where their number is odd), and which value of its hour each is.
hours as (
  select
    month,
    hours_to_review as hour,
    sum(deliveries) as deliveries,
    sum(sum(deliveries)) over (partition by month order by hours_to_review) as up_to,
    sum(sum(deliveries)) over (partition by month) as of_month
  from sync.deliveries_by_delay
  where hours_to_review is not null
  group by month, hours_to_review
  having sum(deliveries) > 0
),
middle as (
  select month, hour, (place - (up_to - deliveries))::bigint - 1 as offset_in_hour
  from hours
  cross join lateral (values (div(of_month + 1, 2)), (div(of_month, 2) + 1)) as middle (place)
  where place > up_to - deliveries and place <= up_to
),
medians as (
  select middle.month, round(avg(found.seconds_to_review) / 86400, 1) as days
  from middle
  cross join lateral (
    select seconds_to_review
    from sync.review_delays d
    where d.month = middle.month and seconds_to_review >= hour * 3600::numeric
      and seconds_to_review < (hour + 1) * 3600::numeric
    order by seconds_to_review
    offset middle.offset_in_hour
    limit 1
  ) as found
  group by middle.month
)
select
  month,
  delivered_sub_orders::bigint as delivered_sub_orders,
  reviews::bigint as reviews,
  round(reviews / delivered_sub_orders, 4) as reviews_per_sub_order,
  reviewed_sub_orders::bigint as reviewed_sub_orders,
  round(reviewed_sub_orders / delivered_sub_orders, 4) as reviewed_share,
  medians.days as median_days_to_review
from counted
left join medians using (month);

create or replace view bi.reviews_per_delivered_sub_order_by_product as
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
    sum(reviewed_sub_orders)::bigint as reviewed_sub_orders
  from sync.deliveries_by_product
  group by product_id
  having sum(delivered_sub_orders) > 0
) d
left join (
  select product_id, max(product_code) as product_code from sync.product_links group by product_id
) p on p.product_id = d.product_id;

-- New views: what two of the ten questions counted row by row.
create view bi.reviews_by_product_month as
with counted as (
  select product_id, product_code, month, sum(reviews) as reviews, sum(rated) as rated, sum(stars) as stars,
    sum(with_photo) as with_photo
  from sync.review_products
  group by product_id, product_code, month
  having sum(reviews) > 0
)
select
  product_id,
  max(product_code) as product_code,
  month,
  sum(reviews)::bigint as reviews,
  sum(rated)::bigint as rated_reviews,
  sum(stars)::bigint as stars,
  round(sum(stars) / nullif(sum(rated), 0), 2) as average_score,
  round(sum(with_photo) / sum(reviews), 4) as photo_share
from counted
group by product_id, case when product_id is null then product_code end, month;
comment on view bi.reviews_by_product_month is 'Reviews and ratings of each product by the month in which they were written. Months without reviews have no row.';
comment on column bi.reviews_by_product_month.product_id is 'The service''s id of the product; null: reviews without a product.';
comment on column bi.reviews_by_product_month.product_code is 'The shop''s code of the product.';
comment on column bi.reviews_by_product_month.month is 'First day of the month, in the zone of bi.freshness.';
comment on column bi.reviews_by_product_month.reviews is 'Reviews written, hidden ones too.';
comment on column bi.reviews_by_product_month.rated_reviews is 'Those with a rating.';
comment on column bi.reviews_by_product_month.stars is 'Sum of the ratings: averages of several rows are sum(stars) / sum(rated_reviews).';
comment on column bi.reviews_by_product_month.average_score is 'Average rating; null without ratings.';
comment on column bi.reviews_by_product_month.photo_share is 'Share of reviews with a photo, 0 to 1.';

create view bi.time_to_review as
select
  month,
  floor(hours_to_review / 24.0)::integer as days,
  sum(deliveries)::bigint as deliveries,
  sum(rated_reviews)::bigint as rated_reviews,
  sum(stars)::bigint as stars,
  round(sum(stars) / nullif(sum(rated_reviews), 0), 2) as average_score
from sync.deliveries_by_delay
group by 1, 2
having sum(deliveries) > 0;
comment on view bi.time_to_review is 'How long after delivery the first review of a product comes, by month of delivery. Several sub-orders of one product in one order count once. The newest months still grow.';
comment on column bi.time_to_review.month is 'First day of the month of delivery, in the zone of bi.freshness.';
comment on column bi.time_to_review.days is 'Whole days from the first delivery to the first review, rounded down; below 0: written before; null: no review yet.';
comment on column bi.time_to_review.deliveries is 'Delivered products of orders.';
comment on column bi.time_to_review.rated_reviews is 'Ratings in their reviews.';
comment on column bi.time_to_review.stars is 'Sum of these ratings.';
comment on column bi.time_to_review.average_score is 'Average of these ratings; null without any.';
