-- Adds what a process has seen of fields. $1: [{record, field, kind, n}]; the records themselves have the field ''.
-- Each kind of record keeps at most 2,000 rows. Returns the fields of reviews that a person accepted as gone.
with given as (
  select record, field, kind, n from jsonb_to_recordset($1::jsonb) as g (record text, field text, kind text, n bigint)
),
total as (
  insert into sync.field_shapes as t
    (record, field, kind, records, seen_after, seen_until, first_seen_at, last_seen_at)
  select record, '', kind, n, 0, n, clock_timestamp(), clock_timestamp() from given where field = '' order by record
  on conflict (record, field, kind) do update set records = t.records + excluded.records,
    seen_until = t.records + excluded.records, last_seen_at = excluded.last_seen_at
  returning record, records
),
added as (
  insert into sync.field_shapes as s
    (record, field, kind, records, seen_after, seen_until, first_seen_at, last_seen_at)
  select g.record, g.field, g.kind, g.n, t.records - r.n, t.records, clock_timestamp(), clock_timestamp()
  from given g join total t using (record) join given r on r.record = g.record and r.field = ''
  where g.field <> '' and (
    (select count(*) from sync.field_shapes h where h.record = g.record) < 2000
    or exists (select from sync.field_shapes h where h.record = g.record and h.field = g.field and h.kind = g.kind)
  )
  order by g.record, g.field, g.kind
  on conflict (record, field, kind) do update set records = s.records + excluded.records,
    seen_until = excluded.seen_until, last_seen_at = excluded.last_seen_at
)
select field from sync.field_shapes where record = 'review' group by field having max(accepted_at) >= max(last_seen_at)
