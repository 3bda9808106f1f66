-- How many reviews each day has, counted as reviews land: `status`, metrics, alerts and the calendar read these counts
-- instead of every review.
create table sync.review_day_changes (
  day     date not null,
  reviews integer not null
);
comment on table sync.review_day_changes is 'Reviews that are not marked deleted, by day of creation: the sum over a day is its number. Each statement that changes reviews adds rows, so that no two writers wait for each other; review-sync joins the rows from time to time.';
comment on column sync.review_day_changes.day is 'Day of creation in the time zone of sync.settings.';
comment on column sync.review_day_changes.reviews is 'Reviews that came to this day; negative for those that left it.';

create function sync.count_review_days() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  zone constant text := (select time_zone from sync.settings);
begin
  if tg_op = 'INSERT' then
    insert into sync.review_day_changes (day, reviews)
    select (created_at at time zone zone)::date, count(*) from added where deleted_at is null group by 1;
  elsif tg_op = 'DELETE' then
    insert into sync.review_day_changes (day, reviews)
    select (created_at at time zone zone)::date, -count(*) from removed where deleted_at is null group by 1;
  else
    insert into sync.review_day_changes (day, reviews)
    select day, sum(one) from (
      select (created_at at time zone zone)::date, 1 from added where deleted_at is null
      union all
      select (created_at at time zone zone)::date, -1 from removed where deleted_at is null
    ) as changed (day, one)
    group by day
    having sum(one) <> 0;
  end if;
  return null;
end
$$;
comment on function sync.count_review_days() is 'Enters what a statement changed in warehouse.reviews into sync.review_day_changes.';

create trigger review_days_insert after insert on warehouse.reviews
  referencing new table as added for each statement execute function sync.count_review_days();
create trigger review_days_update after update on warehouse.reviews
  referencing new table as added old table as removed for each statement execute function sync.count_review_days();
create trigger review_days_delete after delete on warehouse.reviews
  referencing old table as removed for each statement execute function sync.count_review_days();

create function sync.recount_review_days() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- What lands meanwhile waits, and is counted in the new zone.
  lock table warehouse.reviews in share mode;
  delete from sync.review_day_changes;
  insert into sync.review_day_changes (day, reviews)
  select (created_at at time zone (select time_zone from sync.settings))::date, count(*)
  from warehouse.reviews where deleted_at is null group by 1;
  return null;
end
$$;
comment on function sync.recount_review_days() is 'Counts all reviews again: after the time zone changed, or after warehouse.reviews was emptied by truncate.';

create trigger review_days_truncate after truncate on warehouse.reviews
  for each statement execute function sync.recount_review_days();
create trigger review_days_zone after update of time_zone on sync.settings
  for each statement execute function sync.recount_review_days();

insert into sync.review_day_changes (day, reviews)
select (created_at at time zone (select time_zone from sync.settings))::date, count(*)
from warehouse.reviews where deleted_at is null group by 1;

comment on column warehouse.reviews.extra is 'Every field of the responses that has no column: nothing is dropped. A field that lists do not show stays as it was last shown. review_sync_original keeps, as JSON text, what a field held before characters that Postgres cannot store were replaced by U+FFFD.';
comment on column warehouse.reviews.deleted_at is 'When the review was found to be gone from the service; null while it is there, and again once the service shows it again.';
comment on column sync.late_reviews.dated_at is 'Its updated_at then: it should have been seen at that time. A change without a new updated_at, such as a like, is not late.';
