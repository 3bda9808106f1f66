-- One log of changed reviews, in place of three (counts by day of 0012, the log behind bi of 0025, versions of months of 0027), and one
-- of changed orders and lines, in place of two (0025, 0027).
--
-- 1. One trigger for each kind of statement enters what changed into sync.review_changes, with a random number.
-- 2. `status` and the calendar read sync.review_days: the counts by day, with the changes that are not folded yet.
-- 3. Triggers on sync.sub_order_links and sync.order_links enter the same of orders into sync.order_changes.
-- 4. sync.fold_changes() adds the changes to the counts, and counts the orders again that a row names.
-- 5. The version of a month is the sum of the numbers of its changes. A fold moves that sum to sync.month_changes, so it changes no
--    version.

drop trigger review_days_insert on warehouse.reviews;
drop trigger review_days_update on warehouse.reviews;
drop trigger review_days_delete on warehouse.reviews;
drop trigger review_days_truncate on warehouse.reviews;
drop trigger review_days_zone on sync.settings;
drop function sync.count_review_days();
drop function sync.recount_review_days();
drop table sync.review_day_changes;

drop trigger review_months_insert on warehouse.reviews;
drop trigger review_months_update on warehouse.reviews;
drop trigger review_months_delete on warehouse.reviews;
drop function sync.note_month_of_reviews();

-- The widest columns first: rows without gaps.
alter table sync.review_changes rename to review_changes_before;
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

-- The months of these changes are in sync.month_changes already.
insert into sync.review_changes (created_at, product_id, reviews, change, score, has_photo, has_video, is_displayed, source,
  product_code, order_code)
select created_at, product_id, reviews, 0, score, has_photo, has_video, is_displayed, source, product_code, order_code
from sync.review_changes_before;

create or replace view sync.changed_orders as
select order_code from sync.order_changes where order_code is not null
union all
select order_code from sync.review_changes where order_code is not null;

create or replace view sync.review_days as
select day, source, score, has_photo, has_video, is_displayed, reviews
from sync.review_day_counts
union all
select (created_at at time zone (select time_zone from sync.settings))::date, source, score, has_photo, has_video,
  is_displayed, reviews
from sync.review_changes
where reviews <> 0;

create or replace view sync.review_products as
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

comment on column sync.month_changes.change is 'A random number, or the sum of several.';

drop table sync.review_changes_before;

create or replace function sync.log_review_changes() returns trigger
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
comment on function sync.fold_changes() is 'Adds the logged changes to the counts behind bi and to the versions of months. Returns the number of log rows, or null while another session does this.';

-- Orders and lines.
drop trigger line_months_insert on sync.sub_order_links;
drop trigger line_months_update on sync.sub_order_links;
drop trigger line_months_delete on sync.sub_order_links;
drop function sync.note_month_of_lines();
drop trigger order_months_insert on sync.order_links;
drop trigger order_months_update on sync.order_links;
drop trigger order_months_delete on sync.order_links;
drop function sync.note_month_of_orders();

-- The months of the changes that are there are in sync.month_changes already.
alter table sync.order_changes
  alter column order_code drop not null,
  add column ordered_at timestamptz,
  add column change integer not null default 0;
comment on table sync.order_changes is 'Changes of orders and their lines that are not in the counts behind bi and in sync.month_changes yet. An order may be here several times.';
comment on column sync.order_changes.order_code is 'The shop''s code of an order whose delivered lines or reviews changed: it is to be counted again. Null: lines of the month changed, but no count.';
comment on column sync.order_changes.ordered_at is 'When the order was made, or one order of the same month; null: orders without a date.';
comment on column sync.order_changes.change is 'A random number above 0, the same for all rows of a statement: what the change adds to the version of its month of bi.sub_orders. 0: nothing.';
comment on table sync.month_changes is 'Changes of bi.reviews and bi.sub_orders, by month. sync.fold_changes() adds a row for each month in which reviews or lines changed, and each change of a product''s code does; review-sync joins the rows of a month from time to time.';

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

create or replace function sync.log_order_changes() returns trigger
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

create or replace function sync.fold_changes() returns bigint
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

create or replace function sync.rebuild_aggregates() returns void
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
