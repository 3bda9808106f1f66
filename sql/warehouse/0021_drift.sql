-- What has changed in the fields that the service shows (0015_drift.sql). A webhook has objects of several kinds, so no
-- field is missing from all of them.
create or replace view bi.field_drift as
with total as (
  select record, records, first_seen_at, last_seen_at from sync.field_shapes where field = ''
),
shape as (
  select s.record, s.field, s.kind, s.records, s.seen_after, s.seen_until, s.first_seen_at, s.last_seen_at, s.accepted_at,
    kinds.change, min(s.seen_after) over (partition by record, field, kinds.change) as first_seen_after,
    s.seen_after >= 20 and s.first_seen_at > t.first_seen_at + interval '1 day' as is_late
  from sync.field_shapes s
  join total t using (record)
  cross join lateral (
    select case when kind = 'null' then 'null' when kind like 'value:%' then 'value' else 'type' end as change
  ) as kinds
  where s.field <> ''
),
named as (
  select record, field, min(first_seen_at) as first_seen_at, max(last_seen_at) as last_seen_at, sum(records) as records,
    min(seen_after) as seen_after, max(seen_until) as seen_until, bool_and(is_late) as is_late, max(accepted_at) as accepted_at,
    (array_agg(kind order by kind = 'null', records desc))[1] as kind
  from shape
  where change <> 'value'
  group by record, field
)
select record, field, 'new' as change, first_seen_at, last_seen_at, records::bigint as records, kind as example_type
from named where is_late
union all
-- A field that comes and goes by record is no drift: a field is gone only if it was on nearly all records, or is
-- missing from many. A field that comes and goes by the minute is no drift either, as while the service updates its
-- servers one after the other.
select record, field, 'gone', named.last_seen_at, named.last_seen_at, total.records - seen_until, kind
from named join total using (record)
where record <> 'event' and total.last_seen_at > named.last_seen_at + interval '1 hour' and coalesce(accepted_at < named.last_seen_at, true) and field <> '…'
  and (named.records >= 0.99 * (seen_until - seen_after) and total.records - seen_until >= 3
    or named.records >= 0.5 * (seen_until - seen_after) and total.records - seen_until >= 100)
union all
-- Null is no type. If a field was null before, its first type, or its first words, are no change.
select record, field, change, shape.first_seen_at, shape.last_seen_at, shape.records, case change when 'value' then 'string' else shape.kind end
from shape join named using (record, field)
where shape.is_late and not named.is_late and (change = 'null' or shape.seen_after > first_seen_after);
comment on view bi.field_drift is 'What has changed in the fields that the service shows. No values.';
comment on column bi.field_drift.record is 'review (in a list), review_detail (read by its id), order, sub_order (in an order''s detail) or event (any object of a webhook).';
comment on column bi.field_drift.field is 'The name of the field; … stands for unusual names, such as keys of a map, and for those beyond the first five hundred.';
comment on column bi.field_drift.change is 'new: it was not there; gone: no record shows it any more; null: it is null and never was; type: another JSON type; value: a word not seen before, of source, review_type or status.';
comment on column bi.field_drift.first_seen_at is 'When the change was first seen; of a field that is gone, when the field was last seen.';
comment on column bi.field_drift.last_seen_at is 'When it was last seen.';
comment on column bi.field_drift.records is 'Records that show it; of a field that is gone, records without it since.';
comment on column bi.field_drift.example_type is 'The JSON type of the value; of a field that is gone, the one it had.';

comment on column sync.field_shapes.record is 'review, review_detail, order, sub_order or event.';

-- A field that comes within a day of the first record is normal for the service, whichever process sees it.
alter table sync.field_shapes drop column if exists first_process;

-- The brands, reviews and products of an event are now counted, too. Without this, their fields would count as new.
delete from sync.field_shapes where record = 'event';

-- The comments of a deleted review are not asked for.
delete from sync.comments_due using warehouse.reviews where id = review_id and deleted_at is not null;
