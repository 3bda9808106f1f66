-- Which months of bi.reviews and bi.sub_orders changed: `export parquet` writes only those again. synced_at cannot say it: a
-- review that moved or was deleted by hand leaves no row in the month that it left.
create table sync.month_changes (
  id       bigint generated always as identity primary key,
  relation text not null check (relation in ('reviews', 'sub_orders', '*')),
  month    date,
  change   bigint not null default floor(random() * 4294967296)
);
comment on table sync.month_changes is 'Changes of bi.reviews and bi.sub_orders, by month. Each statement that changes what the views show adds a row for each month; review-sync joins the rows of a month from time to time. The sum over a month is its version: it differs once the month has changed, also where a backup was restored.';
comment on column sync.month_changes.id is 'Identifies the row.';
comment on column sync.month_changes.relation is 'reviews or sub_orders: the view of bi. *: all months of both.';
comment on column sync.month_changes.month is 'First day of the month in which the reviews were written, or the orders made, in the time zone of sync.settings. Null: orders without a date, or all months.';
comment on column sync.month_changes.change is 'A random number.';

create function sync.note_month_of_reviews() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  zone constant text := (select time_zone from sync.settings);
begin
  if tg_op = 'INSERT' then
    insert into sync.month_changes (relation, month)
    select distinct 'reviews', date_trunc('month', created_at at time zone zone)::date from added;
  elsif tg_op = 'DELETE' then
    insert into sync.month_changes (relation, month)
    select distinct 'reviews', date_trunc('month', created_at at time zone zone)::date from removed;
  else
    insert into sync.month_changes (relation, month)
    select distinct 'reviews', date_trunc('month', created_at at time zone zone)::date
    from (select created_at from added union all select created_at from removed) as changed;
  end if;
  return null;
end
$$;
comment on function sync.note_month_of_reviews() is 'Enters the months of changed reviews into sync.month_changes.';

create trigger review_months_insert after insert on warehouse.reviews
  referencing new table as added for each statement execute function sync.note_month_of_reviews();
create trigger review_months_update after update on warehouse.reviews
  referencing new table as added old table as removed for each statement execute function sync.note_month_of_reviews();
create trigger review_months_delete after delete on warehouse.reviews
  referencing old table as removed for each statement execute function sync.note_month_of_reviews();

create function sync.note_month_of_lines() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  changed text[];
begin
  if tg_op = 'INSERT' then
    changed := array(select distinct order_code from added where sub_order_id is not null);
  elsif tg_op = 'DELETE' then
    changed := array(select distinct order_code from removed where sub_order_id is not null);
  else
    -- Only what bi.sub_orders shows: a push writes each line again.
    changed := array(
      with after as (
        select order_code, product_id, status, delivered_at, content ->> 'price' from added where sub_order_id is not null
      ), before as (
        select order_code, product_id, status, delivered_at, content ->> 'price' from removed where sub_order_id is not null
      )
      select order_code from (table after except all table before) as came
      union
      select order_code from (table before except all table after) as gone
    );
  end if;
  insert into sync.month_changes (relation, month)
  select distinct 'sub_orders', sync.month_of_order(o.ordered_at)
  from unnest(changed) as code
  left join sync.order_links o on o.order_code = code;
  return null;
end
$$;
comment on function sync.note_month_of_lines() is 'Enters the months of changed sub-orders into sync.month_changes.';

create function sync.month_of_order(ordered_at timestamptz) returns date
language sql stable set search_path = pg_catalog, pg_temp as $$
  select date_trunc('month', ordered_at at time zone (select time_zone from sync.settings))::date
$$;
comment on function sync.month_of_order(timestamptz) is 'First day of the month of an order, in the time zone of sync.settings.';

create trigger line_months_insert after insert on sync.sub_order_links
  referencing new table as added for each statement execute function sync.note_month_of_lines();
create trigger line_months_update after update on sync.sub_order_links
  referencing new table as added old table as removed for each statement execute function sync.note_month_of_lines();
create trigger line_months_delete after delete on sync.sub_order_links
  referencing old table as removed for each statement execute function sync.note_month_of_lines();

create function sync.note_month_of_orders() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into sync.month_changes (relation, month)
    select distinct 'sub_orders', sync.month_of_order(ordered_at) from added where ordered_at is not null;
  elsif tg_op = 'DELETE' then
    insert into sync.month_changes (relation, month)
    select distinct 'sub_orders', sync.month_of_order(ordered_at) from removed;
  else
    insert into sync.month_changes (relation, month)
    select distinct 'sub_orders', sync.month_of_order(changed.ordered_at)
    from removed
    join added on added.order_code = removed.order_code and added.ordered_at is distinct from removed.ordered_at
    cross join lateral (values (removed.ordered_at), (added.ordered_at)) as changed (ordered_at);
  end if;
  return null;
end
$$;
comment on function sync.note_month_of_orders() is 'Enters the months that orders come to or leave into sync.month_changes.';

create trigger order_months_insert after insert on sync.order_links
  referencing new table as added for each statement execute function sync.note_month_of_orders();
create trigger order_months_update after update on sync.order_links
  referencing new table as added old table as removed for each statement execute function sync.note_month_of_orders();
create trigger order_months_delete after delete on sync.order_links
  referencing old table as removed for each statement execute function sync.note_month_of_orders();

-- The code of a product may become known after its sub-orders.
create index sub_order_links_by_product on sync.sub_order_links (product_id);
comment on index sync.sub_order_links_by_product is 'The sub-orders of a product.';

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

-- The months that are there already. Each step finds the next month by an index, so no table is read whole.
with recursive zone as (select time_zone as name from sync.settings),
step as (
  select date_trunc('month', min(created_at) at time zone (select name from zone)) as month from warehouse.reviews
  union all
  select (
    select date_trunc('month', min(created_at) at time zone (select name from zone))
    from warehouse.reviews
    where created_at >= (step.month + interval '1 month') at time zone (select name from zone)
  )
  from step
  where step.month is not null
)
insert into sync.month_changes (relation, month) select 'reviews', month::date from step where month is not null;

with recursive zone as (select time_zone as name from sync.settings),
step as (
  select date_trunc('month', min(ordered_at) at time zone (select name from zone)) as month from sync.order_links
  union all
  select (
    select date_trunc('month', min(ordered_at) at time zone (select name from zone))
    from sync.order_links
    where ordered_at >= (step.month + interval '1 month') at time zone (select name from zone)
  )
  from step
  where step.month is not null
)
insert into sync.month_changes (relation, month) select 'sub_orders', month::date from step where month is not null;
insert into sync.month_changes (relation, month)
select 'sub_orders', null where exists (select from sync.order_links where ordered_at is null);

insert into sync.locks (name) values ('export');
comment on column sync.locks.name is 'alerts: compare the issues with sync.alerts and send messages. bi: grant the role bi_reader its rights. export: write Parquet files.';
