-- Which fields the service shows, of which JSON types: what is new, gone or different is seen in it. No values, but for the
-- few words of three fields.
create table sync.field_shapes (
  record        text collate "C" not null,
  field         text collate "C" not null,
  kind          text collate "C" not null,
  records       bigint not null,
  seen_after    bigint not null,
  seen_until    bigint not null,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null,
  first_process text collate "C" not null,
  accepted_at   timestamptz,
  primary key (record, field, kind)
);
comment on table sync.field_shapes is 'Fields of reviews, orders, sub-orders and webhook events as they came, by JSON type. The field '''' counts the records themselves.';
comment on column sync.field_shapes.record is 'review, order, sub_order or event.';
comment on column sync.field_shapes.field is 'The name of the field; … for unusual names, such as keys of a map, and those beyond the first five hundred of a process.';
comment on column sync.field_shapes.kind is 'The JSON type of its value, or value: and the value, for source, review_type and status.';
comment on column sync.field_shapes.records is 'Records that showed it so.';
comment on column sync.field_shapes.seen_after is 'Records of this kind that had come when it was first seen.';
comment on column sync.field_shapes.seen_until is 'Records of this kind that had come when it was last seen.';
comment on column sync.field_shapes.first_seen_at is 'When it was first seen.';
comment on column sync.field_shapes.last_seen_at is 'When it was last seen.';
comment on column sync.field_shapes.first_process is 'The process that saw it first: what the first process sees within a day is how the service is.';
comment on column sync.field_shapes.accepted_at is 'When a person said that the field is gone for good (migrate --accept-gone). Null: not said.';

create view bi.field_drift as
with total as (
  select record, records, first_seen_at, first_process from sync.field_shapes where field = ''
),
shape as (
  select s.*, s.seen_after >= 20
    and (s.first_process <> t.first_process or s.first_seen_at > t.first_seen_at + interval '1 day') as is_late
  from sync.field_shapes s join total t using (record)
  where s.field <> ''
),
named as (
  select record, field, min(first_seen_at) as first_seen_at, max(last_seen_at) as last_seen_at, sum(records) as records,
    min(seen_after) as seen_after, max(seen_until) as seen_until, bool_and(is_late) as is_late, max(accepted_at) as accepted_at,
    (array_agg(kind order by kind = 'null', records desc))[1] as kind
  from shape
  where kind not like 'value:%'
  group by record, field
)
select record, field, 'new' as change, first_seen_at, last_seen_at, records::bigint as records, kind as example_type
from named where is_late
union all
-- A field that comes and goes by record is no drift: it was on nearly all records, or is missing from many.
select record, field, 'gone', named.last_seen_at, named.last_seen_at, total.records - seen_until, kind
from named join total using (record)
where total.records > seen_until and coalesce(accepted_at < named.last_seen_at, true) and field <> '…'
  and (named.records >= 0.99 * (seen_until - seen_after) and total.records - seen_until >= 3
    or named.records >= 0.5 * (seen_until - seen_after) and total.records - seen_until >= 100)
union all
select record, field, case when shape.kind = 'null' then 'null' when shape.kind like 'value:%' then 'value' else 'type' end,
  shape.first_seen_at, shape.last_seen_at, shape.records, case when shape.kind like 'value:%' then 'string' else shape.kind end
from shape join named using (record, field)
where shape.is_late and not named.is_late;
comment on view bi.field_drift is 'What has changed in the fields that the service shows. No values.';
comment on column bi.field_drift.record is 'review, order, sub_order (in an order''s detail) or event (of a webhook).';
comment on column bi.field_drift.field is 'The name of the field; … stands for unusual names, such as keys of a map, and for those beyond the first five hundred.';
comment on column bi.field_drift.change is 'new: it was not there; gone: no record shows it any more; null: it is null and never was; type: another JSON type; value: a word not seen before, of source, review_type or status.';
comment on column bi.field_drift.first_seen_at is 'When the change was first seen; of a field that is gone, when the field was last seen.';
comment on column bi.field_drift.last_seen_at is 'When it was last seen.';
comment on column bi.field_drift.records is 'Records that show it; of a field that is gone, records without it since.';
comment on column bi.field_drift.example_type is 'The JSON type of the value; of a field that is gone, the one it had.';
