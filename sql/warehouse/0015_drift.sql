-- The fields that the service shows, and their JSON types: they show what is new, gone or different. No values, except
-- the few words of three fields.
create table sync.field_shapes (
  record        text collate "C" not null,
  field         text collate "C" not null,
  kind          text collate "C" not null,
  records       bigint not null,
  seen_after    bigint not null,
  seen_until    bigint not null,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null,
  accepted_at   timestamptz,
  primary key (record, field, kind)
);
comment on table sync.field_shapes is 'Fields of reviews, orders, sub-orders and webhook events as they came, by JSON type. The field '''' counts the records themselves.';
comment on column sync.field_shapes.field is 'The name of the field; … for unusual names, such as keys of a map, and those beyond the first five hundred of a process.';
comment on column sync.field_shapes.kind is 'The JSON type of its value, or value: and the value, for source, review_type and status.';
comment on column sync.field_shapes.records is 'Records that showed it so.';
comment on column sync.field_shapes.seen_after is 'Records of this kind that had come when it was first seen.';
comment on column sync.field_shapes.seen_until is 'Records of this kind that had come when it was last seen.';
comment on column sync.field_shapes.first_seen_at is 'When it was first seen.';
comment on column sync.field_shapes.last_seen_at is 'When it was last seen.';
comment on column sync.field_shapes.accepted_at is 'When a person said that the field is gone for good (migrate --accept-gone). Null: not said.';
